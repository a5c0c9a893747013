"""One self-contained page: no scripts, nothing fetched, values escaped by the template engine."""

from __future__ import annotations

import base64
import functools
import hashlib
import itertools
from pathlib import Path

import jinja2

from gate import rules
from gate.model import Outcome
from gate.reports import accepted, account, clean, mark, place, reached, shown, verdict

_HERE = Path(__file__).parent


def render(outcome: Outcome) -> str:
    files = [
        (file, list(findings))
        for file, findings in itertools.groupby(outcome.findings, key=lambda each: shown(outcome.root, each.place.file))
    ]
    style = _source("html.css.jinja")
    return (
        _environment()
        .get_template("html.jinja")
        .render(
            outcome=outcome,
            files=files,
            rules=rules.rules(),
            verdict=verdict(outcome),
            style=style,
            style_hash=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
            place=functools.partial(place, outcome),
            account=lambda checked: account(checked, outcome),
            mark=lambda checked: mark(checked, outcome),
            accepted=accepted,
            reached=reached,
        )
    )


@functools.cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: clean(value) if isinstance(value, str) and not hasattr(value, "__html__") else value,
    )
    environment.filters["lines"] = lambda text: [clean(line) for line in text.splitlines()]
    return environment


@functools.cache
def _source(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")
