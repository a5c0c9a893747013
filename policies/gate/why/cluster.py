"""A live cluster, read with nothing but get and list: every answer is data, and what may not be read is said."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import urllib3
import yaml
from kubernetes import client, config

from gate import process
from gate.model import GateError, Manifest

_SECONDS = (5, 30)  # to connect, to read
_PAGE = 500  # objects
_OWN = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")  # a pod's own


class Unreadable(Exception):
    """One request that the API server did not grant; `status` is HTTP's."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, kw_only=True, slots=True)
class Kind:
    """What is read: its group ("" is core), its name in the plural, and whether it has a namespace."""

    kind: str
    group: str
    plural: str
    namespaced: bool = True


KINDS = {
    each.kind: each
    for each in (
        Kind(kind="TrainJob", group="trainer.kubeflow.org", plural="trainjobs"),
        Kind(kind="TrainingRuntime", group="trainer.kubeflow.org", plural="trainingruntimes"),
        Kind(kind="ClusterTrainingRuntime", group="trainer.kubeflow.org", plural="clustertrainingruntimes", namespaced=False),
        Kind(kind="Workload", group="kueue.x-k8s.io", plural="workloads"),
        Kind(kind="LocalQueue", group="kueue.x-k8s.io", plural="localqueues"),
        Kind(kind="ClusterQueue", group="kueue.x-k8s.io", plural="clusterqueues", namespaced=False),
        Kind(kind="WorkloadPriorityClass", group="kueue.x-k8s.io", plural="workloadpriorityclasses", namespaced=False),
        Kind(kind="PodGroup", group="scheduling.volcano.sh", plural="podgroups"),
        Kind(kind="Queue", group="scheduling.volcano.sh", plural="queues", namespaced=False),
        Kind(kind="JobSet", group="jobset.x-k8s.io", plural="jobsets"),
        Kind(kind="Job", group="batch", plural="jobs"),
        Kind(kind="Deployment", group="apps", plural="deployments"),
        Kind(kind="NetworkPolicy", group="networking.k8s.io", plural="networkpolicies"),
        Kind(kind="Pod", group="", plural="pods"),
        Kind(kind="Event", group="", plural="events"),
        Kind(kind="Node", group="", plural="nodes", namespaced=False),
    )
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Cluster:
    """A connection; `namespace` is the one that the kubeconfig's context (or the pod) stands in."""

    api: Any
    namespace: str
    versions: dict[str, str | None] = field(default_factory=dict)

    def objects(self, kind: Kind, namespace: str | None = None, labels: str = "") -> list[Manifest]:
        """All objects of a kind, of one namespace or of all; none where the cluster does not know the kind. Raises Unreadable."""
        found: list[Manifest] = []
        proceed: str | None = ""
        base = self._base(kind)
        while base and proceed is not None:
            options = {"limit": _PAGE, "labelSelector": labels, "continue": proceed}
            inside = f"/namespaces/{quote(namespace, safe='')}" if namespace and kind.namespaced else ""
            query = urlencode({key: value for key, value in options.items() if value})
            try:
                page = self._json(f"{base}{inside}/{kind.plural}?{query}")
            except Unreadable as error:
                if error.status == 404:
                    return []
                raise
            for item in page.get("items") or []:
                found.append({"apiVersion": page.get("apiVersion"), "kind": kind.kind, **item})
            proceed = (page.get("metadata") or {}).get("continue") or None
        return found

    def object(self, kind: Kind, name: str, namespace: str | None = None) -> Manifest | None:
        """One object, or None where it (or its kind) does not exist. Raises Unreadable."""
        inside = f"/namespaces/{quote(namespace or '', safe='')}" if kind.namespaced else ""
        base = self._base(kind)
        try:
            return self._json(f"{base}{inside}/{kind.plural}/{quote(name, safe='')}") if base else None
        except Unreadable as error:
            if error.status == 404:
                return None
            raise

    def log(self, namespace: str, pod: str, container: str, *, previous: bool, lines: int) -> str:
        """The end of a container's log, with a time before each line. Raises Unreadable."""
        options = {"container": container, "tailLines": lines, "timestamps": "true", **({"previous": "true"} if previous else {})}
        return self._text(f"/api/v1/namespaces/{quote(namespace, safe='')}/pods/{quote(pod, safe='')}/log?{urlencode(options)}")

    def knows(self, group: str) -> bool:
        """Whether the cluster has this API group at all."""
        return self._version(group) is not None

    def _base(self, kind: Kind) -> str | None:
        if not kind.group:
            return "/api/v1"
        version = self._version(kind.group)
        return version and f"/apis/{version}"

    def _version(self, group: str) -> str | None:
        """The group with the version that the server prefers, such as batch/v1; None where the group is not there."""
        if group not in self.versions:
            try:
                self.versions[group] = self._json(f"/apis/{group}")["preferredVersion"]["groupVersion"]
            except Unreadable as error:
                if error.status != 404:
                    raise GateError(f"{self.api.configuration.host} does not say which APIs it has (/apis/{group}): {error}") from error
                self.versions[group] = None
        return self.versions[group]

    def _json(self, path: str) -> Manifest:
        try:
            found = json.loads(self._text(path))
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise GateError(f"{self.api.configuration.host} does not answer like a Kubernetes API server (at {path.partition('?')[0]})")
        return found

    def _text(self, path: str) -> str:
        method, url, headers, *_ = self.api.param_serialize(
            "GET", path, header_params={"Accept": "*/*"}, auth_settings=["BearerToken"], query_params=[]
        )
        try:
            answer = self.api.call_api(method, url, headers, _request_timeout=_SECONDS)
            body: str = answer.read().decode("utf-8", errors="replace")
        except (urllib3.exceptions.HTTPError, OSError) as error:
            reason = getattr(error, "reason", None) or error
            raise GateError(f"{self.api.configuration.host} cannot be reached: {reason}") from error
        if answer.status == 401:
            raise GateError(f"{self.api.configuration.host} does not accept the credentials of the kubeconfig (401 Unauthorized)")
        if answer.status >= 400:
            raise Unreadable(answer.status, _reason(answer.status, body))
        return body


def _reason(status: int, body: str) -> str:
    try:
        message = json.loads(body)["message"]
    except (ValueError, KeyError, TypeError):
        message = body.strip()[:200]
    return "forbidden" if status == 403 else f"{message or 'no reason given'} ({status})"


def connect(kubeconfig: Path | None, context: str | None = None) -> Cluster:
    """The cluster of a kubeconfig (default: KUBECONFIG, then ~/.kube/config, then the pod's own). Raises GateError."""
    if kubeconfig is not None and not kubeconfig.is_file():
        raise GateError("there is no such kubeconfig", file=kubeconfig)
    file = str(kubeconfig) if kubeconfig else None
    settings = client.Configuration()
    settings.retries = False
    try:
        try:
            contexts, active = config.list_kube_config_contexts(config_file=file)  # type: ignore[no-untyped-call]
            chosen = next((each for each in contexts if each["name"] == context), active)
            namespace = (chosen.get("context") or {}).get("namespace") or "default"
            config.load_kube_config(  # type: ignore[no-untyped-call]
                config_file=file,
                context=context,
                client_configuration=settings,
                persist_config=False,
                temp_file_path=str(process.scratch()),  # it writes certificates and keys
            )
        except config.ConfigException:
            if kubeconfig or context or not _OWN.exists():
                raise
            config.load_incluster_config(client_configuration=settings)  # type: ignore[no-untyped-call]
            namespace = _OWN.read_text(encoding="utf-8").strip()
    except (config.ConfigException, yaml.YAMLError, OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        said = " ".join(str(error).split()) or type(error).__name__
        raise GateError(f"the kubeconfig cannot be used: {said}", file=kubeconfig) from error
    return Cluster(api=client.ApiClient(settings), namespace=namespace)
