"""What Kubeflow's SDK, at work in the lab, makes of runtimes without their label."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gate.evaluate import Evaluator
from tests.conftest import ROOT
from tests.lab.conftest import present
from tests.lab.live import Cluster, Manifest, Namespace, deployed, trainjob
from tests.lab.test_nodes import judged

pytestmark = [pytest.mark.lab, pytest.mark.long]  # it fetches the SDK
FRAMEWORK = "trainer.kubeflow.org/framework"
ASKED = """
import json, sys
from kubeflow.trainer import KubernetesBackendConfig, TrainerClient

def told(question):
    try:
        return question()
    except Exception as error:
        return f"{type(error).__name__}: {error}: {error.__cause__!r}"

client = TrainerClient(KubernetesBackendConfig(config_file=sys.argv[1], namespace=sys.argv[2]))
print(json.dumps({
    "runtimes": told(lambda: {each.name: each.trainer.framework for each in client.list_runtimes()}),
    "runtime": told(lambda: client.get_runtime(sys.argv[3]).name),
    "jobs": told(lambda: [each.name for each in client.list_jobs()]),
}))
"""


def asked(cluster: Cluster, namespace: str, runtime: str) -> dict[str, Any]:
    """What the SDK's list_runtimes, get_runtime and list_jobs say."""
    uv = Path(sys.executable).parent / "uv"
    words = [uv, "run", "--quiet", "--no-project", "--isolated", f"--python={sys.executable}"]
    words += [f"--with-requirements={ROOT / 'tests/lab/sdk.lock'}", "python", "-c", ASKED]
    done = subprocess.run([*words, cluster.lab.kubeconfig, namespace, runtime], stdout=subprocess.PIPE, text=True, check=True, timeout=600)
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def test_a_runtime_without_its_label_is_left_out_and_takes_the_list_of_runs_with_it(
    namespace: Namespace, tmp_path: Path, opa: Evaluator
) -> None:
    (labelled,) = (each for each in deployed("lab/runtimes") if each["metadata"]["name"] == "tensorflow-distributed")
    bare = copied(labelled, f"{namespace.name}-bare")
    del bare["metadata"]["labels"][FRAMEWORK]
    code, run = trainjob("bare", "", workers=1, runtime=bare["metadata"]["name"])
    for each in (code, run):
        each["metadata"]["namespace"] = namespace.name
    twin = copied(labelled, bare["metadata"]["name"])
    sound, fault = (judged([code, run, each], tmp_path / f"{i}.yaml", opa) for i, each in enumerate((twin, bare)))
    assert fault - sound == {("trainer/framework-label", "warning")}
    with present(namespace.cluster, bare):
        said = asked(namespace.cluster, namespace.name, bare["metadata"]["name"])
        assert said["runtimes"]["tensorflow-distributed"] == "tensorflow"
        assert bare["metadata"]["name"] not in said["runtimes"]
        assert FRAMEWORK in said["runtime"]
        assert said["jobs"] == []
        namespace.apply(code, run)
        assert "Failed to list TrainJobs" in asked(namespace.cluster, namespace.name, bare["metadata"]["name"])["jobs"]


def test_a_labelled_runtime_without_mlpolicy_takes_the_list_of_runtimes_with_it(
    namespace: Namespace, tmp_path: Path, opa: Evaluator
) -> None:
    (labelled,) = (each for each in deployed("lab/runtimes") if each["metadata"]["name"] == "tensorflow-distributed")
    whole, without = (copied(labelled, f"{namespace.name}-without") for _ in range(2))
    del without["spec"]["mlPolicy"]
    sound, fault = (judged([each], tmp_path / f"{i}.yaml", opa) for i, each in enumerate((whole, without)))
    assert ("trainer/framework-label", "info") in fault - sound
    with present(namespace.cluster, without):
        assert isinstance(asked(namespace.cluster, namespace.name, "tensorflow-distributed")["runtimes"], str)
    assert "tensorflow-distributed" in asked(namespace.cluster, namespace.name, "tensorflow-distributed")["runtimes"]


def copied(runtime: Manifest, name: str) -> Manifest:
    found = copy.deepcopy(runtime)
    found["metadata"]["name"] = name
    return found
