"""Where rules say that their claims were seen: the tests exist, and so do the files of the pinned versions."""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path

import pytest

from gate import process, rules, tools
from gate.model import Rule
from tests.conftest import ROOT
from tests.training import environments

tools.setup()  # the rules are read while tests are collected
RULES = rules.rules().values()
LAB, TOOLS = "clusters/lab/modules", "policies/tools"
MODULES = {  # the folder whose go.mod pins it, and its path
    "argocd": (f"{LAB}/argocd", "github.com/argoproj/argo-cd/v3"),
    "gitops-engine": (f"{LAB}/argocd", "github.com/argoproj/gitops-engine"),
    "jobset": (f"{LAB}/jobset", "sigs.k8s.io/jobset"),
    "kubernetes": (f"{LAB}/kubernetes", "k8s.io/kubernetes"),
    "kueue": (f"{LAB}/kueue", "sigs.k8s.io/kueue"),
    "kustomize": (f"{TOOLS}/kustomize", "sigs.k8s.io/kustomize/api"),
    "kyaml": (f"{TOOLS}/kustomize", "sigs.k8s.io/kustomize/kyaml"),
    "trainer": (f"{LAB}/trainer", "github.com/kubeflow/trainer/v2"),
    "volcano": (f"{LAB}/volcano", "volcano.sh/volcano"),
}
PACKAGES = {  # the environment of the training tests, and the package in it
    "keras": ("2.15", "keras"),
    "keras-3": ("2.21", "keras"),
    "tensorflow": ("2.15", "tensorflow"),
    "tensorflow-2.21": ("2.21", "tensorflow"),
}
SOURCES = sorted({place.removeprefix("source: ") for rule in RULES for place in rule.seen if place.startswith("source: ")})


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_rule_says_where_its_claim_was_seen(rule: Rule) -> None:
    assert rule.seen or rule.references
    assert all(re.fullmatch(r"lab: tests/\S+\.py::\w+|source: [\w.-]+ \S+", place) for place in rule.seen), rule.seen
    for place in rule.seen:
        kind, _, name = place.partition(": ")
        if kind == "lab":
            file, _, test = name.partition("::")
            assert test in functions(ROOT / file), place


@functools.cache
def functions(file: Path) -> set[str]:
    """The functions of a module, which is not imported."""
    return {node.name for node in ast.parse(file.read_text(encoding="utf-8")).body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("source", SOURCES)
def test_source_is_a_file_of_the_pinned_version(source: str) -> None:
    name, _, path = source.partition(" ")
    assert name in MODULES | PACKAGES
    folder, path = of_package(name, path) if name in PACKAGES else of_module(name, path)
    if not folder.is_dir():
        pytest.skip(f"{folder.name} is not there: python -m tests.prepare")
    assert (folder / path).is_file()


def of_package(name: str, path: str) -> tuple[Path, str]:
    version, package = PACKAGES[name]
    return environments.location(version) / "lib" / "python{}.{}".format(*environments.PYTHON) / "site-packages" / package, path


def of_module(name: str, path: str) -> tuple[Path, str]:
    """The module's folder in Go's cache, and the file in it: each part of Kubernetes' staging folder is a module of its own."""
    pinning, module = MODULES[name]
    if part := re.fullmatch(r"staging/src/(k8s\.io/[\w-]+)/(.+)", path):
        module, path = part.groups()
    text = (ROOT / pinning / "go.mod").read_text(encoding="utf-8")
    name = re.escape(module)
    found = re.search(rf"^\s*(?:replace )?{name}(?: v\S+)? => \S+ (v\S+)", text, re.M)
    found = found or re.search(rf"^\s*(?:require )?{name} (v\S+)", text, re.M)
    assert found, f"{pinning}/go.mod does not pin {module}"
    return go_cache() / f"{module}@{found[1]}", path


@functools.cache
def go_cache() -> Path:
    return Path(process.run([tools.go(), "env", "GOMODCACHE"]).strip())
