"""Which script the workers of a run start, and whether anything tells them of one another."""

from __future__ import annotations

from pathlib import Path

import pytest

from gate import check
from gate.evaluate import Evaluator
from tests.edit import edited

KUEUE = Path(__file__).resolve().parent.parent / "rules" / "valid" / "kueue.yaml"
TRAINS = "import tensorflow as tf\n\nstrategy = tf.distribute.MultiWorkerMirroredStrategy()"
TFRUN = "command: [python3, /opt/tfrun/tfrun.py, python3, /opt/app/songs.py]"
ALONE = "2 workers start the script and nothing tells them TF_CONFIG: each trains alone"


def found(
    folder: Path, opa: Evaluator, command: str, *edits: dict[str, str], script: str = TRAINS, rule: str = "script/told-its-cluster"
) -> list[str]:
    """What a rule says of a run of the script, whose pods start it by the command."""
    body = script.strip().replace("\n", "\n    ")
    text = edited(KUEUE.read_text(encoding="utf-8"), [{"replace": 'print("trains")', "with": body}, {"replace": TFRUN, "with": command}])
    file = folder / "run.yaml"
    file.write_text(edited(text, edits), encoding="utf-8")
    outcome = check.check(folder, check.targets(folder, [file], None), evaluator=opa)
    assert outcome.problems == []
    return [finding.message for finding in outcome.findings if finding.rule == rule]


@pytest.mark.parametrize(
    "command",
    [
        "command: [python3, /opt/app/songs.py]",
        "command: [/usr/bin/python3.11, -u, /opt/app/songs.py]\n                  args: [--epochs, '3']",
        "command: [bash, -c, 'exec python3 /opt/app/songs.py --epochs $EPOCHS']",
    ],
)
def test_python_alone(command: str, tmp_path: Path, opa: Evaluator) -> None:
    assert found(tmp_path, opa, command) == [ALONE]


@pytest.mark.parametrize(
    "command",
    [
        TFRUN,
        "command: [/opt/launch, python3, /opt/app/songs.py]",
        "command: [sh, -c, 'TF_CONFIG=$(cat /etc/place) python3 /opt/app/songs.py']",
        "command: [sh, -c, '. /opt/place; python3 /opt/app/songs.py']",
        "command: [python3, /opt/app/other.py]",
        "command: [python3, -m, songs]",
        "args: [python3, /opt/app/songs.py]",
    ],
)
def test_something_else_comes_first(command: str, tmp_path: Path, opa: Evaluator) -> None:
    assert found(tmp_path, opa, command) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{name: CHECKPOINT_DIR, ", "{name: TF_CONFIG, valueFrom: {secretKeyRef: {name: place, key: all}}}\n    - {name: CHECKPOINT_DIR, "),
        ("                  env:\n", "                  envFrom: [{secretRef: {name: place, optional: true}}]\n                  env:\n"),
        ("{key: songs.py, path: songs.py}", "{key: songs.py, path: sounds.py}"),
    ],
)
def test_the_environment_or_another_place(before: str, after: str, tmp_path: Path, opa: Evaluator) -> None:
    assert found(tmp_path, opa, "command: [python3, /opt/app/songs.py]", {"replace": before, "with": after}) == []


def test_one_worker(tmp_path: Path, opa: Evaluator) -> None:
    one = {"replace": "numNodes: 2", "with": "numNodes: 1"}
    assert found(tmp_path, opa, "command: [python3, /opt/app/songs.py]", one) == []
