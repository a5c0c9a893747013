"""The rules about training scripts, over the syntax tree, for what no YAML shows.

One module a rule: `RULE` says everything about it, `faults(script)` yields a line (from 1, in the script) and a
message for each fault, and a severity where it is not the rule's own. A module of this package that has both is a rule;
names that begin with "_" are helpers.
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import functools
import gc
import importlib
import pkgutil
import re
import tomllib
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType

from packaging.requirements import InvalidRequirement, Requirement
from packaging.version import InvalidVersion, Version

from gate import source
from gate.model import Fault, GateError, Place, Rule, Severity
from gate.scripts import _requirements

MAX_CHARACTERS = 1024 * 1024
_IMPORT = re.compile(r"^[ \t]*(?:import|from)[ \t]+(\w+)", re.MULTILINE)
_NOTHING: Mapping[str, str] = {}
Finding = tuple[int, str, Severity | None]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Script:
    """A training script: its tree and what is known of the packages that it will meet.

    `packages` maps the names of the inline metadata's dependencies (PEP 723, normalised) to their pinned version, None
    where it is not pinned. Where there is no metadata, they are those of a requirements.txt or pyproject.toml beside the
    script or of its own `pip install` (`inline` is false), or none. `lowest` has the lower bounds of what is not pinned.
    `modules` are those beside the script that it may import. `image` is the image that runs it, "" where that is not known.
    `alone` is the number of workers that start it and are told nothing of one another, 0 where that is not known. `file` and
    `lines` tell where each line of the text stands (no lines: the text is the file).
    """

    file: Path
    tree: ast.Module
    text: str
    packages: Mapping[str, Version | None]
    lowest: Mapping[str, Version] = dataclasses.field(default_factory=dict)
    inline: bool = True
    modules: Mapping[str, ast.Module] = dataclasses.field(default_factory=dict)
    image: str = ""
    alone: int = 0
    lines: Sequence[int] = ()

    def line(self, number: int) -> int:
        """The line of `file` that a line of the text stands in."""
        return _line(self.lines, number)


def load(file: Path, *, image: str = "") -> Script:
    """Reads a script. Raises GateError at the line where it is not Python."""

    def beside(name: str) -> str | None:
        with contextlib.suppress(GateError, OSError):  # not what is judged
            return source.read_text(file.with_name(name))
        return None

    return parse(source.read_text(file), file, image=image, beside=beside)


def parse(
    text: str,
    file: Path,
    *,
    image: str = "",
    alone: int = 0,
    lines: Sequence[int] = (),
    beside: Callable[[str], str | None] = _NOTHING.get,
    commands: Sequence[str] = (),
) -> Script:
    """A script from its text, each line of which stands in one of the `lines` of `file` (none given: in the same).

    `beside` gives the text of another file in its folder, `commands` are those of the container that runs it.
    """
    tree = _tree(text, file, lines)
    inline = _inline(text, file)
    if inline is None:
        found = {name: content for name in _requirements.FILES if (content := beside(name))}
        entries = [*_requirements.listed(text, found), *_requirements.installed(tree, commands)]
    packages, lowest = _packages(entries if inline is None else inline, file)
    return Script(
        file=file,
        tree=tree,
        text=text,
        packages=packages,
        lowest=lowest,
        inline=inline is not None,
        modules=_modules(text, beside),
        image=image,
        alone=alone,
        lines=lines,
    )


def _tree(text: str, file: Path, lines: Sequence[int] = ()) -> ast.Module:
    if len(text) > MAX_CHARACTERS:
        raise GateError(f"is longer than {MAX_CHARACTERS} characters: no ConfigMap holds such a script", file=file)
    try:
        with warnings.catch_warnings(), _no_collection():
            warnings.simplefilter("ignore")  # of the script's own, like an invalid escape
            return ast.parse(text.encode())  # as Python reads the file: a mark of the byte order is passed over, a coding is heeded
    except SyntaxError as error:
        raise GateError(f"is not valid Python: {error.msg}", file=file, line=_line(lines, error.lineno or 1)) from error
    except (RecursionError, MemoryError) as error:
        raise GateError("is nested too deeply to be read as Python", file=file) from error
    except ValueError as error:
        raise GateError(f"is not valid Python: {error}", file=file) from error


def _modules(text: str, beside: Callable[[str], str | None]) -> dict[str, ast.Module]:
    """The modules that a script may import from its own folder, and those that they import."""
    found: dict[str, ast.Module] = {}
    waiting, seen = _IMPORT.findall(text), set[str]()
    while waiting:
        name = waiting.pop()
        content = None if name in seen else beside(f"{name}.py")
        seen.add(name)
        if content:
            with contextlib.suppress(GateError):  # it is judged where it is a target itself
                found[name] = _tree(content, Path(f"{name}.py"))
                waiting += _IMPORT.findall(content)
    return found


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    """What a collection of garbage runs in the middle of a parse makes CPython 3.11 lose count of its depth: a SystemError."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def _line(lines: Sequence[int], number: int) -> int:
    return lines[min(number, len(lines)) - 1] if lines else number


def _inline(text: str, file: Path) -> list[str] | None:
    """The dependencies of the inline metadata, None where there is none."""
    body = _metadata(text)
    try:
        dependencies = tomllib.loads("\n".join(body)).get("dependencies", [])
        return list(dependencies) if body else None
    except (tomllib.TOMLDecodeError, TypeError, RecursionError) as error:
        raise GateError(f"has inline metadata that cannot be read: {error}", file=file) from error


def _packages(entries: Sequence[str], file: Path) -> tuple[dict[str, Version | None], dict[str, Version]]:
    packages: dict[str, Version | None] = {}
    lowest: dict[str, Version] = {}
    try:
        for entry in entries:
            requirement = Requirement(entry)
            pins = [each.version for each in requirement.specifier if each.operator in ("==", "===", "~=")]
            name = requirement.name.lower().replace("_", "-")
            packages[name] = Version(pins[0].removesuffix(".*")) if pins else None
            bounds = [Version(each.version) for each in requirement.specifier if each.operator in (">=", ">")]
            if bounds and not pins:
                lowest[name] = max(bounds)
    except (InvalidRequirement, InvalidVersion, TypeError, AttributeError) as error:
        raise GateError(f"has inline metadata that cannot be read: {error}", file=file) from error
    return packages, lowest


def _metadata(text: str) -> list[str]:
    """The lines of the first block `# /// script` that has an end. No regular expression: that would take for ever on many beginnings."""
    body: list[str] | None = None
    for line in text.split("\n"):
        if body and line.rstrip() == "# ///":
            return body
        if body is not None and (line == "#" or line.startswith("# ")):
            body.append(line.removeprefix("#").removeprefix(" "))
        else:
            body = [] if line.rstrip() == "# /// script" else None
    return []


@functools.cache
def modules() -> tuple[ModuleType, ...]:
    """The rules' modules, found by their place."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_"))
    return tuple(importlib.import_module(f"{__name__}.{name}") for name in names)


def rules() -> list[Rule]:
    return [module.RULE for module in modules()]


def judge(script: Script) -> list[Fault]:
    """The faults of a script at their lines."""
    faults = []
    for module in modules():
        for line, message, *severity in module.faults(script):
            place = Place(file=script.file, line=script.line(line))
            own = severity[0] if severity else None
            faults.append(Fault(rule=module.RULE.id, message=message, resource=None, place=place, severity=own))
    return faults
