"""What the API server asks of names, labels, annotations and the keys of ConfigMaps and Secrets, which no schema says.

Labels and annotations are looked at in templates as well: a custom resource with a bad one is stored, and the pods that are
made of it are refused one by one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from gate.model import Fault, FieldPath, Resource, dotted, shortened

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_PART = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_KEY = re.compile(r"(?!\.$|\.\.)[-._a-zA-Z0-9]{1,253}")
_ANNOTATIONS_BYTES = 256 * 1024
_DATA_BYTES = 1024 * 1024
# Which form a kind's name has (seen with server-side dry runs of every kind); all others: a DNS subdomain.
_FORMS: dict[str, tuple[str, int, str]] = {
    **dict.fromkeys(("Namespace", "StatefulSet.apps"), (_LABEL, 63, "lower case letters, digits and '-'")),
    "Service": (r"[a-z]([-a-z0-9]*[a-z0-9])?", 63, "a lower case letter, then lower case letters, digits and '-'"),
    "CronJob.batch": (_SUBDOMAIN, 52, "lower case letters, digits, '-' and '.'"),
    **dict.fromkeys(
        (
            *(f"{kind}.rbac.authorization.k8s.io" for kind in ("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding")),
            "PodDisruptionBudget.policy",
            "CertificateSigningRequest.certificates.k8s.io",
            "ClusterTrustBundle.certificates.k8s.io",
            "IPAddress.networking.k8s.io",
            "CustomResourceDefinition.apiextensions.k8s.io",
            "APIService.apiregistration.k8s.io",
        ),
        (r"(?!\.\.?$)[^/%]+", _DATA_BYTES, "no '/' and no '%'"),  # no limit is known
    ),
}
_OTHERS = (_SUBDOMAIN, 253, "lower case letters, digits, '-' and '.'")
_HOOKS = ("argocd.argoproj.io/hook", "helm.sh/hook")
_TEMPLATED = "{{"  # of an ApplicationSet
_OF_OTHERS = ("openAPIV3Schema", "valuesObject")  # what a CustomResourceDefinition and an Application hold is no part of them


def faults(resource: Resource, rule: str, version: str) -> Iterator[Fault]:
    """What the API server refuses in an object that is valid by its schema, or in the pods that will be made of it."""
    found = [*_name(resource), *_sets(resource.manifest, ())]
    if resource.kind in ("ConfigMap", "Secret") and not resource.group:
        found += _data(resource)
    for path, message, fix in found:
        yield Fault(rule=rule, message=f"{message} ({version})", resource=resource, path=path, fix=fix)


_Found = tuple[FieldPath, str, str]


def _name(resource: Resource) -> Iterator[_Found]:
    metadata, name = resource.metadata, resource.name
    if not name and not metadata.get("generateName"):
        yield ("metadata", "name"), "metadata.name is required", "Set metadata.name."
    elif not name:
        if not any(hook in (metadata.get("annotations") or {}) for hook in _HOOKS):
            message = "metadata.generateName without a name: kubectl apply refuses it, and every sync would make another object"
            yield ("metadata", "generateName"), message, "Write metadata.name."
    else:
        group = f".{resource.group}" if resource.group else ""
        form, longest, words = _FORMS.get(resource.kind + group, _OTHERS)
        if len(name) > longest or not re.fullmatch(form, name):
            message = f"{shortened(name)} cannot be the name of a {resource.kind}"
            yield ("metadata", "name"), message, f"Write at most {longest} characters: {words}."
    if metadata.get("namespace") and (len(resource.namespace) > 63 or not re.fullmatch(_LABEL, resource.namespace)):
        message = f"{shortened(resource.namespace)} cannot be the name of a namespace"
        yield ("metadata", "namespace"), message, "Write at most 63 lower case letters, digits and '-'."


def _sets(value: Any, path: FieldPath) -> Iterator[_Found]:
    """Labels, annotations and selectors anywhere in an object."""
    if isinstance(value, list):
        for index, child in enumerate(value):
            yield from _sets(child, (*path, index))
    if not isinstance(value, dict):
        return
    for key, child in value.items():
        at = (*path, key)
        if key in _OF_OTHERS:
            continue
        if not isinstance(child, dict) or not all(isinstance(each, str) for each in child.values()):
            yield from _sets(child, at)
        elif key in ("matchLabels", "nodeSelector", "nodeLabels") or at[-2:] == ("metadata", "labels") or at == ("spec", "selector"):
            yield from _labels(child, at)
        elif at[-2:] == ("metadata", "annotations"):
            yield from _annotations(child, at)


def _labels(labels: Mapping[str, str], path: FieldPath) -> Iterator[_Found]:
    fix = "Write at most 63 letters, digits, '-', '_' and '.', beginning and ending with a letter or digit."
    for key, value in labels.items():
        if not _is_qualified(key) and _TEMPLATED not in key:
            yield (*path, key), f"{shortened(key)} in {dotted(path)} is no key of a label", f"{fix} A domain and '/' may stand before it."
        if value and (len(value) > 63 or not _PART.fullmatch(value)) and _TEMPLATED not in value:
            yield (*path, key), f"{dotted((*path, key))} is {shortened(value)}, which no label may have as its value", fix


def _annotations(annotations: Mapping[str, str], path: FieldPath) -> Iterator[_Found]:
    for key in annotations:
        if not _is_qualified(key.lower()) and _TEMPLATED not in key:
            fix = "Write at most 63 letters, digits, '-', '_' and '.', after a domain and '/' if you like."
            yield (*path, key), f"{shortened(key)} in {dotted(path)} is no key of an annotation", fix
    size = sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items())
    if size > _ANNOTATIONS_BYTES:
        yield path, f"{dotted(path)} holds {size} bytes, more than {_ANNOTATIONS_BYTES}", "Keep large values in a ConfigMap or a file."


def _is_qualified(key: str) -> bool:
    prefix, slash, name = key.rpartition("/")
    return bool(len(name) <= 63 and _PART.fullmatch(name) and (not slash or (len(prefix) <= 253 and re.fullmatch(_SUBDOMAIN, prefix))))


def _data(resource: Resource) -> Iterator[_Found]:
    size = 0
    seen: dict[str, str] = {}
    for field in ("data", "binaryData", "stringData"):
        for key, value in (resource.manifest.get(field) or {}).items():
            if not _KEY.fullmatch(key):
                fix = "Write letters, digits, '-', '_' and '.'."
                yield (field, key), f"{shortened(key)} is no key that a {resource.kind} can have", fix
            if field == "binaryData" and key in seen:
                yield (field, key), f"{shortened(key)} stands in data as well", "Keep one of them."
            seen[key] = field
            encoded = field == "binaryData" or (resource.kind == "Secret" and field == "data")
            size += len(str(value)) * 3 // 4 if encoded else len(str(value).encode())
    if size > _DATA_BYTES:
        yield (), f"the {resource.kind} holds {size} bytes, more than {_DATA_BYTES}", "Keep large files on a volume."
