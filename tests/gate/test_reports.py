"""Every format tells the same, and no value of a pull request gets out of its place in any of them.

One hostile repository is checked once; every test reads one format of that outcome, as its readers parse it.
"""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import re
import shutil
import urllib.parse
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from junitparser import JUnitXml
from markdown_it import MarkdownIt
from markdown_it.token import Token

from gate import check, evaluate, reports, rules
from gate.model import Outcome, Place
from gate.reports import github, html, markdown
from tests import sarif_schema
from tests.command import gate, report

NAME = (
    "</code></td></pre>]]><script>alert(1)</script>|[a](https://evil.example){0}@everyone #1 ``x`` %0A::set-output name=a::b ##[error]&lt;"
)
FOLDER = "a|<img src=x onerror=alert(1)>@team `b` ::error::,x:y%25"
CONTROLS = "\\e[31m\\u202e\\r\\u2028\\x85\\u200b\\U000e0041"
CLEAN = NAME.replace("##[", "�[")
FOREIGN = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u2028-\u202e\ud800-\udfff\U000e0000-\U000e007f]")

JOB = f"""apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: {json.dumps(NAME)[:-1]}{CONTROLS}"
  namespace: training
spec:
  runtimeRef: {{name: lost}}
  "{CONTROLS}x](https://evil.example) {{0}}": 1
"""
RUNTIME = """apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: r, labels: {trainer.kubeflow.org/framework: tensorflow}}
spec:
  mlPolicy: {numNodes: 2}
  template:
    spec:
      network: {publishNotReadyAddresses: false}
      replicatedJobs:
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec:
            backoffLimit: 3
            template: {spec: {containers: [{name: node, image: "registry.example/tf"}]}}
"""
WAIVERS = f"""waivers:
- rule: jobset/backoff-limit-zero
  scope: {{resource: ClusterTrainingRuntime/r, target: manifests}}
  owner: "@team <b>"
  reason: {json.dumps(NAME)}
  expires: "2999-12-31"
"""


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory, opa: evaluate.Evaluator) -> Outcome:
    root = tmp_path_factory.mktemp("repository")
    for name, text in {
        "clusters/README.md": "",
        f"manifests/{FOLDER}/job.yaml": JOB,
        "manifests/runtime.yaml": RUNTIME,
        "manifests/one-node.yaml": RUNTIME.replace("name: r,", "name: s,").replace("numNodes: 2", "numNodes: 1"),
        "policies/waivers.yaml": WAIVERS,
        f"broken {FOLDER}.yaml": "a: [1\n",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    wanted = check.targets(root, [root / "manifests", root / f"broken {FOLDER}.yaml"], None)
    found = check.check(root, wanted, evaluator=opa)
    assert {finding.severity for finding in found.findings} == {"error", "warning"}
    assert "schema/valid" in {finding.rule for finding in found.findings}
    assert [waived.finding.rule for waived in found.waived] == ["jobset/backoff-limit-zero"]
    assert found.status == 2
    return found


def plain(outcome: Outcome) -> Outcome:
    """The same without its problem and what is waived."""
    return dataclasses.replace(outcome, problems=[], waived=[])


@pytest.mark.parametrize("name", reports.formats())
def test_every_format_tells_findings_and_problems_without_control_characters(name: str, outcome: Outcome) -> None:
    text = reports.render(name, outcome)
    assert not FOREIGN.search(text)
    for finding in outcome.findings:
        assert finding.rule in text
    assert "is not valid YAML" in text


@pytest.mark.parametrize("name", reports.formats())
def test_every_format_holds_for_a_check_that_never_began(name: str, tmp_path: Path) -> None:
    result = gate("check", "--format", name, "--cluster", "nowhere", tmp_path)
    assert result.exit_code == 2
    assert "--cluster nowhere: no such cluster" in result.stdout


def test_sarif_fits_its_schema(outcome: Outcome) -> None:
    if not shutil.which("npm"):
        pytest.skip("npm is missing: the schema of SARIF comes from an npm package")
    for each in (outcome, plain(outcome)):
        errors = jsonschema.Draft4Validator(sarif_schema.load()).iter_errors(json.loads(reports.render("sarif", each)))
        assert [error.message for error in errors] == []


def test_sarif_has_rules_with_help_and_results_that_refer_to_them(outcome: Outcome) -> None:
    (run,) = json.loads(reports.render("sarif", outcome))["runs"]
    described = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in described] == list(rules.rules())
    for rule in described:
        known = rules.rules()[rule["id"]]
        for part in (known.description, known.fix, known.example):
            assert part in rule["help"]["text"] and part in rule["help"]["markdown"]
    for result in run["results"]:
        assert described[result["ruleIndex"]]["id"] == result["ruleId"]
        assert not re.search(r"\]\(|(?<!\{)\{\d", result["message"]["text"]), "no link and no placeholder"
    suppressed = {result["ruleId"]: result["suppressions"] for result in run["results"] if "suppressions" in result}
    assert list(suppressed) == ["jobset/backoff-limit-zero"]
    assert "until 2999-12-31 by @team <b>" in suppressed["jobset/backoff-limit-zero"][0]["justification"]
    (invocation,) = run["invocations"]
    assert (invocation["executionSuccessful"], invocation["exitCode"]) == (False, 2)
    assert len(invocation["toolExecutionNotifications"]) == 1
    uris = {result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in run["results"]}
    assert f"manifests/{FOLDER}/job.yaml" in {urllib.parse.unquote(uri) for uri in uris}
    assert all(re.fullmatch(r"[\w%./~-]+", uri) for uri in uris)


def test_junit_is_a_test_for_each_rule(outcome: Outcome) -> None:
    (suite,) = JUnitXml.fromstring(reports.render("junit", outcome).encode())
    cases = {case.name: case for case in suite}
    assert set(cases) == {*rules.rules(), f"could not be checked: broken {FOLDER}.yaml:2"}
    assert (suite.errors, suite.tests) == (1, len(cases))
    errors = {finding.rule for finding in outcome.findings if finding.severity == "error"}
    assert {name for name, case in cases.items() if case.is_failure} == errors
    (failure,) = cases["schema/valid"].result
    assert CLEAN in failure.text
    (skipped,) = cases["jobset/backoff-limit-zero"].result
    assert skipped.message.startswith("waived until 2999-12-31")
    assert cases["nodes/gang-fits"].is_skipped, "no cluster is known here"


COMMAND = re.compile(r"::(?P<name>error|warning|notice) (?P<properties>[^:]*)::(?P<data>.*)")


def unescape(text: str) -> str:
    """As a runner of GitHub reads a property."""
    for code, character in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(code, character)
    return text


def test_github_commands_are_one_line_each_and_errors_come_first(outcome: Outcome) -> None:
    *lines, verdict = reports.render("github", outcome).split("\n")
    commands = [COMMAND.fullmatch(line) for line in lines]
    assert all(commands)
    assert len(lines) == len(outcome.problems) + len(outcome.findings) + len(outcome.waived)
    assert verdict == reports.verdict(outcome)
    names = [command["name"] for command in commands if command]
    assert names == sorted(names, key=["error", "warning", "notice"].index)
    properties = [dict(pair.split("=", 1) for pair in command["properties"].split(",")) for command in commands if command]
    assert f"manifests/{FOLDER}/job.yaml" in {unescape(each["file"]) for each in properties}
    assert any(CLEAN in unescape(each["title"]) for each in properties)
    assert "##[" not in "\n".join(lines)


@given(st.text(st.characters(codec="utf-8"), max_size=60))
def test_github_data_and_properties_come_back_as_they_were(text: str) -> None:
    line = github._command("error", text, 1, text, [text])
    assert "\n" not in line and "\r" not in line
    command = COMMAND.fullmatch(line)
    assert command
    assert unescape(command["data"]) == reports.clean(text)
    assert unescape(command["properties"].rpartition("title=")[2]) == reports.clean(text) or not text


def test_gitlab_entries_keep_their_fingerprint_when_lines_move(outcome: Outcome) -> None:
    def entries(each: Outcome) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(reports.render("gitlab", each))
        return found

    before = entries(outcome)
    assert len(before) == len(outcome.problems) + len(outcome.findings)
    for entry in before:
        assert set(entry) == {"check_name", "description", "fingerprint", "severity", "location"}
        assert entry["severity"] in ("info", "minor", "major", "critical", "blocker")
        assert entry["location"]["path"] and entry["location"]["lines"]["begin"] >= 1
    assert len({entry["fingerprint"] for entry in before}) == len(before)
    moved = [dataclasses.replace(f, place=Place(file=f.place.file, line=f.place.line + 7)) for f in outcome.findings]
    assert [e["fingerprint"] for e in entries(dataclasses.replace(outcome, findings=moved))] == [e["fingerprint"] for e in before]
    twice = dataclasses.replace(outcome, findings=[*outcome.findings, *moved])
    assert len({entry["fingerprint"] for entry in entries(twice)}) == len(before) + len(outcome.findings)


def tokens(text: str) -> list[Token]:
    """As GitHub parses it: CommonMark with HTML."""
    flat: list[Token] = []
    for token in MarkdownIt("commonmark", {"html": True}).parse(text):
        flat += [token, *(token.children or [])]
    return flat


def test_markdown_holds_values_in_code_spans_only(outcome: Outcome) -> None:
    found = tokens(reports.render("markdown", outcome))
    assert not [token for token in found if token.type in ("link_open", "image", "html_inline", "fence", "code_block")]
    blocks = {line for token in found if token.type == "html_block" for line in token.content.splitlines()}
    assert all(re.fullmatch(r"</?details>(<summary>[\w :]+</summary>)?", block) for block in blocks)
    prose = " ".join(token.content for token in found if token.type == "text")
    for hostile in ("evil.example", "@everyone", "@team", "set-output", "<script>", "#1"):
        assert hostile not in prose
    spans = [token.content for token in found if token.type == "code_inline"]
    assert any(CLEAN in span for span in spans)


@given(st.text(st.characters(codec="utf-8"), max_size=60))
def test_a_code_span_holds_any_text(text: str) -> None:
    inner = [(token.type, token.content) for token in tokens(f"- x {markdown.code(text)} y") if token.type in ("text", "code_inline")]
    assert [kind for kind, _ in inner] == ["text", "code_inline", "text"]
    assert inner[1][1].strip() == reports.clean(text).strip()


def test_markdown_stops_before_nobody_reads_on(outcome: Outcome) -> None:
    many = dataclasses.replace(outcome, findings=list(outcome.findings) * 60)
    text = reports.render("markdown", many)
    assert text.count("#### ") == markdown.MOST
    assert f"… and {len(many.findings) - markdown.MOST} more" in text


class Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.style = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1][0] == "style" and not self.style:
            self.style = data
        self.text += data


def test_html_is_one_page_without_scripts_in_which_values_are_text(outcome: Outcome) -> None:
    page = Page(reports.render("html", outcome))
    assert {tag for tag, _ in page.tags} <= {
        *("html", "head", "meta", "title", "style", "body", "h1", "h2", "h3", "p", "code", "pre", "b", "span", "article", "details"),
        *("summary", "a", "table", "tr", "td"),
    }
    attributes = {name for _, given_ in page.tags for name in given_}
    assert attributes <= {"lang", "charset", "http-equiv", "content", "name", "class", "href", "rel"}
    known = {url for rule in rules.rules().values() for url, _ in rule.references}
    assert {given_["href"] for tag, given_ in page.tags if tag == "a"} <= known
    (policy,) = [given_["content"] or "" for tag, given_ in page.tags if given_.get("http-equiv") == "Content-Security-Policy"]
    digest = base64.b64encode(hashlib.sha256(page.style.encode()).digest()).decode()
    assert policy.startswith(f"default-src 'none'; style-src 'sha256-{digest}'")
    assert CLEAN in page.text and FOLDER in page.text
    assert "color-scheme: light dark" in page.style
    assert html.render(plain(outcome)).count("<article") == len(outcome.findings)


def test_several_reports_come_from_one_check(tmp_path: Path) -> None:
    (tmp_path / "clusters").mkdir()
    (tmp_path / "a.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\n", encoding="utf-8")
    words = ["--format", "sarif", "--output", tmp_path / "x.sarif", "--format", "html", "--output", tmp_path / "x.html"]
    result = gate("check", *words, "--format", "github", tmp_path / "a.yaml")
    assert result.exit_code == 0
    assert result.stdout.startswith("PASSED: nothing found; 1 target, 1 object")
    assert json.loads((tmp_path / "x.sarif").read_text(encoding="utf-8"))["version"] == "2.1.0"
    assert (tmp_path / "x.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.yaml", "clusters", "x.html", "x.sarif"], "nothing is left beside them"
    refused = gate("check", "--format", "sarif", "--format", "html", tmp_path / "a.yaml")
    assert refused.exit_code == 2
    assert "each --format takes one --output" in refused.stderr


def test_an_output_is_whole_or_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "clusters").mkdir()
    (tmp_path / "a.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\n", encoding="utf-8")
    output = tmp_path / "report"
    output.write_text("before", encoding="utf-8")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    result = gate("check", "--output", output, tmp_path / "a.yaml")
    assert result.exit_code == 2
    assert "--output: cannot be written: No space left on device" in result.stderr
    assert output.read_text(encoding="utf-8") == "before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.yaml", "clusters", "report"]


def test_runs_stand_with_their_cluster() -> None:
    targets = ["clusters/a", "clusters/a/runs/one", "clusters/a/runs/two", "clusters/b/runs/one", "overlays/c"]
    assert reports.reached(targets) == ["clusters/a (runs: one, two)", "clusters/b/runs/one", "overlays/c"]


def test_a_long_value_does_not_hide_what_is_wrong_with_it(tmp_path: Path) -> None:
    values = "x" * 5000, "y " * 2500
    texts = [RUNTIME.replace("registry.example/tf", f"registry.example/{value}:latest") for value in values]
    (tmp_path / "a.yaml").write_text("---\n".join(texts), encoding="utf-8")
    _, document = report(tmp_path / "a.yaml")
    messages = [finding["message"] for finding in document["findings"] if finding["rule"] == "images/pinned"]
    assert len(messages) == len(values)
    for message in messages:
        assert len(message) <= 1000
        assert message.startswith("image registry.example/") and message.endswith(
            "pods that start at different times may run different code"
        )
