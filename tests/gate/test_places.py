"""The estate's own lines: whoever edits the line that the gate names changes the value, and so it is said in a report."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gate import locate, render
from gate.model import Fault, FieldPath, Resource, Unit, get
from tests.command import report
from tests.conftest import ROOT
from tests.edit import edit_file, line_of

BUILDS = sorted(
    str(path.relative_to(ROOT))
    for pattern in ("overlays/*", "clusters/*/runtimes", "clusters/*/argocd", "clusters/*/queues", "clusters/*/runs/*")
    for path in ROOT.glob(pattern)
    if (path / "kustomization.yaml").is_file()
)
# What kustomize or the estate selects objects and list elements by: editing it changes what else is applied.
SELECTING = {"apiVersion", "kind", "name", "namespace", "mountPath", "labels"}


def values(value: Any, path: FieldPath = ()) -> Iterator[tuple[FieldPath, str]]:
    """The texts of an object, without those that others are selected by."""
    if isinstance(value, dict):
        for key, child in value.items():
            if key not in SELECTING:
                yield from values(child, (*path, key))
    elif isinstance(value, list):
        for index, child in enumerate(value):
            yield from values(child, (*path, index))
    elif isinstance(value, str) and re.fullmatch(r"[\w.:/-]+", value):
        yield path, value


def rendered(folder: Path) -> list[Resource]:
    built = render.render(Unit(path=folder, kustomization=True))
    assert built.problems == []
    return built.resources


@pytest.mark.parametrize("build", BUILDS)
def test_editing_the_line_that_is_named_changes_the_value(build: str, estate: Path) -> None:
    """Every such line of a build is edited at once, each by a word of its own, and kustomize says what came of it."""
    before = rendered(estate / build)
    words: dict[tuple[Path, int], str] = {}
    expected: dict[tuple[int, FieldPath], tuple[str, Path, int]] = {}
    for number, resource in enumerate(before):
        for path, value in values(resource.manifest):
            place = locate.locate(Fault(rule="", message="", resource=resource, path=path))
            lines = place.file.read_text(encoding="utf-8").splitlines(keepends=True)
            if place.file.suffix != ".yaml" or not re.search(rf"(?<![\w.-]){re.escape(value)}(?![\w.-])", lines[place.line - 1]):
                continue  # a text that is put together
            expected[(number, path)] = (value, place.file, place.line)
    assert len(expected) > 3
    for number, (value, file, line) in enumerate(expected.values()):
        lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
        words.setdefault((file, line), f"edit{number}z")
        lines[line - 1] = re.sub(rf"(?<![\w.-]){re.escape(value)}(?![\w.-])", words[(file, line)], lines[line - 1], count=1)
        file.write_text("".join(lines), encoding="utf-8")
    for cache in (render.render, render.build):
        cache.cache_clear()
    after = render.build(estate / build)
    missed = [
        f"{file.relative_to(estate)}:{line} does not set {path} of {before[number]}"
        for (number, path), (_, file, line) in expected.items()
        if words[(file, line)] not in str(get(after[number], path))
    ]
    assert missed == []


OVERLAYS = ["overlays/ib-kueue", "overlays/ib-volcano", "overlays/no-ib-kueue", "overlays/no-ib-volcano"]
COMPONENTS = "base/components"
# name: (the file to edit, what is replaced there by what, targets, rule, file and text of the line that is named, what it reaches)
FAULTS: dict[str, tuple[str, str, str, list[str], str, str, str, set[str]]] = {
    "a base": (
        "base/runtime/runtime.yaml",
        "backoffLimit: 0",
        "backoffLimit: 2",
        OVERLAYS,
        "jobset/backoff-limit-zero",
        "base/runtime/runtime.yaml",
        "backoffLimit: 2",
        set(OVERLAYS),
    ),
    "a base's TrainJob": (
        "base/trainjob/trainjob.yaml",
        "numNodes: 2",
        "numNodes: two",
        OVERLAYS,
        "schema/valid",
        "base/trainjob/trainjob.yaml",
        "numNodes: two",
        set(OVERLAYS),
    ),
    "a component's operation": (
        f"{COMPONENTS}/volcano/scheduler.yaml",
        "value: volcano",
        "value: 5",
        OVERLAYS,
        "schema/valid",
        f"{COMPONENTS}/volcano/scheduler.yaml",
        "value: 5",
        {"overlays/ib-volcano", "overlays/no-ib-volcano"},
    ),
    "a component's replacement": (
        f"{COMPONENTS}/infiniband/nccl.yaml",
        'sourceValue: "0"',
        'sourceValue: "1"',
        OVERLAYS,
        "infiniband/not-disabled",
        f"{COMPONENTS}/infiniband/nccl.yaml",
        'sourceValue: "1"',
        {"overlays/ib-kueue", "overlays/ib-volcano"},
    ),
    "an overlay's patch": (
        "overlays/ib-volcano/trainjob/kustomization.yaml",
        "value: tensorflow-distributed-volcano-ib",
        "value: 5",
        OVERLAYS,
        "schema/valid",
        "overlays/ib-volcano/trainjob/kustomization.yaml",
        "value: 5",
        {"overlays/ib-volcano"},
    ),
    "a cluster's fact that a component copies": (
        "clusters/v100-ib/runtimes/network.yaml",
        "interface: net",
        "interface: eth",
        ["clusters/v100-ib"],
        "network/interface",
        "clusters/v100-ib/runtimes/network.yaml",
        "interface: eth",
        {"clusters/v100-ib", "clusters/v100-ib/runs/one-node", "clusters/v100-ib/runs/reference"},
    ),
    "a cluster's run": (
        "clusters/lab/runs/more-nodes/trainjob.yaml",
        "name: tensorflow-distributed-",
        "name: tensorflow-undistributed-",
        ["clusters/lab"],
        "trainer/runtime-exists",
        "clusters/lab/runs/more-nodes/trainjob.yaml",
        "name: tensorflow-undistributed-",
        {"clusters/lab", "clusters/lab/runs/more-nodes"},
    ),
    "a script of a run": (
        "clusters/lab/runs/own-script/digits.py",
        "import tensorflow as tf",
        "import tensorflow as tf; tf.constant(1)",
        ["clusters/lab"],
        "script/strategy-first",
        "clusters/lab/runs/own-script/digits.py",
        "import tensorflow as tf; tf.constant(1)",
        {"clusters/lab"},
    ),
}


@pytest.mark.parametrize("layer", FAULTS)
def test_a_fault_of_each_layer_is_told_at_its_line(layer: str, estate: Path) -> None:
    file, old, new, targets, rule, named, text, reached = FAULTS[layer]
    edit_file(estate / file, {"replace": old, "with": new})
    _, document = report(*(estate / target for target in targets))
    assert document["problems"] == []
    found = [finding for finding in document["findings"] if finding["rule"] == rule]
    assert {(finding["file"], finding["line"]) for finding in found} == {(named, line_of(estate / named, text))}
    assert {target for finding in found for target in finding["targets"]} == reached


CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, labels: {app: web}}\ndata:\n"
COMPONENT = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n"
OPERATION = "- {op: replace, path: /data/mode, value: VALUE}\n"
# Ways in which a kustomization sets data.mode of a ConfigMap to VALUE, and one in which it touches another field.
WAYS: dict[str, dict[str, str]] = {
    "strategic": {"": "patches: [{path: p.yaml}]\n", "p.yaml": CONFIG_MAP + "  mode: VALUE\n"},
    "strategic, inline": {
        "": "patches:\n- target: {labelSelector: app=web}\n  patch: |\n    kind: ConfigMap\n    apiVersion: v1\n    metadata: {name: x}\n"
        "    data:\n      mode: VALUE\n"
    },
    "operations": {"": "patches: [{path: p.yaml, target: {kind: ConfigMap}}]\n", "p.yaml": OPERATION},
    "operations, old": {
        "": "patchesJson6902: [{path: p.yaml, target: {version: v1, kind: ConfigMap, name: settings}}]\n",
        "p.yaml": OPERATION,
    },
    "component": {
        "": "components: [c]\n",
        "c/kustomization.yaml": COMPONENT + "patches: [{path: p.yaml}]\n",
        "c/p.yaml": CONFIG_MAP + "  mode: VALUE\n",
    },
    "transformer": {
        "": "transformers: [t.yaml]\n",
        "t.yaml": "apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: t}\ntarget: {name: set.*}\npatch: |-\n  " + OPERATION,
    },
    "replacement": {
        "": "resources: [s.yaml]\nreplacements:\n- source: {kind: ConfigMap, name: s, fieldPath: data.from}\n"
        "  targets: [{select: {kind: ConfigMap, name: settings}, fieldPaths: [data.mode]}]\n",
        "s.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: s, annotations: {config.kubernetes.io/local-config: 'true'}}\n"
        "data: {from: VALUE}\n",
    },
    "another object's": {"": "patches: [{path: p.yaml, target: {kind: 'Config', name: settings}}]\n", "p.yaml": OPERATION},
    "another field": {
        "": "patches: [{path: p.yaml, target: {kind: ConfigMap}}]\n",
        "p.yaml": OPERATION.replace("replace", "add").replace("mode", "x"),
    },
}


@settings(max_examples=20, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.sampled_from(sorted(WAYS)), st.sampled_from(["slow", "fast"]), st.booleans()), min_size=1, max_size=4))
def test_editing_the_line_changes_the_value_whatever_layers_do(layers: list[tuple[str, str, bool]]) -> None:
    """Layers around one another, each sets the field in some way, perhaps to what it was, and perhaps changes the name."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        (root / "base").mkdir()
        (root / "base/kustomization.yaml").write_text("resources: [settings.yaml]\n", encoding="utf-8")
        (root / "base/settings.yaml").write_text(CONFIG_MAP + "  mode: slow\n", encoding="utf-8")
        below = "base"
        for number, (way, value, prefixed) in enumerate(layers):
            for file, text in WAYS[way].items():
                path = root / f"layer{number}" / (file or "kustomization.yaml")
                path.parent.mkdir(parents=True, exist_ok=True)
                if not file:
                    own = ", s.yaml" if "resources: [s.yaml]" in text else ""
                    text = (
                        text.replace("resources: [s.yaml]\n", "")
                        + f"resources: [../{below}{own}]\n"
                        + ("namePrefix: a-\n" if prefixed else "")
                    )
                path.write_text(text.replace("VALUE", value).replace("name: s,", f"name: s{number},"), encoding="utf-8")
            below = f"layer{number}"
        (resource,) = [each for each in rendered(root / below) if "from" not in each.manifest["data"]]
        place = locate.locate(Fault(rule="", message="", resource=resource, path=("data", "mode")))
        lines = place.file.read_text(encoding="utf-8").splitlines(keepends=True)
        assert (count := len(re.findall("slow|fast", lines[place.line - 1]))) == 1, f"{count} values in {place}"
        lines[place.line - 1] = re.sub("slow|fast", "edited", lines[place.line - 1])
        place.file.write_text("".join(lines), encoding="utf-8")
        assert [each["data"]["mode"] for each in render.kustomize(root / below) if "mode" in each["data"]] == ["edited"]
