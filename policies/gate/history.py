"""The repository as it was at a commit, for comparison: files only, and nothing of the repository's is run.

Objects are read as they are stored: no filters, no attributes, no hooks, no submodules, nothing fetched.
"""

from __future__ import annotations

import contextlib
import dataclasses
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from gate import process, source
from gate.model import GateError

# Whoever owns the repository, its configuration starts no program: what could is switched off, and nothing can be fetched.
_SAFE = ("-c", "safe.directory=*", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
_NOTHING = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_OPTIONAL_LOCKS": "0",
}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """The repository at a revision: `folder` holds its files, `ref` is what people call it."""

    ref: str
    folder: Path


@contextlib.contextmanager
def at(root: Path, ref: str) -> Iterator[Before]:
    """The files that `root` has at a Git revision, in a folder that lasts until the end of the block.

    Raises GateError where root is in no Git repository or the revision is not known in it.
    """
    commit = _commit(root, ref)
    with tempfile.TemporaryDirectory(dir=process.scratch(), prefix="at-") as name:
        folder = Path(name).resolve() / root.name
        folder.mkdir()
        _write(folder, _blobs(root, commit))
        yield Before(ref=ref, folder=folder)


def _commit(root: Path, ref: str) -> str:
    try:
        _git(root, "rev-parse", "--git-dir")
    except GateError as error:
        if "not a git repository" in error.message:
            raise GateError("is in no Git repository: --against has nothing to compare it with", file=root) from error
        raise
    try:
        return _git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}").decode().strip()
    except GateError as error:
        raise GateError(
            f"--against {ref}: there is no such commit, branch or tag here; fetch it first (a shallow clone may lack it)"
        ) from error


def _blobs(root: Path, commit: str) -> dict[PurePosixPath, tuple[str, bytes]]:
    """Mode and content of each file below root: from two calls of Git, whatever their number."""
    listed: list[tuple[PurePosixPath, str, str]] = []
    for entry in _git(root, "ls-tree", "-r", "-z", "--long", commit).split(b"\0"):
        if entry:
            described, _, name = entry.partition(b"\t")
            mode, kind, digest, size = described.decode().split()
            if size == "BAD":
                raise GateError(
                    f"git lacks the content of {name.decode(errors='replace')} at this commit: fetch it, the clone is a partial one"
                )
            # larger files hold no manifest, and one that is missing counts as changed
            if kind == "blob" and int(size) <= source.MAX_BYTES:
                listed.append((PurePosixPath(name.decode("utf-8", "surrogateescape")), mode, digest))
    stream = _git(root, "cat-file", "--batch", given="".join(f"{digest}\n" for _, _, digest in listed).encode())
    found: dict[PurePosixPath, tuple[str, bytes]] = {}
    at = 0
    for path, mode, digest in listed:
        end = stream.index(b"\n", at)
        if not stream[at:end].startswith(f"{digest} blob ".encode()):
            raise GateError(f"git cannot read {path} at this commit: the clone is damaged")
        begin, at = end + 1, end + 2 + int(stream[at:end].split()[2])
        found[path] = (mode, stream[begin : at - 1])
    return found


def _write(folder: Path, blobs: dict[PurePosixPath, tuple[str, bytes]]) -> None:
    """Files first, links last: nothing is written through a link."""
    for path, (mode, content) in sorted(blobs.items(), key=lambda entry: (entry[1][0] == "120000", entry[0])):
        if path.is_absolute() or ".." in path.parts:
            raise GateError(f"--against: the commit holds the path {path}, which leads out of the repository")
        try:
            if not (folder / path).parent.resolve().is_relative_to(folder):
                raise GateError(f"--against: the commit holds {path} below a link")
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            if mode == "120000":
                (folder / path).symlink_to(content.decode("utf-8", "surrogateescape"))
            else:
                (folder / path).write_bytes(content)
        except (OSError, ValueError) as error:
            raise GateError(f"--against: {path} of the commit cannot be written: {error}") from error


def _git(root: Path, *words: str, given: bytes = b"") -> bytes:
    git = shutil.which("git")
    if not git:
        raise GateError("git is missing: --against compares with a commit")
    command = [git, "--no-pager", "--no-replace-objects", *_SAFE, *words]
    return process.output(command, cwd=root, env=process.environment(**_NOTHING), timeout=120, given=given)
