"""Edits of text files in tests: each names text that must occur exactly once, so that no edit silently does nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path


def edited(text: str, edits: Iterable[Mapping[str, str]]) -> str:
    for edit in edits:
        assert text.count(edit["replace"]) == 1, f"{edit['replace']!r} occurs {text.count(edit['replace'])} times"
        text = text.replace(edit["replace"], edit["with"])
    return text


def edit_file(file: Path, *edits: Mapping[str, str]) -> None:
    file.write_text(edited(file.read_text(encoding="utf-8"), edits), encoding="utf-8")


def line_of(file: Path, text: str) -> int:
    """The line (from 1) of a text that stands in one line of the file."""
    lines = [number for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1) if text in line]
    assert len(lines) == 1, f"{text!r} stands in lines {lines} of {file}"
    return lines[0]
