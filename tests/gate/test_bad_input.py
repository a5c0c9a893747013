"""What a person has to mend before anything can be judged: one line that names file, line and reason, and status 2."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gate import source
from tests.command import gate, report
from tests.edit import edit_file, line_of

GOOD = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: default}\n"
LAUGHS = "".join(f"  a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 9))

OPERATIONS = [("add", ', "value": "1"'), ("replace", ', "value": "2"'), ("remove", ""), ("remove", ""), ("add", ', "value": "3"')]

# name: (files, what is checked, file and line that the problem names, its message)
CASES: dict[str, tuple[dict[str, str | bytes], str, str, str]] = {
    "broken YAML": ({"a.yaml": "a: [1\nb: 2\n"}, ".", "a.yaml:2", "is not valid YAML"),
    "a duplicate key": ({"a.yaml": GOOD + "data: {}\ndata: {}\n"}, ".", "a.yaml:5", "has the key 'data' twice (first in line 4): keep one"),
    "not UTF-8": ({"a.yaml": GOOD.encode() + b"# caf\xe9\n"}, ".", "a.yaml:4", "is not UTF-8"),
    "control characters": ({"a.yaml": "a: \x01\n"}, ".", "a.yaml", "is not valid YAML"),
    "aliases that explode": ({"a.yaml": f"{GOOD}data:\n  a0: &a0 [x]\n{LAUGHS}"}, ".", "a.yaml:11", "through its aliases"),
    "an alias of itself": ({"a.yaml": "a: &a\n  b: *a\n"}, ".", "a.yaml:1", "has an alias that contains itself"),
    "deep nesting": ({"a.yaml": "a: " + "[" * 5000 + "]" * 5000}, ".", "a.yaml:1", "nest"),
    "a number that JSON does not have": ({"a.yaml": "a:\n  b: .inf\n"}, ".", "a.yaml:2", ".inf is no finite number (quote it)"),
    "a document that is no object": ({"a.yaml": "just text\n"}, ".", "a.yaml:1", "must be an object with apiVersion and kind"),
    "an empty folder": ({"sub/readme.txt": ""}, "sub", "sub", "holds nothing to check"),
    "an empty file": ({"a.yaml": ""}, "a.yaml", "a.yaml", "holds no object"),
    "a missing target": ({}, "nowhere", "nowhere", "does not exist"),
    "an unknown kind": (
        {"a.yaml": "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\n"},
        "a.yaml",
        "a.yaml",
        "the kind example.com/v1 Widget is not known; add the component that defines it to policies/schemas/sources.yaml",
    ),
    "an object without a kind": (
        {"a.yaml": "metadata: {name: w}\n"},
        "a.yaml",
        "a.yaml",
        "an object without apiVersion and kind is not known",
    ),
    "kustomizations that loop": (
        {"one/kustomization.yaml": "resources: [../two]\n", "two/kustomization.yaml": "resources: [../one]\n"},
        "one",
        "two/kustomization.yaml",
        "the kustomizations loop: one → two → one",
    ),
    "a kustomization without objects": ({"k/kustomization.yaml": "resources: []\n"}, "k", "k/kustomization.yaml", "renders no object"),
    "a resource that is missing": (
        {"k/kustomization.yaml": "resources:\n- lost.yaml\n"},
        "k",
        "k/kustomization.yaml:2",
        "resources: lost.yaml does not exist",
    ),
    "a patch that is missing": (
        {"k/kustomization.yaml": "resources: [a.yaml]\npatches:\n- path: lost.yaml\n", "k/a.yaml": GOOD},
        "k",
        "k/kustomization.yaml:3",
        "patches: lost.yaml does not exist",
    ),
    "a generator's file that is missing": (
        {"k/kustomization.yaml": "configMapGenerator:\n- name: code\n  files:\n  - train.py=lost.py\n"},
        "k",
        "k/kustomization.yaml:4",
        "configMapGenerator: lost.py does not exist",
    ),
    "a patch that does not apply": (
        {
            "k/kustomization.yaml": "resources: [a.yaml]\npatches:\n- path: p.yaml\n",
            "k/a.yaml": GOOD,
            "k/p.yaml": GOOD.replace("settings", "other"),
        },
        "k",
        "k/kustomization.yaml:3",
        "does not build: no resource matches strategic merge patch",
    ),
    "an operation that does not apply, the last but one": (
        {
            "k/kustomization.yaml": "resources: [a.yaml]\npatches:\n"
            + "".join(
                f'- {{target: {{kind: ConfigMap}}, patch: \'[{{"op": "{op}", "path": "/data/x"{rest}}}]\'}}\n' for op, rest in OPERATIONS
            ),
            "k/a.yaml": GOOD + "data: {a: b}\n",
        },
        "k",
        "k/kustomization.yaml:6",
        "does not build",
    ),
    "a replacement without a source": (
        {
            "k/kustomization.yaml": "resources: [a.yaml]\ncomponents:\n- ../c\n",
            "k/a.yaml": GOOD,
            "c/kustomization.yaml": "kind: Component\napiVersion: kustomize.config.k8s.io/v1alpha1\nreplacements:\n- path: r.yaml\n",
            "c/r.yaml": "source: {kind: ConfigMap, name: lost}\ntargets: [{select: {kind: ConfigMap}, fieldPaths: [data.a]}]\n",
        },
        "k",
        "c/kustomization.yaml:4",
        "does not build: nothing selected by ConfigMap",
    ),
    "a resource without a name": (
        {"k/kustomization.yaml": "resources: [a.yaml, b.yaml]\n", "k/a.yaml": GOOD, "k/b.yaml": "apiVersion: v1\nkind: ConfigMap\n"},
        "k",
        "k/b.yaml:1",
        "does not build: missing metadata.name in object",
    ),
    "a text that YAML cannot hold": (
        {
            "k/kustomization.yaml": "configMapGenerator:\n- name: a\n  literals: [a=b]\n- name: code\n  files: [a.txt]\n",
            "k/a.txt": "\x7f\x85",
        },
        "k",
        "k/kustomization.yaml:4",
        "does not build: yaml: control characters are not allowed",
    ),
    "a number in a patch": (
        {
            "k/kustomization.yaml": "resources: [a.yaml]\npatches:\n- path: p.yaml\n",
            "k/a.yaml": GOOD,
            "k/p.yaml": GOOD + "data:\n  a: .inf\n",
        },
        "k",
        "k/p.yaml:5",
        ".inf is no finite number (quote it)",
    ),
    "a number in a file of a kustomization": (
        {"k/kustomization.yaml": "resources: [a.yaml]\n", "k/a.yaml": GOOD + "data: {a: .inf}\n"},
        "k",
        "k/a.yaml:4",
        ".inf is no finite number (quote it)",
    ),
    "a key twice in a patch of the kustomization": (
        {
            "k/kustomization.yaml": "resources: [a.yaml]\npatches:\n- target: {kind: ConfigMap}\n  patch: |-\n"
            + "".join(f"    {line}\n" for line in (GOOD + "data: {}\nlabels: {}\ndata: {}").splitlines()),
            "k/a.yaml": GOOD,
        },
        "k",
        "k/kustomization.yaml:10",
        "has the key 'data' twice (first in line 8): keep one",
    ),
    "a patch of the kustomization that is no YAML": (
        {
            "k/kustomization.yaml": "resources: [a.yaml]\npatches:\n- target: {kind: ConfigMap}\n  patch: |-\n    a: b\n    - c\n",
            "k/a.yaml": GOOD,
        },
        "k",
        "k/kustomization.yaml:6",
        "is not valid YAML",
    ),
    "a number in a transformer": (
        {
            "k/kustomization.yaml": "resources: [a.yaml]\ntransformers: [t.yaml]\n",
            "k/a.yaml": GOOD,
            "k/t.yaml": "apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: t}\ntarget: {kind: ConfigMap}\npatch: |\n"
            "  - op: add\n    path: /data\n    value: {a: .inf}\n",
        },
        "k",
        "k/t.yaml:8",
        ".inf is no finite number (quote it)",
    ),
    "replicas of what has none": (
        {"k/kustomization.yaml": "resources: [a.yaml]\nreplicas:\n- {name: a, count: 2}\n", "k/a.yaml": GOOD},
        "k",
        "k/kustomization.yaml:3",
        "resource with name a does not match",
    ),
    "a broken file in a kustomization": (
        {"k/kustomization.yaml": "resources: [a.yaml]\n", "k/a.yaml": GOOD + "data: {a: [}\n"},
        "k",
        "k/a.yaml:4",
        "is not valid YAML",
    ),
    "two kustomization files": (
        {"k/kustomization.yaml": "resources: []\n", "k/kustomization.yml": "resources: []\n"},
        "k",
        "k/kustomization.yml",
        "stand side by side: keep one",
    ),
    "a script that is nested too deeply": ({"train.py": f"x = {'1 + ' * 50_000}1\n"}, "train.py", "train.py", "nested too deeply"),
    "a script that is not Python": ({"train.py": "import os\nx = (\n"}, "train.py", "train.py:2", "is not valid Python"),
}


def write(folder: Path, files: dict[str, str | bytes]) -> None:
    for name, content in {"clusters/README.md": "", **files}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


@pytest.mark.parametrize("name", CASES)
def test_problem_names_file_line_and_reason(name: str, tmp_path: Path) -> None:
    files, target, place, message = CASES[name]
    write(tmp_path, files)
    status, document = report(tmp_path / target)
    assert status == 2
    (problem,) = document["problems"]
    shown = problem["file"] + (f":{problem['line']}" if problem["line"] else "")
    assert shown.removeprefix(f"{tmp_path}/") == place
    assert message in problem["message"]
    assert "\n" not in problem["message"]


def test_a_base_that_does_not_build_is_one_problem_of_all_its_targets(estate: Path) -> None:
    edit_file(
        estate / "base/runtime/kustomization.yaml",
        {"replace": "configurations:\n", "with": "patches:\n- path: gone.yaml\nconfigurations:\n"},
    )
    gone = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: ClusterTrainingRuntime\nmetadata: {name: gone}\n"
    (estate / "base/runtime/gone.yaml").write_text(gone, encoding="utf-8")
    overlays = sorted((estate / "overlays").glob("*-*"))
    status, document = report(*overlays, estate / "clusters/v100-ib")
    (problem,) = document["problems"]
    line = line_of(estate / "base/runtime/kustomization.yaml", "gone.yaml")
    assert (status, problem["file"], problem["line"]) == (2, "base/runtime/kustomization.yaml", line)
    assert problem["targets"] == ["clusters/v100-ib", *(f"overlays/{path.name}" for path in overlays)]
    assert "no resource matches strategic merge patch" in problem["message"]


def test_the_rest_of_the_check_goes_on(tmp_path: Path) -> None:
    write(tmp_path, {"bad.yaml": "a: [1\n", "good.yaml": GOOD + "unknown: 1\n"})
    status, document = report(tmp_path / "bad.yaml", tmp_path / "good.yaml")
    assert status == 2, "2 wins over 1"
    assert [finding["rule"] for finding in document["findings"]] == ["schema/valid"], "what could be checked is reported"


def test_problems_are_told_on_standard_error_where_the_report_is_for_a_program(tmp_path: Path) -> None:
    write(tmp_path, {"a.yaml": "a: [1\nb: 2\n"})
    result = gate("check", "--format", "json", tmp_path / "a.yaml")
    assert re.search(r"^gate: a\.yaml:2: is not valid YAML", result.stderr, re.MULTILINE)


CLUSTERS = {
    "a version that is a number": (
        "versions: {trainer: 2.3}\nnodes: []\nnetwork: {interface: a}\n",
        2,
        "versions.trainer: 2.3 is not a string (quote it)",
    ),
    "a field that is missing": ("versions: {}\nnodes: []\n", 1, "'network' is missing"),
    "an unknown field": ("versions: {}\nnodes: []\nnetwork: {interface: a}\nqueue: x\n", 1, "'queue' was unexpected"),
    "an unknown version": ('versions:\n  trainer: "9.9.9"\nnodes: []\nnetwork: {interface: a}\n', 3, "9.9.9 is not known (known: 2.1.0"),
    "a version with a v": (
        'versions: {trainer: "v2.3.0"}\nnodes: []\nnetwork: {interface: a}\n',
        2,
        'versions.trainer: "v2.3.0" is not as it must be: numbers alone, as "0.12.0", without a v',
    ),
    "several at once": (
        "versions: {}\nnodes:\n- {pool: a, count: -1, allocatable: {}}\nnetwork: [a]\n",
        4,
        'nodes[0].count: -1 is less than the minimum of 0; line 5: network: ["a"] is not a mapping',
    ),
    "an unknown version that is known to fail beside another": (
        'versions:\n  trainer: "2.1.0"\n  kueue: "0.18.0"\nnodes: []\nnetwork: {interface: a}\n',
        4,
        "0.18.0 is not known (known: 0.16.1, 0.17.0); add it to policies/schemas/sources.yaml; "
        "Kueue 0.18.0 writes spec.runtimePatches, which Trainer 2.1.0 does not have: admitted TrainJobs stay suspended for ever",
    ),
    "broken YAML": ("nodes: [\n", 3, "is not valid YAML"),
}


@pytest.mark.parametrize("name", CLUSTERS)
def test_cluster_facts_that_break_their_schema(name: str, tmp_path: Path) -> None:
    text, line, message = CLUSTERS[name]
    write(tmp_path, {"a.yaml": GOOD, "facts.yaml": f"name: c\n{text}"})
    result = gate("check", "--cluster", tmp_path / "facts.yaml", tmp_path / "a.yaml")
    assert result.exit_code == 2
    assert message in result.output
    assert f"facts.yaml:{line}" in result.output


def test_of_an_unknown_version_that_may_work_no_more_is_said(tmp_path: Path) -> None:
    facts = 'name: c\nversions: {trainer: "2.3.0", kueue: "0.18.0"}\nnodes: []\nnetwork: {interface: a}\n'
    write(tmp_path, {"a.yaml": GOOD, "facts.yaml": facts})
    result = gate("check", "--cluster", tmp_path / "facts.yaml", tmp_path / "a.yaml")
    assert result.exit_code == 2
    assert "0.18.0 is not known (known: 0.16.1, 0.17.0); add it to policies/schemas/sources.yaml\n" in result.output


def test_a_cluster_that_is_not_there(estate: Path) -> None:
    result = gate("check", "--cluster", "nowhere", estate / "overlays/no-ib-kueue")
    assert result.exit_code == 2
    assert "no such cluster in clusters/ (there are: a10g, h100-ib, l40s, lab, v100-ib)" in result.output


def test_a_missing_tool_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {"a.yaml": GOOD})
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    from gate import tools

    tools.binary.cache_clear()
    result = gate("check", tmp_path / "a.yaml")
    tools.binary.cache_clear()
    assert result.exit_code == 2
    assert "go is missing: install Go" in result.output
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.is_file()], "nothing half-written"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", True),
        ("'yes'", "yes"),
        ("2024-01-01", "2024-01-01"),
        ("1:30", "1:30"),
        ("0644", 420),
        ("1e3", 1000.0),
        ("1.5", 1.5),
        ("-7", -7),
        ("0x1F", 31),
        ("~", None),
    ],
)
def test_scalars_are_read_as_the_api_server_reads_them(text: str, value: object, tmp_path: Path) -> None:
    assert source.parse(f"a: {text}\n", tmp_path) == [{"a": value}]


def test_a_cluster_is_called_as_its_folder(tmp_path: Path) -> None:
    facts = "versions: {}\nname: other\nnodes: []\nnetwork: {interface: a}\n"
    write(tmp_path, {"clusters/one/cluster.yaml": facts, "clusters/one/a.yaml": GOOD})
    for target in ([tmp_path / "clusters/one"], [tmp_path / "clusters/one/a.yaml"], ["--cluster", "one", tmp_path / "clusters/one/a.yaml"]):
        status, document = report(*target)
        assert status == 2
        (problem,) = document["problems"]
        assert (problem["file"].removeprefix(f"{tmp_path}/"), problem["line"]) == ("clusters/one/cluster.yaml", 2)
        assert "name: other stands in the folder one" in problem["message"]
