"""Waivers: what they hide, what they never hide, and how they end."""

from __future__ import annotations

import datetime
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from gate import check, evaluate, reports, rules, waivers
from gate.model import GateError
from tests.command import gate, report
from tests.edit import edit_file

RUNTIME = "base/runtime/runtime.yaml"
RULE = "jobset/publish-not-ready-addresses"
TODAY = datetime.datetime.now(datetime.UTC).date()


def waiver(**fields: object) -> dict[str, object]:
    known: dict[str, object] = {
        "rule": RULE,
        "scope": {"file": RUNTIME},
        "owner": "ml-platform",
        "reason": "known and harmless here",
        "expires": str(TODAY + datetime.timedelta(days=1)),
    }
    return {key: value for key, value in {**known, **fields}.items() if value is not None}


def write(estate: Path, *entries: object) -> None:
    (estate / "policies").mkdir(exist_ok=True)
    (estate / "policies/waivers.yaml").write_text(yaml.safe_dump({"waivers": list(entries)}, sort_keys=False), encoding="utf-8")


def judged(opa: evaluate.Evaluator, estate: Path, *targets: str) -> tuple[int, dict[str, Any]]:
    """Status and report of a check of targets in the estate."""
    outcome = check.check(estate, check.targets(estate, [estate / target for target in targets], None), evaluator=opa)
    document: dict[str, Any] = json.loads(reports.render("json", outcome))
    return outcome.status, document


@pytest.fixture
def refused(estate: Path) -> Path:
    """An estate with one fault in the base, which reaches everything."""
    edit_file(estate / RUNTIME, {"replace": "publishNotReadyAddresses: true", "with": "publishNotReadyAddresses: false"})
    return estate


@pytest.mark.parametrize(
    "scope",
    [
        {"file": RUNTIME},
        {"target": "overlays/no-ib-kueue"},
        {"file": RUNTIME, "target": "overlays/no-ib-kueue", "resource": "ClusterTrainingRuntime/tensorflow-distributed"},
    ],
)
def test_a_waived_finding_does_not_count_and_is_shown(scope: dict[str, str], refused: Path, opa: evaluate.Evaluator) -> None:
    write(refused, waiver(scope=scope))
    status, document = judged(opa, refused, "overlays/no-ib-kueue")
    assert (status, document["findings"]) == (0, [])
    assert document["summary"].items() >= {"errors": 0, "waived": 1}.items()
    (waived,) = document["waived"]
    assert (waived["rule"], waived["file"], waived["waiver"]["owner"]) == (RULE, RUNTIME, "ml-platform")
    text = gate("check", refused / "overlays/no-ib-kueue").stdout
    assert "known and harmless here" in text
    assert "PASSED: nothing found (1 waived);" in text


@pytest.mark.parametrize(
    "changed",
    [
        {"rule": "jobset/backoff-limit-zero"},
        {"scope": {"file": "base"}},
        {"scope": {"target": "overlays"}},
        {"scope": {"target": "overlays/no-ib"}},
        {"scope": {"target": "overlays/ib-kueue"}},
        {"scope": {"file": RUNTIME, "target": "clusters/lab"}},
        {"scope": {"file": RUNTIME, "resource": "ClusterTrainingRuntime/other"}},
    ],
)
def test_a_waiver_hides_nothing_beside_its_scope(changed: dict[str, object], refused: Path, opa: evaluate.Evaluator) -> None:
    write(refused, waiver(**changed))
    status, document = judged(opa, refused, "overlays/no-ib-kueue")
    assert (status, document["summary"]["waived"]) == (1, 0)


def test_a_fault_that_is_waived_for_one_target_counts_in_the_others(refused: Path, opa: evaluate.Evaluator) -> None:
    write(refused, waiver(scope={"target": "clusters/lab"}))
    status, document = judged(opa, refused, "clusters/lab", "overlays/no-ib-kueue")
    assert status == 1
    (finding,) = [each for each in document["findings"] if each["rule"] == RULE and each["resource"]["name"] == "tensorflow-distributed"]
    assert finding["targets"] == ["overlays/no-ib-kueue"]
    assert document["waived"]
    assert all(target.startswith("clusters/lab") for each in document["waived"] for target in each["targets"])


def test_a_waiver_of_a_cluster_holds_for_its_runs(estate: Path, opa: evaluate.Evaluator) -> None:
    job = estate / "clusters/lab/runs/reference-kueue/trainjob.yaml"
    job.write_text(job.read_text(encoding="utf-8").replace("kueue.x-k8s.io/queue-name: training", "a: b"), encoding="utf-8")
    write(estate, waiver(rule="queue/kueue-label", scope={"target": "clusters/lab"}))
    _, document = judged(opa, estate, "clusters/lab/runs/reference-kueue")
    assert "queue/kueue-label" in {each["rule"] for each in document["waived"]}
    assert "queue/kueue-label" not in {each["rule"] for each in document["findings"]}


def test_a_waiver_holds_until_the_end_of_its_last_day(refused: Path, opa: evaluate.Evaluator) -> None:
    write(refused, waiver(expires=str(TODAY)))
    assert judged(opa, refused, "overlays/no-ib-kueue")[0] == 0


def test_an_expired_waiver_is_an_error_wherever_it_holds(refused: Path, opa: evaluate.Evaluator) -> None:
    write(refused, waiver(), waiver(scope={"target": "clusters/lab"}, expires=str(TODAY - datetime.timedelta(days=1))))
    status, document = judged(opa, refused, "overlays/no-ib-kueue")
    (finding,) = document["findings"]
    assert (status, finding["rule"], finding["severity"]) == (1, "waivers/not-expired", "error")
    assert (finding["file"], finding["line"]) == ("policies/waivers.yaml", 8)


def test_an_expired_waiver_no_longer_hides(refused: Path, opa: evaluate.Evaluator) -> None:
    write(refused, waiver(expires="2020-02-29"))
    status, document = judged(opa, refused, "overlays/no-ib-kueue")
    assert status == 1
    assert {each["rule"] for each in document["findings"]} == {RULE, "waivers/not-expired"}
    assert document["summary"]["waived"] == 0


def test_an_unused_waiver_is_told_by_a_check_of_everything(estate: Path, monkeypatch: pytest.MonkeyPatch, opa: evaluate.Evaluator) -> None:
    write(estate, waiver())
    assert judged(opa, estate, "overlays/no-ib-kueue")[1]["findings"] == [], "a part cannot tell whether another needs it"
    monkeypatch.chdir(estate)
    status, document = report()
    (finding,) = document["findings"]
    assert (status, finding["rule"], finding["severity"], finding["line"]) == (0, "waivers/used", "warning", 2)


MALFORMED = {
    "no owner": (waiver(owner=None), 2, "waivers[1]: 'owner' is missing"),
    "an empty reason": (waiver(reason=" "), 6, 'waivers[1].reason: " " is not as it must be: a reason that a reviewer understands'),
    "no scope": (waiver(scope={}), 3, "waivers[1].scope: {} is not as it must be: where the waiver holds: a file or a target"),
    "an object alone": (waiver(scope={"resource": "Job/a"}), 3, "a file or a target, or both"),
    "a wildcard": (waiver(scope={"file": "overlays/*"}), 4, "without wildcards"),
    "a way out": (waiver(scope={"file": "a/../b"}), 4, "without . and .."),
    "an unknown field": (waiver(until="2030-01-01"), 2, "'until' was unexpected"),
    "an unknown rule": (
        waiver(rule="jobset/backoff-limit-null"),
        2,
        "there is no rule jobset/backoff-limit-null; did you mean jobset/backoff-limit-zero?",
    ),
    "a rule that leaves its target unjudged": (
        waiver(rule="kustomize/no-remote-resources"),
        2,
        "kustomize/no-remote-resources cannot be waived",
    ),
    "a rule about waivers": (waiver(rule="waivers/not-expired"), 2, "waivers/not-expired cannot be waived"),
    "no date": (waiver(expires="soon"), 7, "YYYY-MM-DD"),
    "a day that is none": (waiver(expires="2027-02-30"), 7, "expires: there is no day 2027-02-30"),
    "a number": (waiver(owner=3), 5, "3 is not a string (quote it)"),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_waiver_is_told_at_its_line(name: str, tmp_path: Path) -> None:
    entry, line, message = MALFORMED[name]
    write(tmp_path, waiver(), entry)
    with pytest.raises(GateError, match=re.escape(message)) as told:
        waivers.load(tmp_path, rules.rules())
    assert (told.value.file, told.value.line) == (tmp_path / waivers.FILE, line + 6)


def test_a_malformed_waiver_is_a_problem_and_none_holds(refused: Path, opa: evaluate.Evaluator) -> None:
    write(refused, waiver(), waiver(owner=None))
    status, document = judged(opa, refused, "overlays/no-ib-kueue")
    (problem,) = document["problems"]
    assert (status, problem["file"], problem["line"]) == (2, "policies/waivers.yaml", 8)
    assert [each["rule"] for each in document["findings"]] == [RULE]


@pytest.mark.parametrize("text", ["", "waivers: {}\n", "- rule: x\n", "waivers: [\n"])
def test_a_file_of_another_shape_is_malformed(text: str, tmp_path: Path) -> None:
    (tmp_path / "policies").mkdir()
    (tmp_path / waivers.FILE).write_text(text, encoding="utf-8")
    with pytest.raises(GateError) as told:
        waivers.load(tmp_path, rules.rules())
    assert told.value.file == tmp_path / waivers.FILE


def test_a_waiver_never_hides_what_could_not_be_checked(refused: Path, opa: evaluate.Evaluator) -> None:
    write(refused, waiver(scope={"target": "overlays/no-ib-kueue"}))
    edit_file(refused / "overlays/no-ib-kueue/kustomization.yaml", {"replace": "resources:\n", "with": "resources:\n- lost.yaml\n"})
    status, document = judged(opa, refused, "overlays/no-ib-kueue")
    assert status == 2
    assert "lost.yaml does not exist" in document["problems"][0]["message"]


def test_rules_say_that_they_cannot_be_waived() -> None:
    assert {rule.id for rule in rules.rules().values() if not rule.waivable} == {
        "kustomize/no-plugins",
        "kustomize/no-remote-resources",
        "schema/valid",
        "waivers/not-expired",
        "waivers/used",
    }
    assert "Cannot be waived." in gate("explain", "schema/valid").stdout
