"""Strategic merge as the API server does it, with a record of where every value came from.

Merge keys are read from Kubernetes' OpenAPI (x-kubernetes-patch-merge-key). Where a list has none it is replaced.
Trainer writes a patch from Go's types before it merges it, and what those leave out patches nothing: an empty list,
an optional string that is "", `readOnly: false`.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from gate.model import FieldPath, Step, get
from gate.schemas import resolved

Schema = Mapping[str, Any]
Origin = tuple[int, FieldPath]


class Traced:
    """A document and, for each place where its origin changes, the object and path that the value came from."""

    def __init__(self, value: Any, origin: Origin) -> None:
        self.value = copy.deepcopy(value)
        self.origins: dict[FieldPath, Origin] = {(): origin}

    def origin(self, path: FieldPath) -> Origin:
        """The object index and path in it that the value at `path` (present or absent) came from."""
        for length in range(len(path), -1, -1):
            if path[:length] in self.origins:
                index, start = self.origins[path[:length]]
                return index, (*start, *path[length:])
        raise AssertionError("the root always has an origin")

    def set(self, path: FieldPath, value: Any, origin: Origin) -> None:
        """Sets a value, making the mappings on the way."""
        parent = self.value
        for step in path[:-1]:
            parent = parent.setdefault(step, {}) if isinstance(parent, dict) else parent[step]
        last = path[-1]
        if isinstance(parent, list) and last == len(parent):
            parent.append(copy.deepcopy(value))
        else:
            parent[last] = copy.deepcopy(value)
        for known in [known for known in self.origins if known[: len(path)] == path]:
            del self.origins[known]
        self.origins[path] = origin

    def merge(self, path: FieldPath, patch: Any, origin: Origin, schema: Schema, definitions: Mapping[str, Schema]) -> None:
        """Merges a strategic patch into the value at `path`; `schema` describes that value."""
        schema = _resolved(schema, definitions)
        current = get(self.value, path)
        if isinstance(patch, dict) and isinstance(current, dict):
            for key, value in patch.items():
                below = schema.get("properties", {}).get(key) or _additional(schema)
                if not _left_out(key, value, schema):
                    self.merge((*path, key), value, _below(origin, key), below, definitions)
        elif isinstance(patch, list) and isinstance(current, list) and _merge_key(schema):
            self._merge_list(path, patch, origin, schema, definitions)
        else:
            self.set(path, patch, origin)

    def _merge_list(self, path: FieldPath, patch: list[Any], origin: Origin, schema: Schema, definitions: Mapping[str, Schema]) -> None:
        key = _merge_key(schema)
        before = [get(item, (key,)) for item in get(self.value, path)]
        for index, item in enumerate(patch):
            current: list[Any] = get(self.value, path)
            at = next((i for i, have in enumerate(current) if get(have, (key,)) == get(item, (key,))), len(current))
            self.merge((*path, at), item, _below(origin, index), schema.get("items", {}), definitions)
        merged = [get(item, (key,)) for item in get(self.value, path)]
        self._reorder(path, _merged_order(before, merged, [get(item, (key,)) for item in patch]))

    def _reorder(self, path: FieldPath, order: list[int]) -> None:
        """Puts the elements of a list in another order, each with its origin."""
        if order == sorted(order):
            return
        items = get(self.value, path)
        for index in range(len(items)):
            self.origins.setdefault((*path, index), self.origin((*path, index)))
        place = {old: new for new, old in enumerate(order)}
        items[:] = [items[old] for old in order]
        length = len(path)
        moved = {known: origin for known, origin in self.origins.items() if known[:length] == path and len(known) > length}
        for known in moved:
            del self.origins[known]
        for known, origin in moved.items():
            self.origins[(*path, place[int(known[length])], *known[length + 1 :])] = origin


def _merged_order(before: list[Any], keys: list[Any], patched: list[Any]) -> list[int]:
    """The order of a merged list as indices into it: the patch's elements in the patch's order, its new ones as early as can be.

    An element that only the list had stays in front of a patched one that it stood in front of (strategicpatch's
    normalizeElementOrder).
    """
    mine = sorted((i for i, key in enumerate(keys) if key in patched), key=lambda i: patched.index(keys[i]))
    others = sorted((i for i, key in enumerate(keys) if key not in patched), key=lambda i: before.index(keys[i]))
    order: list[int] = []
    while mine:
        if others and keys[mine[0]] in before and before.index(keys[others[0]]) < before.index(keys[mine[0]]):
            order.append(others.pop(0))
        else:
            order.append(mine.pop(0))
    return order + others


def _left_out(key: str, value: Any, schema: Schema) -> bool:
    """Whether Go leaves a value out when it writes a patch; a service account alone is held by pointer, and "" counts."""
    if value is None or (key == "readOnly" and value is False):
        return True
    return value in ("", []) and key in schema.get("properties", {}) and key not in (*schema.get("required", ()), "serviceAccountName")


def _below(origin: Origin, step: Step) -> Origin:
    return origin[0], (*origin[1], step)


def _resolved(schema: Schema, definitions: Mapping[str, Schema]) -> Schema:
    """Follows $ref, also one that stands alone in allOf; keeps the keys beside it (merge keys stand there)."""
    alone = schema.get("allOf", ())
    if len(alone) == 1 and "$ref" in alone[0]:
        schema = {**alone[0], **{key: value for key, value in schema.items() if key != "allOf"}}
    return resolved(schema, definitions)


def _additional(schema: Schema) -> Schema:
    additional = schema.get("additionalProperties")
    return additional if isinstance(additional, dict) else {}


def _merge_key(schema: Schema) -> str:
    """The merge key of a list that is merged, or "" for one that is replaced."""
    if "merge" in str(schema.get("x-kubernetes-patch-strategy", "")):
        return str(schema.get("x-kubernetes-patch-merge-key", ""))
    return ""
