"""Validates objects against the schemas of the versions that the cluster runs."""

from __future__ import annotations

import binascii
import datetime
import functools
import ipaddress
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

import jsonschema
from jsonschema.protocols import Validator

from gate import cel, naming, quantities
from gate.model import Fault, FieldPath, Problem, Resource, dotted, shortened
from gate.schemas import Catalog

RULE = cel.ASKED
_BITS = {"int32": 32, "int64": 64}
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
_ZEROS = re.compile(r"\b0+(?=\d)")  # in front of a number: the API server reads over them
# Files that controllers read, in the form of objects: their group, and the ConfigMap that they stand in.
_FILES = {
    "config.kueue.x-k8s.io": "kueue-manager-config",
    "config.jobset.x-k8s.io": "jobset-manager-config",
    "config.trainer.kubeflow.org": "kubeflow-trainer-config",
}
_ADD = "add the component that defines it to policies/schemas/sources.yaml"


def _list_keys(validator: Validator, keys: list[str], instance: Any, schema: dict[str, Any]) -> Iterator[jsonschema.ValidationError]:
    """Two elements with one key in a list that is a map: the API server refuses the second."""
    if schema.get("x-kubernetes-list-type") != "map" or not isinstance(instance, list):
        return
    seen: set[str] = set()
    for index, item in enumerate(instance):
        if isinstance(item, dict):
            key = json.dumps([item.get(name) for name in keys], default=str)
            if key in seen:
                shown = ", ".join(f"{name} {item.get(name)}" for name in keys)
                yield jsonschema.ValidationError(f"a second element with {shown}", path=[index], validator="duplicate")
            seen.add(key)


def _list_set(validator: Validator, kind: str, instance: Any, schema: dict[str, Any]) -> Iterator[jsonschema.ValidationError]:
    if kind == "set" and isinstance(instance, list):
        seen: set[str] = set()
        for index, item in enumerate(instance):
            key = json.dumps(item, sort_keys=True, default=str)
            if key in seen:
                yield jsonschema.ValidationError(f"{item!r} stands in the list twice", path=[index], validator="duplicate")
            seen.add(key)


def _pattern(validator: Validator, pattern: str, instance: Any, schema: dict[str, Any]) -> Iterator[jsonschema.ValidationError]:
    """A pattern as the API server reads it: in Go's syntax, in which $ is the very end, and in linear time."""
    if isinstance(instance, str) and not cel.matches(instance, pattern):
        yield jsonschema.ValidationError(f"{instance!r} does not match {pattern!r}")


def _format(validator: Validator, name: str, instance: Any, schema: dict[str, Any]) -> Iterator[jsonschema.ValidationError]:
    """The formats that the API server enforces."""
    if isinstance(instance, int) and not isinstance(instance, bool) and name in _BITS:
        if not -(2 ** (_BITS[name] - 1)) <= instance < 2 ** (_BITS[name] - 1):
            yield jsonschema.ValidationError(f"{instance} is no {name}")
    elif isinstance(instance, str) and name == "byte":
        try:
            binascii.a2b_base64(instance.replace("\n", "").replace("\r", ""), strict_mode=True)
        except ValueError:
            yield jsonschema.ValidationError(f"{instance!r} is no base64")
    elif isinstance(instance, str) and name in _FORMATS and not _FORMATS[name](instance):
        yield jsonschema.ValidationError(f"{instance!r} is no {name}")


def _is_time(text: str) -> bool:
    try:
        return bool(_TIME.fullmatch(text) and datetime.datetime.fromisoformat(text))
    except ValueError:
        return False


def _is_network(text: str) -> bool:
    address, slash, bits = text.partition("/")
    return bool(slash) and bits.isdecimal() and _is_address(address) and int(bits) <= (128 if ":" in address else 32)


def _is_address(text: str) -> bool:
    try:
        return bool(ipaddress.ip_address(text if ":" in text else _ZEROS.sub("", text)))
    except ValueError:
        return False


_FORMATS = {"date-time": _is_time, "cidr": _is_network, "ip": _is_address}
_FORMS = {
    "byte": "base64",
    "date-time": "a time as 2026-01-31T12:00:00Z",
    "cidr": "a network as 10.0.0.0/8 or 2001:db8::/64",
    "ip": "an address as 10.0.0.1 or 2001:db8::1",
}
# Draft 4, in which what stands beside a $ref counts as well: that is where a field adds to what its type asks.
_OWN: Any = {"x-kubernetes-list-map-keys": _list_keys, "x-kubernetes-list-type": _list_set, "pattern": _pattern, "format": _format}
_DRAFT: Any = jsonschema.Draft4Validator
_Draft: Any = jsonschema.validators.create(
    _DRAFT.META_SCHEMA, {**_DRAFT.VALIDATORS, **_OWN}, type_checker=_DRAFT.TYPE_CHECKER, id_of=_DRAFT.ID_OF
)


class _Validators:
    """One compiled validator a kind, kept for the life of the catalog."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog

    @functools.cache  # noqa: B019 - lives as long as the process, like the catalog
    def of(self, api_version: str, kind: str) -> Validator | None:
        entry = self.catalog.kinds.get((api_version, kind))
        return _Draft({**entry.schema, "definitions": self.catalog.definitions}) if entry else None


@functools.cache
def _validators(catalog: Catalog) -> _Validators:
    return _Validators(catalog)


class Validation:
    """What the schemas say of some objects; `malformed` hold values of a wrong type, so that rules cannot read them."""

    def __init__(self) -> None:
        self.faults: list[Fault] = []
        self.problems: list[Problem] = []
        self.malformed: set[Resource] = set()


def validate(resources: Iterable[Resource], catalog: Catalog) -> Validation:
    """Validates objects; an object of a kind that no known component has is a problem, not silence."""
    found = Validation()
    for resource in resources:
        one = _validated(resource, catalog)
        found.faults += one.faults
        found.problems += one.problems
        found.malformed |= one.malformed
    return found


@functools.lru_cache(maxsize=4096)
def _validated(resource: Resource, catalog: Catalog) -> Validation:
    """One object's part: kept, since every run that is checked by itself meets the objects of its cluster again."""
    found = Validation()
    validator = _validators(catalog).of(resource.api_version, resource.kind)
    if validator is None:
        unknown = _unknown(resource, catalog)
        if isinstance(unknown, Fault):
            found.faults.append(unknown)
        else:
            found.problems.append(unknown)
        return found
    seen: set[FieldPath] = set()
    for error in validator.iter_errors(resource.manifest):
        if error.validator in ("type", "anyOf"):
            found.malformed.add(resource)
        for fault in _faults(resource, error, catalog):
            if fault.path not in seen:  # one mistake often breaks two of what a field asks
                found.faults.append(fault)
            seen.add(fault.path)
    if resource not in found.malformed:
        entry = catalog.kinds[(resource.api_version, resource.kind)]
        found.faults += naming.faults(resource, RULE, _version(entry.component, catalog))
        found.faults += cel.faults(resource, entry.schema, catalog.definitions, _version(entry.component, catalog))
        found.faults += quantities.faults(resource, entry, catalog.definitions)
    return found


def _version(component: str, catalog: Catalog) -> str:
    return f"{component} {catalog.versions[component]}"


def _unknown(resource: Resource, catalog: Catalog) -> Fault | Problem:
    """A version that a known group does not serve is a fault, and so is what is no object; a group that nobody knows cannot be judged."""
    others = sorted(version for version, kind in catalog.kinds if kind == resource.kind and version.rpartition("/")[0] == resource.group)
    if others:
        message = f"{resource.kind} is not served as {resource.api_version} by this cluster's versions"
        return Fault(rule=RULE, message=message, resource=resource, path=("apiVersion",), fix=f"Write apiVersion: {others[-1]}.")
    if resource.group in _FILES and resource.kind == "Configuration":
        message = f"{resource.api_version} Configuration is a file that a controller reads: no API server knows it as an object"
        fix = f"Write it into a ConfigMap, under the key that the controller is started with ({_FILES[resource.group]} has "
        return Fault(rule=RULE, message=message, resource=resource, path=("apiVersion",), fix=f"{fix}controller_manager_config.yaml).")
    shown = f"{resource.api_version} {resource.kind}".strip() or "an object without apiVersion and kind"
    return Problem(message=f"{resource.name or 'an object'}: the kind {shown} is not known; {_ADD}", file=resource.unit.path)


def _faults(resource: Resource, error: jsonschema.ValidationError, catalog: Catalog) -> Iterator[Fault]:
    version = _version(catalog.kinds[(resource.api_version, resource.kind)].component, catalog)
    if resource.kind == "Secret":  # its values are in no report
        error.instance = _hidden(error.instance)
    for path, message, fix in _explain(error):
        key = error.validator == "additionalProperties"
        yield Fault(rule=RULE, message=f"{message} ({version})", resource=resource, path=path, fix=fix, key=key)


def _explain(error: Any) -> Iterator[tuple[FieldPath, str, str]]:
    """Where, what is wrong, what to write instead: in the words of a manifest rather than of a schema."""
    path: FieldPath = tuple(error.absolute_path)
    at = dotted(path) or "the object"
    match error.validator:
        case "additionalProperties":
            known = sorted(error.schema.get("properties", {}))
            for name in sorted(set(error.instance) - set(known)):
                close = [k for k in known if k.lower() == name.lower()]
                listed = ", ".join(known[:12]) + (", …" if len(known) > 12 else "")
                fix = f"Write {close[0]}." if close else f"Remove it, or use one of: {listed or '(no fields)'}."
                yield (*path, name), f"unknown field {name} in {at}: the API server refuses it or drops it without a word", fix
        case "required":
            for name in error.validator_value:
                if name not in error.instance:
                    yield (*path, name), f"{dotted((*path, name))} is required", f"Set {dotted((*path, name))}."
        case "type" | "anyOf":
            wanted = error.schema.get("type") or "an integer or a string"
            wanted = " or ".join(wanted) if isinstance(wanted, list) else wanted
            given = {dict: "a mapping", list: "a list", str: "a string", bool: "a boolean", int: "an integer", float: "a number"}
            what = given.get(type(error.instance), "null")
            quoted = " (quote it)" if wanted == "string" and isinstance(error.instance, bool | int | float) else ""
            yield path, f"{at} must be {wanted}, not {what} ({_short(error.instance)})", f"Write a value of type {wanted}{quoted}."
        case "enum":
            allowed = ", ".join(str(value) for value in error.validator_value if value != "")
            yield path, f"{at} is {_short(error.instance)}, which is not allowed", f"Use one of: {allowed}."
        case "pattern" if "title" in error.schema:
            yield path, f"{at} is {_short(error.instance)}, which is not {error.schema['title']}", f"Write {error.schema['title']}."
        case "pattern":
            yield path, f"{at} is {_short(error.instance)}, which does not match {error.validator_value}", "Write it in that form."
        case "format" if error.validator_value in _BITS:
            most = 2 ** (_BITS[error.validator_value] - 1) - 1
            yield path, f"{at} is {_short(error.instance)}, which no {error.validator_value} holds", f"Write {-most - 1} to {most}."
        case "format":
            named = _FORMS[error.validator_value]
            fix = "Write it in that form" + (", or as plain text in stringData." if error.validator_value == "byte" else ".")
            yield path, f"{at} is not {named}", fix
        case "duplicate":
            yield path, f"{at}: {error.message}", "Keep one of them."
        case _:
            yield path, f"{at}: {_short(error.message, 160)}", f"Keep to {error.validator}: {_short(error.validator_value)}."


def _hidden(value: Any) -> Any:
    """The shape of a secret value, without the value."""
    if isinstance(value, dict):
        return {key: _hidden(child) for key, child in value.items()}
    if isinstance(value, list):
        return [_hidden(child) for child in value]
    return type(value)() if isinstance(value, bool | int | float) else "…"


def _short(value: Any, limit: int = 60) -> str:
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return shortened(text, limit)
