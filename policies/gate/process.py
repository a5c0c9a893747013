"""The one place where the gate starts other programs: clean environment, time limit, errors that can be read."""

from __future__ import annotations

import functools
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from gate.model import GateError

_LAST_WORDS = 600
_SHELL = "/bin/sh"
# A pipe of ours ends with us, however we end: kill -9 as well, and on every system that has a shell.
_BOUNDED = f"ulimit -v {4 * 1024 * 1024} 2>/dev/null; "  # KiB; where a system has no such limit there is none
_END_WITH_US = _BOUNDED + 'exec 3<&0; (read -r _ <&3; kill -9 $$) & exec "$0" "$@" 3<&- </dev/null'
_REMOVE_AFTER_US = 'read -r _; "$1" -rf -- "$0"'


def environment(**extra: str) -> dict[str, str]:
    """The environment of a child that reads a pull request: nothing of ours, no git to call, no way to the network."""
    nowhere = "http://127.0.0.1:9"
    return {
        "PATH": "/nonexistent",
        "HOME": "/nonexistent",
        "LC_ALL": "C.UTF-8",
        "HTTP_PROXY": nowhere,
        "HTTPS_PROXY": nowhere,
        "GIT_TERMINAL_PROMPT": "0",
        **extra,
    }


def serve(command: Sequence[str | Path], log: Path) -> subprocess.Popen[bytes]:
    """Starts a server that writes to `log` and is killed when its standard input is closed, or when this process is gone."""
    with log.open("wb") as sink:
        return subprocess.Popen(
            [_SHELL, "-c", _END_WITH_US, *(str(part) for part in command)],
            stdin=subprocess.PIPE,
            stdout=sink,
            stderr=sink,
            env=environment(),
        )


def free_port() -> int:
    """A port of loopback that nobody listens at now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def scratch() -> Path:
    """The folder for everything temporary. It goes with this process, however that ends."""
    return _scratch()[0]


@functools.cache
def _scratch() -> tuple[Path, subprocess.Popen[bytes]]:
    folder = Path(tempfile.mkdtemp(prefix="gate-")).resolve()
    remove = shutil.which("rm") or "/bin/rm"
    guard = subprocess.Popen(
        [_SHELL, "-c", _REMOVE_AFTER_US, str(folder), remove], stdin=subprocess.PIPE, env=environment(), start_new_session=True
    )
    return folder, guard  # whoever forgets the guard closes its pipe


def run(
    command: Sequence[str | Path],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float = 60,
    hostile: bool = False,
) -> str:
    """Standard output of a command. Raises GateError with its last words where it fails, hangs or is missing.

    What reads `hostile` files has a bound to its memory.
    """
    bound = [_SHELL, "-c", f'{_BOUNDED} exec "$0" "$@"'] if hostile else []
    return output([*bound, *command], cwd=cwd, env=env, timeout=timeout, name=Path(command[0]).name).decode(errors="replace")


def output(
    command: Sequence[str | Path],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float = 60,
    given: bytes = b"",
    name: str = "",
) -> bytes:
    """The same as bytes, with `given` on standard input; `name` is what errors call the command."""
    name = (name or Path(command[0]).name).partition("-")[0]  # cached binaries carry a hash
    try:
        done = subprocess.run(
            [str(part) for part in command],
            cwd=cwd,
            env=dict(env) if env is not None else dict(os.environ),
            input=given,
            capture_output=True,
            timeout=timeout,
            check=False,
        )
    except FileNotFoundError as error:
        raise GateError(f"{name} is missing ({command[0]}): run `make setup`") from error
    except OSError as error:
        raise GateError(f"{name} cannot be started: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        raise GateError(f"{name} was stopped after {timeout:.0f} s without an answer") from error
    if done.returncode:
        words = " ".join((done.stderr.strip() or done.stdout).decode(errors="replace").split())
        raise GateError(f"{name}: {words[:_LAST_WORDS] if words else f'ended with status {done.returncode}'}")
    return done.stdout
