"""The CRDs' own validation rules (x-kubernetes-validations, CEL), evaluated without a cluster.

As the API server does it: defaults first, then every rule of the schema on its own value. Transition rules (oldSelf)
have nothing to compare with here and are left out. What cannot be evaluated is said, not passed.
"""

from __future__ import annotations

import copy
import functools
import re
from collections.abc import Iterator, Mapping
from typing import Any

import cel

from gate.model import Fault, FieldPath, Resource, Rule, dotted, get
from gate.schemas import Schema, below, resolved

RULE = Rule(
    id="schema/cel",
    title="Every object keeps the validation rules of its CRD",
    description="A CRD states rules between fields in CEL, and the API server refuses an object that breaks one: the sync fails. "
    "They are evaluated here as they stand in the CRDs of the versions in cluster.yaml.",
    severity="error",
    fix="Change the fields so that the rule holds.",
    example="kind: ClusterQueue\nspec:\n  resourceGroups:   # a borrowingLimit, and no cohortName to borrow from",
    references=(("https://kubernetes.io/docs/reference/using-api/cel/", "how the API server evaluates them"),),
    seen=("lab: tests/lab/test_claims.py::test_a_validation_rule_of_a_kind_is_kept",),
)
ASKED = "schema/valid"  # the rule of what is asked besides, in whatever words
_PARTS = 100  # of one mapping or list that are tried: each asks for an evaluation
_READABLE = 240  # characters of a rule
_MATCHES = cel.compile("text.matches(pattern)")
_TRANSITION = re.compile(r"\boldSelf\b")
# How Kubernetes writes property names that are no CEL identifiers.
_ESCAPES = (("__underscores__", "__"), ("__dot__", "."), ("__dash__", "-"), ("__slash__", "/"))


def faults(resource: Resource, schema: Mapping[str, Any], definitions: Mapping[str, Schema], version: str) -> Iterator[Fault]:
    """The rules that an object breaks, and those that could not be evaluated on it (warnings)."""
    value = copy.deepcopy(resource.manifest)
    if generated := resource.metadata.get("generateName"):
        value["metadata"].setdefault("name", f"{generated}00000")
    _default(schema, value)
    for path, rule, at in _rules(schema, definitions, value, ()):
        expression = str(rule["rule"])
        try:
            holds = _program(expression).execute({"self": at})
            message = None if holds is True else _message(rule, at)
        except (RuntimeError, TypeError, ValueError, LookupError) as error:
            reason = (str(error).splitlines() or ["no reason given"])[0]
            if isinstance(error, KeyError) and ".exists(" not in expression:
                # the API server meets it as well, and refuses; only an exists() may overlook it there and not here
                message = f"{_message(rule, at)} (there is no {reason})"
                yield Fault(rule=_id(rule), message=f"{dotted(path) or 'the object'}: {message} ({version})", resource=resource, path=path)
                continue
            if isinstance(error, KeyError):
                reason = f"no such key: {reason}"
            yield Fault(
                rule=RULE.id,
                severity="warning",
                message=f"{dotted(path) or 'the object'}: the rule {expression!r} could not be evaluated: {reason} ({version})",
                resource=resource,
                path=path,
                fix="Check it on a cluster: kubectl apply --dry-run=server.",
            )
            continue
        if message is not None:
            place = (*path, *(_field_path(rule) or _at_fault(expression, at, get(value, path))))
            shown = f"{dotted(place) or 'the object'}: {message} ({version})"
            yield Fault(rule=_id(rule), message=shown, resource=resource, path=place, fix=_fix(rule, path, place))


def _id(rule: Mapping[str, Any]) -> str:
    return ASKED if "of" in rule else RULE.id


def _fix(rule: Mapping[str, Any], path: FieldPath, place: FieldPath) -> str | None:
    """Which field to change and what has to hold then, unless the message says so already or nobody could read it."""
    expression = " ".join(str(rule["rule"]).split())
    if _id(rule) == ASKED or "message" not in rule or len(expression) > _READABLE:
        return None
    return f"Change {dotted(place) or 'the object'} so that `{expression}` holds, self being {dotted(path) or 'the object'}."


def matches(text: str, pattern: str) -> bool:
    """Whether a text matches a regular expression of a CRD: Go's and CEL's have one syntax, which is not Python's."""
    return bool(_MATCHES.execute({"text": text, "pattern": pattern}))


@functools.lru_cache(maxsize=4096)
def _program(expression: str) -> Any:
    return cel.compile(expression)


def _message(rule: Mapping[str, Any], at: Any) -> str:
    if "messageExpression" in rule:
        try:
            return str(_program(str(rule["messageExpression"])).execute({"self": at}))
        except (RuntimeError, TypeError, ValueError, LookupError):
            pass
    return str(rule.get("message") or f"breaks the rule {rule['rule']}").strip()


def _field_path(rule: Mapping[str, Any]) -> FieldPath:
    """The field that a rule names as the one at fault: .a.b"""
    return tuple(part for part in re.findall(r"[^.\[\]'\"]+", str(rule.get("fieldPath", ""))))


def _at_fault(expression: str, at: Any, value: Any) -> FieldPath:
    """The one part of a value, as deep as there is one, that the rule turns on: without it the rule holds.

    `at` is the value as CEL has it, of the same shape.
    """
    found: FieldPath = ()
    path: FieldPath = ()
    part, named = at, value
    while isinstance(part, dict | list) and len(part) <= _PARTS:
        steps = zip(_steps(part), _steps(named), strict=False)
        turning = [(step, name, holds) for step, name in steps if (holds := _holds_without(expression, at, part, step)) is not False]
        if len(turning) != 1:
            break
        step, name, holds = turning[0]
        part, named, path = part[step], named[name], (*path, name)
        found = path if holds else found
    return found


def _steps(part: dict[str, Any] | list[Any]) -> list[Any]:
    return list(part) if isinstance(part, dict) else list(range(len(part)))


def _holds_without(expression: str, at: Any, part: Any, step: Any) -> bool | None:
    """Whether a rule holds for a value without one of its parts, None where it cannot be evaluated then."""
    rest = {key: child for key, child in part.items() if key != step} if isinstance(part, dict) else [*part[:step], *part[step + 1 :]]
    try:
        return _program(expression).execute({"self": _replaced(at, part, rest)}) is True
    except (RuntimeError, TypeError, ValueError, LookupError):
        return None


def _replaced(value: Any, part: Any, other: Any) -> Any:
    """A value with another in the place of one of its parts."""
    if value is part:
        return other
    if isinstance(value, dict):
        return {key: _replaced(child, part, other) for key, child in value.items()}
    return [_replaced(child, part, other) for child in value] if isinstance(value, list) else value


def _rules(
    schema: Mapping[str, Any], definitions: Mapping[str, Schema], value: Any, path: FieldPath
) -> Iterator[tuple[FieldPath, Mapping[str, Any], Any]]:
    """Every rule with the value that it is about."""
    schema = resolved(schema, definitions)
    rules = [rule for rule in schema.get("x-kubernetes-validations", ()) if not _TRANSITION.search(str(rule.get("rule", "")))]
    escaped = _escaped(value, schema) if rules else None
    for rule in rules:
        yield path, rule, escaped
    if isinstance(value, dict):
        for key, child in value.items():
            yield from _rules(below(schema, key), definitions, child, (*path, key))
    elif isinstance(value, list) and isinstance(schema.get("items"), dict):
        for index, child in enumerate(value):
            yield from _rules(schema["items"], definitions, child, (*path, index))


def _default(schema: Mapping[str, Any], value: Any) -> None:
    """Fills in the defaults that the API server fills in before it evaluates rules."""
    if isinstance(value, dict):
        for key, child in schema.get("properties", {}).items():
            if key not in value and isinstance(child, dict) and "default" in child:
                value[key] = copy.deepcopy(child["default"])
        for key, child in value.items():
            _default(below(schema, key), child)
    elif isinstance(value, list) and isinstance(schema.get("items"), dict):
        for child in value:
            _default(schema["items"], child)


def _escaped(value: Any, schema: Mapping[str, Any]) -> Any:
    """A value with the names of its properties as CEL identifiers; keys of plain maps stay as they are."""
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        return {_name(key) if key in properties else key: _escaped(child, below(schema, key)) for key, child in value.items()}
    if isinstance(value, list):
        items = schema.get("items")
        return [_escaped(child, items if isinstance(items, dict) else {}) for child in value]
    return value


def _name(key: str) -> str:
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", key) and "__" not in key:
        return key
    for escape, plain in _ESCAPES:
        key = key.replace(plain, escape)
    return key
