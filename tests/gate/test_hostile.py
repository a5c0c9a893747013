"""A pull request's manifests are hostile: whatever they hold, the gate ends with an answer and never with a traceback."""

from __future__ import annotations

import contextlib
import copy
import os
import re
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from gate import applications, check, evaluate, facts, process, reports, rules, scripts, source, waivers
from gate.model import GateError, Outcome
from tests.command import report
from tests.conftest import ROOT

RULES = Path(__file__).resolve().parent.parent / "rules"
VALID = sorted((RULES / "valid").glob("*.yaml"))
DOCUMENTS = {path: list(yaml.safe_load_all(path.read_text(encoding="utf-8"))) for path in VALID}
# one overlay and one cluster with all that they are built from
ROOMS = ("base", "overlays/no-ib-kueue", "training", "clusters/lab")
ESTATE = sorted(
    path
    for room in ROOMS
    for path in (ROOT / room).rglob("*")
    if path.is_file()
    and path.suffix in (".yaml", ".py", ".lua")
    and not {"lab", "modules", "system"} & set(path.relative_to(ROOT).parts[2:])
)
WAIVERS = """\
waivers:
- rule: script/no-download
  scope: {target: clusters/lab, resource: ConfigMap/training/more-nodes, file: training/data.py}
  owner: ml-platform
  reason: the pods of the lab reach a mirror
  expires: "2099-03-31"
"""
EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "60"))  # a long run: FUZZ_EXAMPLES=20000
SECONDS = 1800  # for one input, on a machine with other things to do: what is not done by then hangs
fuzz = settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize="FUZZ_EXAMPLES" not in os.environ,
    database=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate],
)

text = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=12)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(min_value=-(2**70), max_value=2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    text,
    st.sampled_from(
        [
            "",
            "0",
            "-1",
            "1e999999",
            "999999999999Ei",
            "nvidia.com/gpu",
            "tfrun",
            "a/b/c",
            "[x=y]",
            "$(X)",
            "{{x}}",
            "../..",
            "\u202e",
            ".",
            "*",
        ]
    ),
)
values = st.recursive(
    scalars, lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=6), inner, max_size=3)), max_leaves=6
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, child in below for place in places(child, (*path, key)))]


def broken(data: st.DataObject, documents: list[Any]) -> list[Any]:
    """A copy with one to three of its nodes replaced, taken out, doubled, renamed or put in another's place."""
    documents = copy.deepcopy(documents)
    for _ in range(data.draw(st.integers(1, 3))):
        known = [place for place in places(documents) if place]
        if not known:
            break
        place = data.draw(st.sampled_from(known))
        parent: Any = documents
        for step in place[:-1]:
            parent = parent[step]
        match data.draw(st.sampled_from(["replace", "replace", "delete", "double", "rename", "move", "wrap"])):
            case "delete":
                del parent[place[-1]]
            case "double" if isinstance(parent, list):
                parent.append(copy.deepcopy(parent[place[-1]]))
            case "rename" if isinstance(parent, dict):
                parent[data.draw(text)] = parent.pop(place[-1])
            case "move":
                other: Any = documents
                for step in data.draw(st.sampled_from(known)):
                    other = other[step]
                parent[place[-1]] = copy.deepcopy(other)
            case "wrap":
                parent[place[-1]] = data.draw(st.sampled_from([[parent[place[-1]]], {"a": parent[place[-1]]}]))
            case _:
                parent[place[-1]] = data.draw(values)
    return documents


def scratched(data: st.DataObject, content: str) -> str:
    """A text with some of its lines or characters replaced, taken out, doubled or swapped."""
    for _ in range(data.draw(st.integers(1, 3))):
        lines = content.splitlines(keepends=True) or [""]
        at, other = (data.draw(st.integers(0, len(lines) - 1)) for _ in range(2))
        line = lines[at]
        cut = data.draw(st.integers(0, len(line)))
        match data.draw(st.sampled_from(["delete", "double", "swap", "insert", "cut", "indent"])):
            case "delete":
                lines[at] = ""
            case "double":
                lines[at] = line * 2
            case "swap":
                lines[at], lines[other] = lines[other], line
            case "insert":
                lines[at] = line[:cut] + data.draw(st.one_of(text, st.sampled_from(list("&*!|>%@`{}[]:-?\t\0()'\"#=")))) + line[cut:]
            case "cut":
                lines[at] = line[:cut]
            case "indent":
                lines[at] = "  " + line
        content = "".join(lines)
    return content


@contextlib.contextmanager
def answered() -> Iterator[None]:
    """Fails a test whose body does not end."""

    def hangs(*_: object) -> None:
        raise AssertionError(f"no answer in {SECONDS} s")

    signal.signal(signal.SIGALRM, hangs)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)


def sound(outcome: Outcome) -> None:
    assert outcome.status in (0, 1, 2)
    assert not [problem for problem in outcome.problems if "OPA did not" in problem.message], "rules cope with it"
    assert all(finding.place.line >= 1 and finding.message and finding.fix for finding in outcome.findings)
    for format_ in reports.formats():
        assert reports.render(format_, outcome)


def judge(content: str, cluster: Path | None, opa: evaluate.Evaluator) -> Outcome:
    with tempfile.TemporaryDirectory() as name, answered():
        file = Path(name) / "manifests.yaml"
        file.write_text(content, encoding="utf-8")
        return check.check(Path(name), check.targets(Path(name), [file], str(cluster) if cluster else None), evaluator=opa)


@fuzz
@given(data=st.data())
def test_any_value_anywhere_is_judged(data: st.DataObject, opa: evaluate.Evaluator) -> None:
    path = data.draw(st.sampled_from(VALID))
    objects = broken(data, DOCUMENTS[path])
    cluster = data.draw(st.sampled_from([None, RULES / "clusters" / path.name]))
    sound(judge(yaml.safe_dump_all(objects, allow_unicode=True), cluster, opa))


@pytest.mark.parametrize("path", VALID, ids=lambda path: path.stem)
def test_rules_cope_with_two_elements_of_one_name(path: Path, opa: evaluate.Evaluator) -> None:
    for place in places(DOCUMENTS[path]):
        if len(place) > 1 and isinstance(place[-1], int):
            objects = copy.deepcopy(DOCUMENTS[path])
            parent: Any = objects
            for step in place[:-1]:
                parent = parent[step]
            parent.append(copy.deepcopy(parent[place[-1]]))
            sound(judge(yaml.safe_dump_all(objects), RULES / "clusters" / path.name, opa))


@fuzz
@given(content=st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=200))
def test_any_text_is_judged(content: str, opa: evaluate.Evaluator) -> None:
    sound(judge(content, None, opa))


@settings(fuzz, max_examples=max(1, EXAMPLES // 10))
@given(data=st.data())
def test_any_change_of_the_estate_is_judged(data: st.DataObject, opa: evaluate.Evaluator) -> None:
    """Kustomizations, patches, facts, waivers, training scripts: whatever a pull request makes of one of them."""
    with tempfile.TemporaryDirectory() as name, answered():
        root = Path(name).resolve()
        for path in ESTATE:
            (root / path.relative_to(ROOT)).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, root / path.relative_to(ROOT))
        (root / "policies").mkdir()
        (root / "policies/waivers.yaml").write_text(WAIVERS, encoding="utf-8")
        chosen = data.draw(st.sampled_from([*(root / path.relative_to(ROOT) for path in ESTATE), root / "policies/waivers.yaml"]))
        content = chosen.read_text(encoding="utf-8")
        if chosen.suffix == ".yaml" and data.draw(st.booleans()):
            content = yaml.safe_dump_all(broken(data, list(yaml.safe_load_all(content))), allow_unicode=True)
        else:
            content = scratched(data, content)
        chosen.write_text(content, encoding="utf-8")
        wanted, cluster = around(root, chosen)
        sound(check.check(root, check.targets(root, [wanted], cluster), evaluator=opa))


def around(root: Path, file: Path) -> tuple[Path, str | None]:
    """The smallest target that reads a file, and the facts to judge it by."""
    match file.relative_to(root).parts[0]:
        case "training":
            return root / "training", None
        case "clusters" if file.name != "cluster.yaml":
            folder = next(path for path in file.parents if (path / "kustomization.yaml").is_file() or path == root)
            return folder, str(root / "clusters/lab/cluster.yaml")
        case "base" if "argocd" in file.parts:
            return root / "clusters/lab/argocd", str(root / "clusters/lab/cluster.yaml")
        case "base" | "overlays":
            return root / ROOMS[1], None
    return root / "clusters/lab", None


SCRIPTS = {
    path: path.read_text(encoding="utf-8") for path in [*(ROOT / "training").glob("*.py"), *(ROOT / "tests/scripts/cases").rglob("*.py")]
}


@fuzz
@given(data=st.data())
def test_any_script_is_judged(data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(sorted(SCRIPTS)))
    with answered():
        try:
            assert all(fault.place and fault.message for fault in scripts.judge(scripts.parse(scratched(data, SCRIPTS[path]), path)))
        except GateError as error:
            assert error.line is None or error.line >= 1


@fuzz
@given(data=st.data())
def test_any_facts_and_waivers_are_read(data: st.DataObject) -> None:
    facts_file = data.draw(st.sampled_from([*sorted((RULES / "clusters").glob("*.yaml")), ROOT / "clusters/lab/cluster.yaml", None]))
    content = facts_file.read_text(encoding="utf-8") if facts_file else WAIVERS
    if data.draw(st.booleans()):
        content = yaml.safe_dump_all(broken(data, list(yaml.safe_load_all(content))), allow_unicode=True)
    else:
        content = scratched(data, content)
    with tempfile.TemporaryDirectory() as name, answered():
        file = Path(name) / "policies" / "waivers.yaml"
        file.parent.mkdir()
        file.write_text(content, encoding="utf-8")
        try:
            if facts_file:
                found = facts.load(file)
                assert found.catalog and found.for_rules()
            else:
                held = waivers.load(Path(name), rules.rules())
                assert waivers.expired(held) is not None
                waivers.find(held, "script/no-download", "training/data.py", ("clusters/lab",), None)
        except GateError as error:
            assert error.message


@pytest.mark.parametrize("name", ["a.yaml", "clusters/c/cluster.yaml", "policies/waivers.yaml", "train.py", "k/kustomization.yaml"])
@pytest.mark.parametrize("outside", ["file", "fifo"])
def test_what_is_no_file_of_the_repository_is_not_read(name: str, outside: str, tmp_path: Path) -> None:
    """Links lead nowhere: what they lead to would be in the report."""
    (tmp_path / "repository" / "clusters").mkdir(parents=True)
    target = tmp_path / "secret"
    target.write_text("apiVersion: v1\nkind: HUSH\nname: HUSH\n", encoding="utf-8") if outside == "file" else os.mkfifo(target)
    good = tmp_path / "repository" / "good.yaml"
    good.write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\n", encoding="utf-8")
    link = tmp_path / "repository" / name
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(target)
    wanted = {"policies/waivers.yaml": good, "k/kustomization.yaml": link.parent}.get(name, link)
    status, document = report(wanted, *(["--cluster", "c"] if "cluster.yaml" in name else []), good)
    assert status == 2
    assert "HUSH" not in str(document)
    assert re.search("leads out of the repository|is no regular file|holds nothing to check|no such cluster", str(document["problems"]))


def test_a_folder_elsewhere_is_not_read_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "repository" / "clusters").mkdir(parents=True)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "a.yaml").write_text("apiVersion: v1\nkind: HUSH\n", encoding="utf-8")
    link = tmp_path / "repository" / "link"
    link.symlink_to(elsewhere)
    status, document = report(link)
    assert (status, [each["message"] for each in document["problems"]]) == (2, ["is a link that leads out of the repository"])


def test_a_program_that_is_built_in_is_a_program(tmp_path: Path) -> None:
    (tmp_path / "clusters").mkdir()
    chart = "apiVersion: builtin\nkind: HelmChartInflationGenerator\nmetadata: {name: a}\nname: a\n"
    (tmp_path / "g.yaml").write_text(chart, encoding="utf-8")
    (tmp_path / "kustomization.yaml").write_text("generators: [g.yaml]\n", encoding="utf-8")
    status, document = report(tmp_path)
    assert (status, [finding["rule"] for finding in document["findings"]]) == (1, ["kustomize/no-plugins"])


@pytest.mark.parametrize(
    "text",
    [
        "a: [" + "1," * (source.MAX_NODES + 1) + "]",
        "a: " + "{b: " * 3000 + "}" * 3000,
        "a: " + "- " * 100_000,
        "? " * 100_000,
        "a: " + "9" * 5000,
        "a: 0x" + "f" * 100_000,
        "a: 1e" + "9" * 5000,
        "a: &a [" + "*a," * 1000 + "]",
        "a" * 2_000_000,
        "a: '" + "\n" * 1_000_000 + "'",
    ],
    ids=lambda text: text[:12],
)
def test_large_and_deep_files_are_answered(text: str, tmp_path: Path) -> None:
    with pytest.raises(GateError) if not text.startswith(("a: 9", "a: 0x", "a: 1e", "aa", "a: '")) else contextlib.nullcontext():
        source.parse(text, tmp_path)


def test_a_patch_that_explodes_in_kustomize_is_answered(tmp_path: Path) -> None:
    (tmp_path / "clusters").mkdir()
    lines = "".join(f"      a{number}: &a{number} [{', '.join([f'*a{number - 1}'] * 10)}]\n" for number in range(1, 9))
    patch = f"    apiVersion: v1\n    kind: ConfigMap\n    metadata: {{name: a}}\n    data:\n      a0: &a0 [x]\n{lines}"
    (tmp_path / "a.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\n", encoding="utf-8")
    (tmp_path / "kustomization.yaml").write_text(f"resources: [a.yaml]\npatches:\n- patch: |-\n{patch}", encoding="utf-8")
    status, document = report(tmp_path)
    assert status == 2
    assert document["problems"]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such limit")
def test_what_reads_hostile_files_has_a_bound_to_its_memory() -> None:
    command = [sys.executable, "-c", "print(len(bytearray(int(__import__('sys').argv[1]) << 30)))"]
    assert process.run([*command, "1"], hostile=True).strip() == str(1 << 30)
    with pytest.raises(GateError, match="MemoryError"):
        process.run([*command, "9"], hostile=True)


def test_children_see_nothing_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "HUSH")
    monkeypatch.setenv("HTTPS_PROXY", "http://HUSH")
    assert "HUSH" not in process.run([shutil.which("env") or "/usr/bin/env"], env=process.environment(), hostile=True)


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


HARMLESS = TRANSFORMER.replace(URL, "p.yaml")
PATCH = f'[{{"op": "replace", "path": "/path", "value": "{URL}"}}]'
MADE_BY_A_PATCH = f"resources: [t.yaml]\npatches: [{{target: {{kind: PatchTransformer}}, patch: '{PATCH}'}}]\n"


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
        {"kustomization.yaml": "transformers: [t.yaml]\n", "t.yaml": TRANSFORMER.replace(URL, f"{URL}?a=b")},
        {"kustomization.yaml": "transformers: [made]\n", "made/kustomization.yaml": "resources: [t.yaml]\n", "made/t.yaml": TRANSFORMER},
        {"kustomization.yaml": "transformers: [made]\n", "made/kustomization.yaml": MADE_BY_A_PATCH, "made/t.yaml": HARMLESS},
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


@pytest.mark.parametrize(
    "text", ["# /// script\n" * 60_000, "# /// script\n#\n" * 40_000 + "# ///x\n", "x = 1\n" * 200_000, "(" * 10_000, "x = " + "9" * 5000]
)
def test_large_scripts_are_answered(text: str, tmp_path: Path) -> None:
    with answered(), contextlib.suppress(GateError):
        scripts.judge(scripts.parse(text, tmp_path / "train.py"))


def test_the_first_metadata_that_ends_counts(tmp_path: Path) -> None:
    text = (
        "# /// script\n# broken\nx = 1\n# /// script\n# dependencies = ['tensorflow==2.15.1']\n#\n# ///\n# /// script\n# other = 1\n# ///\n"
    )
    assert str(scripts.parse(text, tmp_path / "train.py").packages["tensorflow"]) == "2.15.1"


def test_a_long_url_is_compared() -> None:
    with answered():
        assert applications.normalised("@" * 1_000_000) == "@" * 1_000_000
    assert applications.normalised("git@Example.com:a/b.git") == "git@example.com/a/b"
