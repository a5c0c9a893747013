"""Evaluates the rules over one target in a real OPA server.

The server listens on loopback, on a port that it is given by the system, and answers only to a token that is drawn
anew for each run of the gate. Rules are compiled without builtins that reach the network or the environment.
"""

from __future__ import annotations

import contextlib
import json
import secrets
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import requests
from opa_client.errors import ConnectionsError
from opa_client.opa import OpaClient

from gate import process, rules, tools
from gate.facts import Facts
from gate.model import Fault, GateError, Resource
from gate.resolve import Workload
from gate.schemas import Catalog

_SECONDS_TO_START = 30.0
_SECONDS_TO_ANSWER = 120.0


class Evaluator:
    """A running OPA with all rules loaded; `evaluate` asks it for the faults of one target."""

    def __init__(self, client: OpaClient) -> None:
        self._client = client

    def evaluate(
        self,
        resources: Sequence[Resource],
        members: Sequence[bool],
        workloads: Sequence[Workload],
        facts: Facts | None,
        catalog: Catalog,
        applications: Sequence[dict[str, Any]] = (),
    ) -> list[Fault]:
        """The faults of a target. `members` tells which resources belong to it; the others are there to be referred to."""
        cluster_scoped, namespaced = catalog.scopes()
        units = {unit: number for number, unit in enumerate(dict.fromkeys(resource.unit for resource in resources))}
        document = {
            "cluster": facts.for_rules() if facts else None,
            "objects": [resource.manifest for resource in resources],
            "members": list(members),
            "units": [units[resource.unit] for resource in resources],
            "versions": catalog.versions,
            "cluster_scoped": cluster_scoped,
            "namespaced": namespaced,
            "workloads": [workload.for_rules() for workload in workloads],
            "applications": list(applications),
        }
        try:
            answer = self._client.query_rule(input_data=document, package_path="lib.report", rule_name="findings")
        except (requests.RequestException, ValueError) as error:
            raise GateError(f"OPA did not judge the target: {_first_line(error)}") from error
        known = rules.rules()
        applied = [found for found in answer.get("result", []) if facts or not known[found["rule"]].needs_cluster]
        faults = [_fault(found, resources, workloads, facts) for found in applied]
        inside = {id(resource) for resource, member in zip(resources, members, strict=True) if member}
        return [fault for fault in faults if fault.place or id(fault.resource) in inside or id(fault.owner) in inside]


def _fault(found: dict[str, Any], resources: Sequence[Resource], workloads: Sequence[Workload], facts: Facts | None) -> Fault:
    """A rule's finding as a fault of an object; a path into an effective JobSet is mapped to where its value came from."""
    path, owner = tuple(found["path"]), None
    told = {"rule": found["rule"], "message": found["message"], "severity": found.get("severity"), "fix": found.get("fix")}
    if "facts" in found:
        assert facts, "rules about facts need a cluster"
        return Fault(**told, resource=None, place=facts.place(path))
    if "workload" in found:
        workload = workloads[found["workload"]]
        owner = resources[workload.object]
        assert workload.effective, "rules see only workloads whose JobSet is known"
        index, path = workload.effective.origin(path)
    else:
        index = found["object"]
    also = tuple(resources[other] for other in found.get("also", ()))
    return Fault(**told, resource=resources[index], path=path, owner=owner, also=also)


@contextlib.contextmanager
def evaluator() -> Iterator[Evaluator]:
    """Starts OPA and stops it again. Raises GateError where it does not come up."""
    bundle, opa = rules.bundle(), tools.binary("opa")
    with tempfile.TemporaryDirectory(dir=process.scratch()) as name:
        folder = Path(name)
        token = secrets.token_urlsafe(32)
        access = _access(folder / "access", token)
        port = process.free_port()
        log = folder / "opa.log"
        command: list[str | Path] = [
            opa,
            "run",
            "--server",
            "--addr",
            f"127.0.0.1:{port}",
            "--authentication=token",
            "--authorization=basic",
        ]
        command += ["--log-level=error", "--skip-version-check", "--bundle", bundle, access]
        server = process.serve(command, log)
        client = OpaClient(host="127.0.0.1", port=port, token=token, timeout=_SECONDS_TO_ANSWER, retries=0)
        client._session.trust_env = False  # a proxy of the environment is not for loopback
        try:
            _wait(client, server, log)
            yield Evaluator(client)
        finally:
            client.close_connection()
            server.communicate()


def _access(folder: Path, token: str) -> Path:
    """A second bundle, only for this run: who may ask, and the token."""
    folder.mkdir(mode=0o700)
    (folder / ".manifest").write_text(json.dumps({"roots": ["system/authz", "gate"]}), encoding="utf-8")
    (folder / "data.json").write_text(json.dumps({"gate": {"token": token}}), encoding="utf-8")
    shutil.copy(Path(__file__).with_name("authz.rego"), folder / "authz.rego")
    return folder


def _wait(client: OpaClient, server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _SECONDS_TO_START
    while time.monotonic() < deadline and server.poll() is None:
        with contextlib.suppress(ConnectionsError):
            if client.check_health():
                return
        time.sleep(0.02)
    words = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    raise GateError(f"OPA did not start: {words[-1] if words else 'no answer'}")


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]
