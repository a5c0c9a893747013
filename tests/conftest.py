"""What all tests of the gate share: the repository, one OPA for the session, copies of the estate to break."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from gate import evaluate, tools

ROOT = Path(__file__).resolve().parent.parent
ESTATE = ("base", "overlays", "clusters", "training")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Fast tests first: those that need the lab go to the end."""
    items.sort(key=lambda item: item.get_closest_marker("lab") is not None)


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def opa() -> Iterator[evaluate.Evaluator]:
    """The real OPA with the real rules, started once."""
    tools.setup()
    with evaluate.evaluator() as evaluator:
        yield evaluator


@pytest.fixture
def estate(tmp_path: Path) -> Path:
    """A copy of the estate that a test may break."""
    for name in ESTATE:
        shutil.copytree(ROOT / name, tmp_path / "repository" / name)
    return tmp_path / "repository"
