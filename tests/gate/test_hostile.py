"""A pull request's manifests are hostile: whatever they hold, the gate ends with an answer and never with a traceback."""

from __future__ import annotations

import copy
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gate import check, evaluate
from gate.model import Outcome
from tests.command import report

VALID = sorted((Path(__file__).resolve().parent.parent / "rules" / "valid").glob("*.yaml"))
DOCUMENTS = {path: list(yaml.safe_load_all(path.read_text(encoding="utf-8"))) for path in VALID}
EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "150"))

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(min_value=-(2**70), max_value=2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=12),
    st.sampled_from(
        ["", "0", "-1", "1e999999", "999999999999Ei", "nvidia.com/gpu", "tfrun", "a/b/c", "[x=y]", "$(X)", "{{x}}", "../..", "\u202e"]
    ),
)
values = st.recursive(
    scalars, lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=6), inner, max_size=3)), max_leaves=6
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, child in below for place in places(child, (*path, key)))]


def judge(text: str, cluster: Path | None, opa: evaluate.Evaluator) -> Outcome:
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "manifests.yaml"
        file.write_text(text, encoding="utf-8")
        return check.check(Path(name), check.targets(Path(name), [file], str(cluster) if cluster else None), evaluator=opa)


@settings(max_examples=EXAMPLES, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_value_anywhere_is_judged(data: st.DataObject, opa: evaluate.Evaluator) -> None:
    path = data.draw(st.sampled_from(VALID))
    objects = copy.deepcopy(DOCUMENTS[path])
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.sampled_from([each for each in places(objects) if each]))
        parent: Any = objects
        for step in place[:-1]:
            parent = parent[step]
        parent[place[-1]] = data.draw(values)
    cluster = data.draw(st.sampled_from([None, path.parent.parent / "clusters" / path.name]))
    outcome = judge(yaml.safe_dump_all(objects, allow_unicode=True), cluster, opa)
    assert outcome.status in (0, 1, 2)
    assert not [problem for problem in outcome.problems if "OPA did not" in problem.message], "rules cope with it"
    assert all(finding.place.line >= 1 and finding.message and finding.fix for finding in outcome.findings)


@settings(max_examples=EXAMPLES, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(text=st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=200))
def test_any_text_is_judged(text: str, opa: evaluate.Evaluator) -> None:
    assert judge(text, None, opa).status in (0, 1, 2)


def test_a_link_out_of_the_repository_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "clusters").mkdir()
    secret = tmp_path.parent / "secret.txt"
    secret.write_text("secret", encoding="utf-8")
    folder = tmp_path / "k"
    folder.mkdir()
    (folder / "leak.txt").symlink_to(secret)
    (folder / "kustomization.yaml").write_text("configMapGenerator:\n- name: a\n  namespace: b\n  files: [leak.txt]\n", encoding="utf-8")
    status, document = report(folder)
    assert status == 2
    assert "security; file" in document["problems"][0]["message"]


@pytest.mark.parametrize("builtin", ["http.send", "opa.runtime", "time.now_ns", "rand.intn"])
def test_rules_cannot_reach_out_or_differ_from_run_to_run(builtin: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from gate import rules
    from gate.model import GateError

    argument = {"http.send": '{"method": "GET", "url": "http://127.0.0.1"}', "rand.intn": '"x", 5'}.get(builtin, "")
    folder = tmp_path / "rules"
    folder.mkdir()
    (folder / "x.rego").write_text(f"package rules.a.b\n\nreport contains {builtin}({argument})\n", encoding="utf-8")
    (folder / ".manifest").write_text('{"roots": ["rules"]}', encoding="utf-8")
    monkeypatch.setattr(rules, "FOLDER", folder)
    with pytest.raises(GateError, match="undefined function"):
        rules._compiled.__wrapped__()


URL = "http://127.0.0.1:9/x"
TRANSFORMER = f"apiVersion: builtin\nkind: PatchTransformer\nmetadata: {{name: t}}\npath: {URL}\n"


@pytest.mark.parametrize(
    "files",
    [
        {"kustomization.yaml": f"configMapGenerator:\n- name: a\n  env: {URL}\n"},
        {"kustomization.yaml": "transformers: [t.yaml]\n", "t.yaml": TRANSFORMER},
        {"kustomization.yaml": "transformers:\n- |-\n" + "".join(f"  {line}\n" for line in TRANSFORMER.splitlines())},
        {"kustomization.yaml": f"resources: ['{URL}.yaml']\n", "http:/127.0.0.1:9/x.yaml": "a: b\n"},
        {"kustomization.yaml": "generators: [made]\n", "made/kustomization.yaml": f"resources: ['{URL}']\n"},
        {"kustomization.yaml": f"openapi: {{path: '{URL}'}}\n"},
        {"kustomization.yaml": f"crds: ['{URL}']\n"},
    ],
)
def test_nothing_is_fetched_whatever_names_it(files: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "clusters").mkdir()
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    status, document = report(tmp_path)
    assert status == 1
    assert {finding["rule"] for finding in document["findings"]} == {"kustomize/no-remote-resources"}


@pytest.mark.parametrize(
    "text",
    [
        'resources: ["a\\0b"]\n',
        f"resources: [{'a' * 5000}]\n",
        "configMapGenerator: [{name: x, files: 3}]\n",
        "resources: [loop.yaml]\n",
        "resources: [zero.yaml]\n",
        "resources: {a: b}\n",
        "patches: 3\nresources: [good.yaml]\n",
    ],
)
def test_a_kustomization_of_an_impossible_shape_is_a_problem(text: str, tmp_path: Path) -> None:
    (tmp_path / "clusters").mkdir()
    (tmp_path / "loop.yaml").symlink_to("loop.yaml")
    (tmp_path / "zero.yaml").symlink_to("/dev/zero")
    (tmp_path / "good.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\n", encoding="utf-8")
    (tmp_path / "kustomization.yaml").write_text(text, encoding="utf-8")
    status, document = report(tmp_path)
    assert status == 2
    assert document["problems"]
    assert report(tmp_path / "loop.yaml")[0] == 2


def test_a_selector_cannot_send_the_gate_into_a_loop(tmp_path: Path) -> None:
    (tmp_path / "clusters").mkdir()
    name = "a" * 40
    job = f"apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {{name: {name}, namespace: b}}\nspec: {{runtimeRef: {{name: 5}}}}\n"
    (tmp_path / "job.yaml").write_text(job, encoding="utf-8")
    patch = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: a}\nspec: {suspend: true}\n"
    kustomization = {"resources": ["job.yaml"], "patches": [{"target": {"kind": "TrainJob", "name": "(a+)+b"}, "patch": patch}]}
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(kustomization), encoding="utf-8")
    status, document = report(tmp_path)
    assert status == 1
    assert document["findings"][0]["file"] == "job.yaml"


def test_values_of_secrets_are_in_no_report(tmp_path: Path) -> None:
    (tmp_path / "clusters").mkdir()
    secret = (
        "apiVersion: v1\nkind: Secret\nmetadata: {name: a, namespace: b}\ndata: {password: 918273}\nstringData: {obj: {inner: TOPSECRET}}\n"
    )
    (tmp_path / "a.yaml").write_text(secret, encoding="utf-8")
    folder = tmp_path / "k"
    folder.mkdir()
    (folder / "kustomization.yaml").write_text("secretGenerator: [{name: a, literals: [NOEQUALHUSH]}]\n", encoding="utf-8")
    status, document = report(tmp_path / "a.yaml", folder)
    assert status == 2
    assert len(document["findings"]) == 2
    assert not any(word in str(document) for word in ("918273", "TOPSECRET", "NOEQUALHUSH"))
