"""What the API server asks of an object beyond the shape that a schema describes; the lab shows that it is asked there too."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
import yaml

from gate import source
from gate.model import GateError
from tests.command import report

CONFIG = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "b"}}
SECRET = {**CONFIG, "kind": "Secret"}
POD = {"containers": [{"name": "node", "image": "registry.example/a@sha256:" + "0" * 64}], "restartPolicy": "Never"}
JOB = {**CONFIG, "apiVersion": "batch/v1", "kind": "Job", "spec": {"template": {"spec": POD}}}
POD_AT = ("spec", "template", "spec")
POLICY = {**CONFIG, "apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy"}
CLAIM = {
    **CONFIG,
    "kind": "PersistentVolumeClaim",
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}
CLASS = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "WorkloadPriorityClass", "metadata": {"name": "a"}, "value": 1}
RUN = {**CONFIG, "apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob"}
FLAVOR = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": "a"}}


def having(value: Any, *path: str, to: Any) -> Any:
    """A copy of an object with one field set."""
    if not path:
        return to
    return {**value, path[0]: having(value.get(path[0], {}), *path[1:], to=to)}


def container(**fields: Any) -> dict[str, Any]:
    """A pod whose container has these fields as well."""
    return {**POD, "containers": [{**POD["containers"][0], **fields}]}


def named(kind: str, name: str, api: str = "v1") -> dict[str, Any]:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name}}


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "int32": (having(JOB, "spec", "backoffLimit", to=2**31), "spec.backoffLimit is 2147483648, which no int32 holds"),
    "int32 below": (having(JOB, "spec", "backoffLimit", to=-(2**31) - 1), "which no int32 holds"),
    "int64": (having(JOB, "spec", "activeDeadlineSeconds", to=2**63), "spec.activeDeadlineSeconds is 9223372036854775808"),
    "int32 of a CRD": (having(CLASS, "value", to=2**31), "value is 2147483648, which no int32 holds"),
    "a port by number": (
        having(JOB, "spec", "template", "spec", "containers", to=[{**POD["containers"][0], "readinessProbe": {"tcpSocket": {"port": 2**31}}}]),
        "which no int32 holds",
    ),
    "base64 of a Secret": (having(SECRET, "data", "password", to="no base64!"), "data.password is not base64"),
    "base64 without its end": (having(SECRET, "data", "password", to="aGVsbG8"), "data.password is not base64"),
    "base64 of a ConfigMap": (having(CONFIG, "binaryData", "blob", to="a"), "binaryData.blob is not base64"),
    "a controller's file": (
        {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration", "manageJobsWithoutQueueName": False},
        "config.kueue.x-k8s.io/v1beta2 Configuration is a file that a controller reads",
    ),
    "no name": (having(CONFIG, "metadata", to={"namespace": "b"}), "metadata.name is required"),
    "generateName": (having(CONFIG, "metadata", to={"generateName": "a-", "namespace": "b"}), "every sync would make another object"),
    "a name with upper case": (having(CONFIG, "metadata", "name", to="Settings"), "Settings cannot be the name of a ConfigMap"),
    "a name with an underscore": (named("ResourceFlavor", "a_b", FLAVOR["apiVersion"]), "a_b cannot be the name of a ResourceFlavor"),
    "a name that ends in a line": (having(CONFIG, "metadata", "name", to="a\n"), "cannot be the name of a ConfigMap"),
    "a name that is too long": (having(CONFIG, "metadata", "name", to="a" * 254), "cannot be the name of a ConfigMap"),
    "a namespace with a dot": (named("Namespace", "a.b"), "a.b cannot be the name of a Namespace"),
    "a service that begins with a digit": (CONFIG | {"kind": "Service", "metadata": {"name": "1a", "namespace": "b"}, "spec": {"clusterIP": "None"}}, "1a cannot be the name"),
    "a name that is a path": (named("ClusterRole", "a/b", "rbac.authorization.k8s.io/v1"), "a/b cannot be the name of a ClusterRole"),
    "another's namespace": (having(CONFIG, "metadata", "namespace", to="B"), "B cannot be the name of a namespace"),
    "a label's value": (having(CONFIG, "metadata", "labels", "app", to="no spaces"), 'metadata.labels.app is no spaces'),
    "a long label's value": (having(CONFIG, "metadata", "labels", "app", to="a" * 64), "which no label may have as its value"),
    "a label's key": (having(CONFIG, "metadata", "labels", "a/b/c", to="x"), "a/b/c in metadata.labels is no key of a label"),
    "a label's domain": (having(CONFIG, "metadata", "labels", "Example.com/b", to="x"), "is no key of a label"),
    "a label in a template": (having(JOB, "spec", "template", "metadata", "labels", "a", to="-b"), "spec.template.metadata.labels.a is -b"),
    "a selector": (having(JOB, "spec", "template", "spec", "nodeSelector", "a b", to="c"), "nodeSelector is no key of a label"),
    "an annotation's key": (having(CONFIG, "metadata", "annotations", "a b", to="x"), "a b in metadata.annotations is no key of an annotation"),
    "annotations that are too large": (having(CONFIG, "metadata", "annotations", "a", to="x" * 2**18), "holds 262145 bytes, more than 262144"),
    "a key of a ConfigMap": (having(CONFIG, "data", "a/b", to="x"), "a/b is no key that a ConfigMap can have"),
    "a key of two dots": (having(CONFIG, "data", "..", to="x"), ".. is no key that a ConfigMap can have"),
    "a key twice": ({**CONFIG, "data": {"a": "x"}, "binaryData": {"a": "eA=="}}, "a stands in data as well"),
    "a ConfigMap that is too large": (having(CONFIG, "data", "a", to="x" * (2**20 + 1)), "holds 1048577 bytes, more than 1048576"),
    "a TrainJob without spec": (RUN, "spec is required"),
    "a queue of Volcano without spec": (named("Queue", "a", "scheduling.volcano.sh/v1beta1"), "spec is required"),
    "a JobSet without pods": (having({**RUN, "apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet"}, "spec", to={
        "replicatedJobs": [{"name": "node", "template": {}}]}), "spec.replicatedJobs[0].template.spec is required"),
    "an image's pull policy": (having(JOB, *POD_AT, to=container(imagePullPolicy="Sometimes")), "imagePullPolicy is Sometimes, which is not allowed"),
    "a port of a container": (having(JOB, *POD_AT, to=container(ports=[{"containerPort": 70000}])), "70000 is greater than the maximum of 65535"),
    "two sources of a variable": (
        having(JOB, *POD_AT, to=container(env=[{"name": "A", "value": "b", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}])),
        "a variable has a value or a valueFrom"),
    "a field of no pod": (
        having(JOB, *POD_AT, to=container(env=[{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels"}}}])),
        "env[0].valueFrom.fieldRef.fieldPath is metadata.labels, which is not metadata.name,"),
    "a negative amount": (having(JOB, *POD_AT, to=container(resources={"limits": {"memory": "-1Gi"}})), "is -1Gi, which is not an amount of 0 or more"),
    "a resource that nobody has": (having(JOB, *POD_AT, to=container(resources={"limits": {"gpu": 1}})), "has a domain and '/' before its name"),
    "a mount of no volume": (
        having(JOB, *POD_AT, to=container(volumeMounts=[{"name": "a", "mountPath": "/a"}])), "a volumeMount names no volume of the pod"),
    "a Job that restarts its pods": (having(JOB, "spec", "template", "spec", "restartPolicy", to="Always"), "restartPolicy is Always, which is not allowed"),
    "an amount below 0 of a Job": (having(JOB, "spec", "backoffLimit", to=-1), "spec.backoffLimit: -1 is less than the minimum of 0"),
    "a toleration of everything for a key": (
        having(JOB, "spec", "template", "spec", "tolerations", to=[{"key": "a", "operator": "Exists", "value": "b"}]), "the operator Exists takes no value"),
    "a network": (having(POLICY, "spec", to={"podSelector": {}, "egress": [{"to": [{"ipBlock": {"cidr": "10.0.0.0"}}]}]}), "is not a network as"),
    "ports from above to below": (
        having(POLICY, "spec", to={"podSelector": {}, "egress": [{"ports": [{"port": 90, "endPort": 80}]}]}), "endPort stands with a port"),
    "a claim of nothing": (
        having(CLAIM, "spec", "resources", to={"requests": {"storage": 0}}), "spec.resources.requests.storage: 0 is less than or equal to the minimum of 0"),
    "a mode of access": (having(CLAIM, "spec", "accessModes", to=["ReadWriteAll"]), "accessModes[0] is ReadWriteAll, which is not allowed"),
    "a CEL rule that misses its field": (having(FLAVOR, "spec", "topologyName", to="racks"), "(there is no 'nodeLabels')"),
}  # fmt: skip
# Properties of an OpenAPI schema whose names mean something elsewhere.
FIELDS = {
    "levels": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
    "nodeSelector": {"type": "string", "description": "no label: a text"},
}
DEFINITION = {
    **named("CustomResourceDefinition", "racks.example.com", "apiextensions.k8s.io/v1"),
    "spec": {
        "group": "example.com",
        "scope": "Cluster",
        "names": {"kind": "Rack", "plural": "racks"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object", "properties": FIELDS}}}},
            }
        ],
    },
}

PASSED: dict[str, dict[str, Any]] = {
    "what a CustomResourceDefinition says of others": DEFINITION,
    "empty texts": having(JOB, *POD_AT, to=container(imagePullPolicy="", ports=[{"containerPort": 1, "protocol": "", "name": ""}])),
    "a relative mount": having(JOB, *POD_AT, to={
        **container(volumeMounts=[{"name": "a", "mountPath": "a", "subPath": "..a/b"}]), "volumes": [{"name": "a"}]}),
    "a grace period below 0": having(JOB, "spec", "template", "spec", "terminationGracePeriodSeconds", to=-1),
    "a toleration of everything": having(JOB, "spec", "template", "spec", "tolerations", to=[{"operator": "Exists"}]),
    "networks": having(POLICY, "spec", to={"podSelector": {}, "egress": [{"to": [{"ipBlock": {"cidr": each}}]} for each in (
        "10.0.0.1/8", "010.0.0.0/8", "2001:db8::/64", "::ffff:10.0.0.0/104")]}),
    "a port by its name": having(POLICY, "spec", to={"podSelector": {}, "egress": [{"ports": [{"port": "a-b"}, {"port": 80, "endPort": 80}, {}]}]}),
    "an Indexed Job of one pod": having(JOB, "spec", "completionMode", to="Indexed"),
    "a headless Service": CONFIG | {"kind": "Service", "spec": {"clusterIP": "None", "selector": {"a": "b"}}},
    "int32": having(JOB, "spec", "activeDeadlineSeconds", to=2**31),
    "a whole number with a point": having(JOB, "spec", "backoffLimit", to=1.0),
    "base64 on several lines": having(SECRET, "data", "a", to="aGVs\nbG8=\n"),
    "no base64 where none is asked for": having(SECRET, "stringData", "a", to="no base64!"),
    "a name with dots": having(CONFIG, "metadata", "name", to="a.b-1"),
    "a role with a colon": named("ClusterRole", "system:reader", "rbac.authorization.k8s.io/v1"),
    "generateName of a hook": having(CONFIG, "metadata", to={
        "generateName": "a-", "namespace": "b", "annotations": {"argocd.argoproj.io/hook": "PreSync"}}),
    "labels": having(CONFIG, "metadata", "labels", to={"app.kubernetes.io/Name_x.y": "A_b.c-1", "empty": ""}),
    "annotations": having(CONFIG, "metadata", "annotations", to={"Example.com/Any_thing": "any text\nat all", "plain": ""}),
    "keys": having(CONFIG, "data", to={"a.B_c-d": "x", ".hidden": "x"}),
    "defaulted": {**named("RoleBinding", "a", "rbac.authorization.k8s.io/v1"),
                  "metadata": {"name": "a", "namespace": "b"}, "roleRef": {"kind": "Role", "name": "c"}},
    "a flavor for a topology": having(FLAVOR, "spec", to={"topologyName": "racks", "nodeLabels": {"a": "b"}}),
}  # fmt: skip


def judged(manifest: Any, folder: Path) -> list[dict[str, Any]]:
    (folder / "clusters").mkdir()
    file = folder / "a.yaml"
    file.write_text(yaml.safe_dump(manifest), encoding="utf-8")
    _, document = report(file)
    assert document["problems"] == []
    return [finding for finding in document["findings"] if finding["rule"] in ("schema/valid", "schema/cel")]


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_api_server_takes_is_refused(name: str, tmp_path: Path) -> None:
    manifest, message = REFUSED[name]
    (finding,) = judged(manifest, tmp_path)
    assert finding["severity"] == "error"
    assert message in finding["message"]


@pytest.mark.parametrize("name", PASSED)
def test_what_it_takes_is_passed(name: str, tmp_path: Path) -> None:
    assert judged(PASSED[name], tmp_path) == []


def test_the_value_of_a_secret_is_not_shown(tmp_path: Path) -> None:
    (finding,) = judged(having(SECRET, "data", "password", to="TOPSECRET!"), tmp_path)
    assert "TOPSECRET" not in str(finding)


PLAIN = {
    "y": True, "N": False, "on": True, "OFF": False, "yes": True, "tRUE": "tRUE", "~": None, "Null": None,
    "017": 15, "0o17": 15, "08": 8, "0x1F": 31, "0b11": 3, "-0x1": -1, "1_000": 1000, "+1": 1,
    "190:20:30": "190:20:30", "2024-01-01": "2024-01-01", "1e3": 1000, "1.0": 1, "1.5": 1.5, ".5": 0.5, "1e309": "1e309",
    "0x10000000000000000": "0x10000000000000000", "=": "=", "1.2.3": "1.2.3", "_1": "_1", "<<": "<<",
}  # fmt: skip


@pytest.mark.parametrize("text", PLAIN)
def test_a_scalar_is_read_as_the_api_server_reads_it(text: str) -> None:
    (document,) = source.parse(f"a: {text}\n", Path("a.yaml"))
    assert document["a"] == PLAIN[text]
    assert type(document["a"]) is type(PLAIN[text])


def test_keys_are_strings_as_the_api_server_reads_them() -> None:
    (document,) = source.parse("{y: a, 1: b, 0x10: c, 1.5: d}\n", Path("a.yaml"))
    assert document == {"true": "a", "1": "b", "16": "c", "1.5": "d"}


@pytest.mark.parametrize(
    "text", ["{~: a}", "!!int x", "!!float ''", "!!null x", "!!bool 3", "!!binary '%'", "!unknown x", ".inf", "!!set {a}"]
)
def test_a_scalar_that_is_not_what_it_says_is_told(text: str) -> None:
    with pytest.raises(GateError, match="is not valid YAML"):
        source.parse(f"a: {text}\n", Path("a.yaml"))


def test_a_script_that_is_not_utf8_is_not_left_unjudged(tmp_path: Path) -> None:
    (tmp_path / "clusters").mkdir()
    (tmp_path / "train.py").write_bytes(b"# caf\xe9\nimport tensorflow\n")
    (tmp_path / "kustomization.yaml").write_text("configMapGenerator: [{name: a, namespace: b, files: [train.py]}]\n", encoding="utf-8")
    status, document = report(tmp_path)
    assert status == 2
    (problem,) = document["problems"]
    assert (problem["file"], problem["line"]) == ("train.py", 1)
    assert "save it as UTF-8" in problem["message"]
    encoded = having(CONFIG, "binaryData", "train.py", to=base64.b64encode(b"import os\n").decode())
    (tmp_path / "a.yaml").write_text(yaml.safe_dump(encoded), encoding="utf-8")
    status, document = report(tmp_path / "a.yaml")
    assert (status, document["problems"][0]["line"]) == (2, 3)
