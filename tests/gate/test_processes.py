"""Nothing that the gate starts or writes outlives it, however it ends."""

from __future__ import annotations

import base64
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from tests.conftest import ROOT

GATE = Path(sys.executable).with_name("gate")
pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc to look at processes")


@pytest.fixture
def checking(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A check that has started its OPA and does not end by itself: it waits for somebody to read its report."""
    os.mkfifo(tmp_path / "report")
    command = [str(GATE), "check", "--output", str(tmp_path / "report"), str(ROOT / "training")]
    (tmp_path / "temporary").mkdir()
    heard = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it, and so would its child
    with subprocess.Popen(command, env={**os.environ, "TMPDIR": str(tmp_path / "temporary")}) as process:
        signal.signal(signal.SIGINT, heard)
        yield process
        process.kill()


def reached(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 60
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return condition()


def below(folder: Path) -> list[str]:
    """The command lines of the processes that have a folder in them."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = entry.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if str(folder) in command:
            found.append(command)
    return found


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_nothing_outlives_a_gate_that_is_killed(number: signal.Signals, checking: subprocess.Popen[bytes], tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    assert reached(lambda: any("--server" in command for command in below(temporary))), "OPA was started"
    assert list(temporary.iterdir())
    checking.send_signal(number)
    checking.wait(timeout=60)
    assert reached(lambda: not below(temporary)), below(temporary)
    assert reached(lambda: not list(temporary.iterdir())), "no temporary folder is left"


def test_the_token_is_in_no_command_line_and_nobody_else_can_read_it(checking: subprocess.Popen[bytes], tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    assert reached(lambda: any("--server" in command for command in below(temporary)))
    (folder,) = temporary.iterdir()
    assert folder.stat().st_mode & 0o077 == 0
    (token,) = [line for file in folder.rglob("data.json") for line in [file.read_text(encoding="utf-8")]]
    secret = token.split('"')[5]
    assert len(secret) > 40
    assert not any(secret in command for command in below(temporary))


def test_no_key_of_a_kubeconfig_outlives_a_gate_that_is_killed(tmp_path: Path) -> None:
    """The client of Kubernetes writes what stands in the file as text into files of its own."""
    data = base64.b64encode(b"secret").decode()
    config = {
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1", "certificate-authority-data": data}}],
        "users": [{"name": "u", "user": {"client-certificate-data": data, "client-key-data": data}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    (tmp_path / "config").write_text(yaml.safe_dump(config), encoding="utf-8")
    (tmp_path / "temporary").mkdir()
    script = "import os, pathlib, sys; from gate.why.cluster import connect; connect(pathlib.Path(sys.argv[1])); os.kill(os.getpid(), 9)"
    command = [sys.executable, "-c", script, str(tmp_path / "config")]
    done = subprocess.run(command, env={**os.environ, "TMPDIR": str(tmp_path / "temporary")}, capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert reached(lambda: not list((tmp_path / "temporary").iterdir())), list((tmp_path / "temporary").iterdir())
