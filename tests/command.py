"""The command line in this process, as tests call it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from gate.cli import main


def gate(*words: str | Path) -> Result:
    """Runs `gate` with these words; exceptions that are no SystemExit are raised, since users must never see one."""
    return CliRunner().invoke(main, [str(word) for word in words], catch_exceptions=False)


def report(*words: str | Path) -> tuple[int, dict[str, Any]]:
    """Status and report of `gate check --format json`."""
    result = gate("check", "--format", "json", *words)
    document: dict[str, Any] = json.loads(result.stdout)
    return result.exit_code, document
