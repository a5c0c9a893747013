"""What a script's packages are where it has no inline metadata: what lies beside it, what is installed before it runs."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping

from packaging.requirements import InvalidRequirement, Requirement

FILES = ("requirements.txt", "pyproject.toml")
_SAID = re.compile(r"#\s*requirements:\s*(\S.*)")
_INSTALL = re.compile(r"\bpip3?\s+install\s+([^;&|\n]+)")
_ELSEWHERE = ("-r", "-c", "-e", "--requirement", "--constraint", "--editable")


def listed(text: str, beside: Mapping[str, str]) -> list[str]:
    """The requirements of a script, empty where they are not known or not all of them."""
    for name, content in beside.items():
        found = _of_project(content) if name.endswith(".toml") else _of_lines(content)
        if found:
            return found
    return list(_said(text.split("\n")))


def installed(tree: ast.Module, commands: Iterable[str]) -> Iterator[str]:
    """The requirements that `pip install` is given in a script's own calls and in the commands of its container."""
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    for command in (*commands, *map(_words, calls)):
        for match in _INSTALL.finditer(command):
            yield from _known(match[1].replace('"', " ").replace("'", " ").split())


def _words(call: ast.Call) -> str:
    given = [*call.args, *(element for each in call.args if isinstance(each, ast.List | ast.Tuple) for element in each.elts)]
    return " ".join(each.value for each in given if isinstance(each, ast.Constant) and isinstance(each.value, str))


def _of_lines(content: str) -> list[str]:
    lines = [line.partition(" #")[0].rstrip("\\").strip() for line in content.splitlines()]
    return [] if any(line.startswith(_ELSEWHERE) for line in lines) else list(_known(lines))


def _of_project(content: str) -> list[str]:
    try:
        project = tomllib.loads(content).get("project", {})
        groups = [project.get("dependencies", []), *project.get("optional-dependencies", {}).values()]
        return list(_known(entry for group in groups for entry in group))
    except (tomllib.TOMLDecodeError, TypeError, AttributeError, RecursionError):
        return []  # whoever installs it is told


def _said(lines: list[str]) -> Iterator[str]:
    """`# requirements: tensorflow==2.18.0`, and the lines of the comment that go on with it."""
    for number, line in enumerate(lines):
        if said := _SAID.match(line):
            yield from _known(_words_of(said[1]))
            for following in lines[number + 1 :]:
                words = _words_of(following.lstrip("# "))
                if not following.startswith("#") or len(list(_known(words))) < len(words):
                    return
                yield from _known(words)
            return


def _words_of(text: str) -> list[str]:
    return text.partition("(")[0].replace(", ", " ").rstrip(",").split()


def _known(entries: Iterable[str]) -> Iterator[str]:
    for entry in entries:
        try:
            Requirement(entry)
        except InvalidRequirement:
            continue
        yield entry
