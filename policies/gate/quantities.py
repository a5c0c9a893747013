"""Quantities that the API server stores in another form than they are written in.

Argo CD compares Git with what is stored. Where the two differ it applies again, and where the field is immutable that is
refused for ever. Built-in kinds are decoded and written anew by the API server itself; custom resources are where a
mutating webhook answers with the object as its Go types write it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from gate.model import Fault, FieldPath, Resource, Rule, dotted
from gate.schemas import Kind, below, resolved

RULE = Rule(
    id="quantity/canonical",
    title="Quantities stand in Git as the API server stores them",
    description="Kubernetes writes quantities in one form: 2000m becomes 2, 2048Mi becomes 2Gi, a number becomes a string. Argo CD then "
    "sees a difference that no sync removes. In spec.trainer of a TrainJob, which is immutable, every further sync of the run is refused "
    "(an error); elsewhere it is applied again and again (a warning).",
    severity="error",
    fix="Write the quantity in the form that the message gives.",
    example='resourcesPerNode:\n  requests: {cpu: 2000m, nvidia.com/gpu: 1}   # stored as cpu: "2", nvidia.com/gpu: "1"',
    references=(
        ("https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/", "the canonical form"),
        ("https://argo-cd.readthedocs.io/en/stable/user-guide/diffing/", "differences that come from the cluster"),
    ),
    symptoms=("OutOfSync for ever, spec.trainer: Invalid value: field is immutable",),
    seen=(
        "lab: tests/lab/test_claims.py::test_a_trainjob_does_not_change_nor_does_a_quantity_that_is_stored_otherwise",
        "lab: tests/gate/test_quantities.py::test_any_form_is_stored_as_kubernetes_stores_it",
        "source: trainer pkg/apis/trainer/v1alpha1/trainjob_types.go",
    ),
)
# Custom resources that a mutating webhook writes anew (seen with server-side dry runs; Trainer has one since 2.2).
_WRITTEN_ANEW = {
    ("trainer.kubeflow.org", "TrainJob"),
    ("jobset.x-k8s.io", "JobSet"),
    ("kueue.x-k8s.io", "ClusterQueue"),
}
_TRAINER = ("spec", "trainer")
_QUANTITY = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE]|[eE][+-]?[0-9]+|)")
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_MOST = 2**63 - 1
_ABSURD = 40  # digits and exponents beyond any real resource: left alone


def faults(resource: Resource, kind: Kind, definitions: Mapping[str, Any]) -> Iterator[Fault]:
    """The quantities of an object, valid by its schema, that will be stored in another form."""
    if kind.component != "kubernetes" and (resource.group, resource.kind) not in _WRITTEN_ANEW:
        return
    frozen = _immutable(kind.schema)
    for path, value in _walk(kind.schema, definitions, resource.manifest, ()):
        stored = canonical(str(value))
        if stored is None or stored == value:
            continue
        refused = path[: len(_TRAINER)] == _TRAINER and frozen
        end = "the field is immutable, so that the next sync is refused, and every one after it" if refused else "Argo CD sees a difference"
        yield Fault(
            rule=RULE.id,
            severity="error" if refused else "warning",
            message=f'{dotted(path)} is {value} and is stored as "{stored}": {end}',
            resource=resource,
            path=path,
            fix=f'Write "{stored}".',
        )


def _immutable(schema: Mapping[str, Any]) -> bool:
    """True where the CRD lets nobody change spec.trainer."""
    trainer = schema.get("properties", {}).get("spec", {}).get("properties", {}).get("trainer", {})
    return any(rule.get("rule") == "self == oldSelf" for rule in trainer.get("x-kubernetes-validations", ()))


def canonical(text: str) -> str | None:
    """A quantity as Kubernetes stores it, by the rules of k8s.io/apimachinery's Quantity; None for what is none or is absurd."""
    match = _QUANTITY.fullmatch(text.strip())
    if not match or not (match[2] or match[3]):
        return None
    sign, whole, fraction, suffix = match[1], match[2].lstrip("0") or "0", match[3] or "", match[4]
    binary = suffix in _BINARY[1:]
    exponential = suffix[:1] in ("e", "E") and suffix != "E"
    exponent = int(suffix[1:]) if exponential else _DECIMAL.get(suffix, 0)
    if len(whole + fraction) > _ABSURD or abs(exponent) > _ABSURD:
        return None
    power = _BINARY.index(suffix) if binary else 0
    if _kept_binary(whole, fraction, power) if binary else _kept_decimal(whole, fraction, exponent):
        return text.strip()
    value = Fraction(int(whole + fraction), 10 ** len(fraction)) * (1024**power if binary else Fraction(10) ** exponent)
    nano = math.ceil(value * 10**9)  # nothing is smaller: the rest is rounded up
    if binary:
        nano = min(nano, _MOST * 10**9)
    if not nano:
        return "0"
    minus = "-" if sign == "-" else ""
    if binary and nano >= 1024 * 10**9 and nano % 10**9 == 0:
        number, power = nano // 10**9, 0
        while number % 1024 == 0 and power < len(_BINARY) - 1:
            number, power = number // 1024, power + 1
        return f"{minus}{number}{_BINARY[power]}"
    return minus + _decimal(nano, exponential)


def _kept_decimal(whole: str, fraction: str, exponent: int) -> bool:
    """True where Kubernetes keeps a decimal quantity as it is written, although it may not be the shortest form."""
    digits, scale = whole + fraction, exponent - len(fraction)
    return len(digits) <= 18 and scale >= -9 and scale % 3 == 0 and not digits.endswith("000") and digits[0] != "0"


def _kept_binary(whole: str, fraction: str, power: int) -> bool:
    """The same for a binary one."""
    return not fraction and len(whole) + int(power * 10 * 0.3) < 15 and int(whole) % 8 != 0


def _decimal(nano: int, exponential: bool) -> str:
    """The largest exponent that is a multiple of three and leaves no fraction."""
    number, exponent = nano, -9
    while number % 1000 == 0 and (exponential or exponent < 18):
        number, exponent = number // 1000, exponent + 3
    if exponential:
        return f"{number}e{exponent}" if exponent else str(number)
    return str(number) + next(suffix for suffix, power in _DECIMAL.items() if power == exponent)


def _walk(schema: Mapping[str, Any], definitions: Mapping[str, Any], value: Any, path: FieldPath) -> Iterator[tuple[FieldPath, Any]]:
    """Every value that its schema says is a quantity."""
    schema = resolved(schema, definitions)
    if isinstance(value, dict):
        for key, child in value.items():
            yield from _walk(below(schema, key), definitions, child, (*path, key))
    elif isinstance(value, list):
        if isinstance(schema.get("items"), dict):
            for index, child in enumerate(value):
                yield from _walk(schema["items"], definitions, child, (*path, index))
    elif isinstance(value, str | int | float) and _is_quantity(schema):
        yield path, value


def _is_quantity(schema: Mapping[str, Any]) -> bool:
    patterns = [schema.get("pattern", ""), *(each.get("pattern", "") for each in schema.get("anyOf", ()))]
    return bool(schema.get("x-kubernetes-int-or-string")) and any("KMGTPE" in pattern for pattern in patterns)
