"""The two TensorFlow environments of the tests, outside the checkout and apart from the gate's.

`python tests/training/environments.py` makes what is missing and prints where each one is. An environment's folder
bears the hash of its lock file, so a changed lock makes a new one and no checkout changes another's.
Set-up costs about 1.5 GiB of disk and a minute or two of download each.
"""

import argparse
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
VERSIONS = ("2.15", "2.21")
PYTHON = (3, 11)  # what both lock files are resolved for: TensorFlow 2.15 has no wheels for 3.12


class EnvironmentUnavailable(RuntimeError):
    """An environment could not be made; the message says why."""


def cache() -> Path:
    """The folder of everything that the training tests keep between checkouts."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tf-trainer-gitops"


def location(version: str) -> Path:
    """Where the environment of this TensorFlow version belongs, whether or not it is there."""
    digest = hashlib.sha256(lock_file(version).read_bytes()).hexdigest()[:12]
    return cache() / f"tf-{version}-{digest}"


def lock_file(version: str) -> Path:
    """The hash-pinned requirements of this TensorFlow version."""
    return HERE / f"tf-{version}.lock"


def is_ready(version: str) -> bool:
    """True once the environment was installed to its end."""
    return (location(version) / "complete").is_file()


def python(version: str) -> Path:
    """The interpreter of a finished environment."""
    return location(version) / "bin" / "python"


def interpreter() -> str:
    """A Python 3.11 to make the environments with; raises EnvironmentUnavailable if there is none."""
    if sys.version_info[:2] == PYTHON:
        return sys.executable
    name = "python{}.{}".format(*PYTHON)
    for candidate in [shutil.which(name), *map(str, Path.home().glob(f".pyenv/versions/3.11.*/bin/{name}"))]:
        if candidate:
            return candidate
    raise EnvironmentUnavailable(f"no {name} on the PATH: TensorFlow 2.15 needs it")


def install(version: str) -> Path:
    """Make the environment if it is not there; returns its interpreter. Safe against a second caller."""
    folder = location(version)
    cache().mkdir(parents=True, exist_ok=True)
    with (cache() / f"tf-{version}.setup").open("w") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        if not is_ready(version):
            shutil.rmtree(folder, ignore_errors=True)
            _run([interpreter(), "-m", "venv", str(folder)])
            # --no-deps: the lock is complete, and tf_keras would pull in the GPU build of TensorFlow.
            pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--no-input", "--no-deps"]
            _run([*pip, "--only-binary", ":all:", "--require-hashes", "-r", str(lock_file(version))])
            (folder / "complete").touch()
    return python(version)


def _run(command: list[str]) -> None:
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=1800)
    if done.returncode:
        raise EnvironmentUnavailable(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout[-2000:]}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("versions", nargs="*", help="default: both")
    for version in parser.parse_args().versions or VERSIONS:
        try:
            print(f"TensorFlow {version}: {install(version)}", flush=True)
        except EnvironmentUnavailable as error:
            print(f"TensorFlow {version}: {error}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
