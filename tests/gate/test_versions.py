"""The table of versions that belong together, against the releases themselves: their own files say what is in it."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml

from gate import rules, schemas, tools
from tests.conftest import ROOT

TABLE: dict[str, Any] = yaml.safe_load((rules.FOLDER / "lib/versions/data.yaml").read_text(encoding="utf-8"))
# What of a file names a version; Kubernetes' modules are called 0.34 where it is 1.34.
NAMED = {
    ("trainer", "jobset"): r"sigs\.k8s\.io/jobset v(\d+\.\d+)",
    ("trainer", "volcano"): r"volcano\.sh/apis v(\d+\.\d+)",
    ("trainer", "kubernetes"): r'(?<=["])(1\.\d+)\.\d+"',
    ("kueue", "trainer"): r"github\.com/kubeflow/trainer/v2 v(\d+\.\d+)",
    ("kueue", "jobset"): r"sigs\.k8s\.io/jobset v(\d+\.\d+)",
    ("kueue", "kubernetes"): r"(?<=[= ])(1\.3\d)\.\d+",
    ("jobset", "kubernetes"): r"(?:kindest/node:v|k8s\.io/api v)(\d\.\d+)",
    ("volcano", "kubernetes"): r"k8s\.io/api v(\d+\.\d+)",
    ("argocd", "kubernetes"): r"v(1\.\d+)",
}
PAIRS = [pytest.param(pair, version, id=f"{pair['of']} {version} with {pair['with']}") for pair in TABLE["pairs"]
         for version in schemas.sources()[pair["of"]].versions]  # fmt: skip


def minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


@pytest.mark.parametrize(("pair", "version"), PAIRS)
def test_the_table_says_what_the_release_says(pair: dict[str, Any], version: str) -> None:
    folder = tools.module(pair["of"], version)
    text = "\n".join((folder / file).read_text(encoding="utf-8") for file in pair["sources"])
    if pair["of"] == "argocd":  # a table of several versions
        (text,) = (line for line in text.splitlines() if line.startswith(f"| {minor(version)} |"))
    found = {
        re.sub(r"^0(?=\.3)", "1", each) if pair["with"] == "kubernetes" else each
        for each in re.findall(NAMED[pair["of"], pair["with"]], text)
    }
    assert set(pair["tried"][minor(version)]) == found


def test_the_lab_runs_what_the_table_says_of_it() -> None:
    facts = yaml.safe_load((ROOT / "clusters/lab/cluster.yaml").read_text(encoding="utf-8"))
    assert TABLE["lab"] == {component: minor(version) for component, version in facts["versions"].items()}
