"""Scaffolds: `gate new run` makes a frozen run from an overlay."""

from __future__ import annotations

import copy
import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from gate import check, facts, render, source
from gate.model import GateError, Manifest, Resource, Unit, get

# The longest name whose pods fit 63 characters with ten workers: see rule jobset/name-fits.
_NAME = re.compile(r"^[a-z]([-a-z0-9]{0,46}[a-z0-9])?$")
_NAMESPACE = re.compile(r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$")
_SCRIPT = re.compile(r"^[A-Za-z0-9._-]+\.py$")  # a key of a ConfigMap
_VARIABLE = re.compile(r"^[A-Za-z_][A-Za-z0-9_]*$")
_CODE = "/workspace/code"
# What a run's pods have to reach beside one another: names, and Trainer's status server, where its own manifests install it.
_DNS = [{"port": 53, "protocol": protocol} for protocol in ("UDP", "TCP")]
_STATUS = {
    "to": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kubeflow-system"}}}],
    "ports": [{"port": 10443, "protocol": "TCP"}],
}
_POLICY_HEADER = "# Nothing else gets in or out: add what else your code reaches. Volumes need nothing here, the node mounts them.\n"
_HEADER = "# Frozen: a TrainJob cannot be edited once it exists. For another try make another run (`gate new run`).\n"


def run(folder: Path, overlay: str, *, namespace: str | None, nodes: int | None, env: Sequence[str], script: Path | None) -> list[Path]:
    """Makes clusters/<cluster>/runs/<run>/ whole or not at all; returns its files.

    The TrainJob is the overlay's, under the run's name; the code is copied into the folder, so that nothing outside can
    change it later. Raises GateError for a folder that exists, a name that is too long, an unknown overlay or a bad value.
    """
    root = check.repository(folder.parent)
    _refuse(folder, root, overlay)
    if namespace is not None and not _NAMESPACE.match(namespace):
        raise GateError(f"--namespace {namespace} cannot name a namespace: lower case letters, digits and dashes, at most 63")
    name = folder.name
    resources = _overlay(root / "overlays" / overlay)
    job, code = _one(resources, "TrainJob", overlay), _one(resources, "ConfigMap", overlay)
    files = {str(key): str(text) for key, text in (code.manifest.get("data") or {}).items()}
    manifest = copy.deepcopy(job.manifest)
    namespace = namespace or job.namespace
    manifest["metadata"] |= {"name": name, "namespace": namespace}
    _rename_config_map(manifest, code.name, name)
    trainer = manifest["spec"].setdefault("trainer", {})
    if nodes is not None:
        trainer["numNodes"] = nodes
    for variable, value in _variables(env).items():
        _set_env(trainer, variable, value)
    _set_env(trainer, "TF_NUM_WORKERS", str(trainer.get("numNodes", 1)))
    if script:
        if not _SCRIPT.match(script.name) or script.name == "tfrun.py":
            raise GateError("cannot name a run's script: letters, digits, dots and dashes, ending in .py, and not tfrun.py", file=script)
        trainer["command"] = ["python3", f"{_CODE}/tfrun.py", "--", "python3", f"{_CODE}/{script.name}"]
        files = {"tfrun.py": files["tfrun.py"], script.name: source.read_text(script)}
    written = {
        "trainjob.yaml": _HEADER + _dump(manifest),
        "networkpolicy.yaml": _POLICY_HEADER + _dump(_network_policy(name, namespace)),
        "kustomization.yaml": _dump(_kustomization(name, namespace, files)),
    }
    return _write(folder, {**written, **files})


def _refuse(folder: Path, root: Path, overlay: str) -> None:
    if folder.parent.name != "runs" or not (folder.parent.parent / facts.FILE_NAME).is_file():
        raise GateError("is no place for a run: name clusters/CLUSTER/runs/RUN with an existing cluster", file=folder)
    if folder.exists():
        raise GateError("exists already: a run is never changed, give the new one another name", file=folder)
    if not _NAME.match(folder.name):
        raise GateError(f"{folder.name} cannot name a run: lower case letters, digits and dashes, a letter first, at most 48", file=folder)
    if not (root / "overlays" / overlay).is_dir():
        known = ", ".join(sorted(path.name for path in (root / "overlays").glob("*") if path.is_dir()))
        raise GateError(f"there is no overlay {overlay} (there are: {known})")


def _overlay(folder: Path) -> list[Resource]:
    rendered = render.render(Unit(path=folder, kustomization=True))
    for problem in rendered.problems:
        raise problem.error()
    return rendered.resources


def _one(resources: Sequence[Resource], kind: str, overlay: str) -> Resource:
    found = [resource for resource in resources if resource.kind == kind]
    if len(found) != 1:
        raise GateError(f"overlays/{overlay} holds {len(found)} objects of kind {kind}, a run is made from exactly one")
    return found[0]


def _rename_config_map(value: Any, old: str, new: str) -> None:
    """Wherever the TrainJob names the overlay's ConfigMap it names the run's."""
    if isinstance(value, dict):
        for key, child in value.items():
            if key in ("configMap", "configMapRef", "configMapKeyRef") and get(child, ("name",)) == old:
                child["name"] = new
            else:
                _rename_config_map(child, old, new)
    elif isinstance(value, list):
        for child in value:
            _rename_config_map(child, old, new)


def _variables(entries: Sequence[str]) -> dict[str, str]:
    variables = {}
    for entry in entries:
        name, equals, value = entry.partition("=")
        if not equals or not _VARIABLE.match(name):
            raise GateError(f"--env {entry}: write NAME=VALUE")
        if name == "TF_NUM_WORKERS":
            raise GateError("--env TF_NUM_WORKERS: it follows --nodes")
        variables[name] = value
    return variables


def _set_env(trainer: Manifest, name: str, value: str) -> None:
    env = trainer.setdefault("env", [])
    entry = {"name": name, "value": value}
    at = next((i for i, have in enumerate(env) if have.get("name") == name), None)
    if at is None:
        env.append(entry)
    else:
        env[at] = entry


def _kustomization(name: str, namespace: str, files: Mapping[str, str]) -> Manifest:
    return {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": ["networkpolicy.yaml", "trainjob.yaml"],
        "configMapGenerator": [
            {
                "name": name,
                "namespace": namespace,
                "files": sorted(files),
                "options": {"disableNameSuffixHash": True, "immutable": True},
            }
        ],
        "replacements": [
            {
                "source": {"kind": "TrainJob", "name": name, "fieldPath": "spec.trainer.numNodes"},
                "targets": [{"select": {"kind": "TrainJob", "name": name}, "fieldPaths": ["spec.trainer.env.[name=TF_NUM_WORKERS].value"]}],
            }
        ],
    }


def _network_policy(name: str, namespace: str) -> Manifest:
    def pods() -> Manifest:  # a new one each time: YAML would write an alias
        return {"podSelector": {"matchLabels": {"jobset.sigs.k8s.io/jobset-name": name}}}

    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            **pods(),
            "policyTypes": ["Ingress", "Egress"],
            "ingress": [{"from": [pods()]}],
            "egress": [{"to": [pods()]}, {"ports": _DNS}, _STATUS],
        },
    }


def _dump(value: Manifest) -> str:
    return yaml.safe_dump(value, sort_keys=False, width=120)


def _write(folder: Path, files: Mapping[str, str]) -> list[Path]:
    folder.parent.mkdir(exist_ok=True)
    making = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".making-"))
    try:
        for name, text in files.items():
            (making / name).write_text(text, encoding="utf-8")
        making.chmod(0o755)
        making.rename(folder)
    except OSError as error:
        shutil.rmtree(making, ignore_errors=True)
        raise GateError(f"cannot be written: {error.strerror}", file=folder) from error
    return [folder / name for name in sorted(files)]
