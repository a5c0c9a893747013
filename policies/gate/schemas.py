"""JSON Schemas of the objects, per version: from the CRDs of pinned modules and from Kubernetes' OpenAPI.

A schema refuses what the API server would refuse or drop: unknown fields, wrong types, missing required fields,
two elements with one key in a list that is a map. Sources: policies/schemas/sources.yaml. What the API server and the
webhooks ask besides stands as parts of schemas in policies/schemas/asked.yaml, and the enumerations of Kubernetes are read
from its generated code.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from gate import source as yaml_source
from gate.model import GateError

Schema = dict[str, Any]
_FOLDER = Path(__file__).resolve().parent.parent / "schemas"
SOURCES = _FOLDER / "sources.yaml"
ASKED = _FOLDER / "asked.yaml"
# of what runs: the files may be other ones a moment later
CODE = hashlib.sha256(Path(__file__).read_bytes() + ASKED.read_bytes()).hexdigest()[:12]
_QUANTITY = r"^[+-]?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE][+-]?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
_FLAGS_INSIDE = re.compile(r"^(.+?)\(\?([ims]+)\)(.*)$", re.DOTALL)  # Go takes flags anywhere, Python at the beginning or for a group
# Required by the schema alone: the API server or a mutating webhook fills them in (seen with server-side dry runs).
_FILLED_IN = {
    "io.k8s.api.core.v1.HTTPHeader": ("value",),
    "io.k8s.api.core.v1.PreferredSchedulingTerm": ("preference",),
    "io.k8s.api.rbac.v1.RoleRef": ("apiGroup",),
    "io.k8s.api.scheduling.v1.PriorityClass": ("value",),
    "JobSet.jobset.x-k8s.io": ("spec", "failurePolicy", "rules", "name"),
}
# Not required by the schema alone: without it a mutating webhook trips, or fills in what the schema refuses (seen likewise).
_ASKED_FOR = {
    "TrainJob.trainer.kubeflow.org": (("spec",),),
    "Queue.scheduling.volcano.sh": (("spec",),),
    "JobSet.jobset.x-k8s.io": (
        ("spec", "replicatedJobs", "template", "spec"),
        ("spec", "replicatedJobs", "template", "spec", "template", "spec"),
    ),
}
_OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where the schemas of one component are read from; `versions` maps each known version to its module's hash."""

    component: str
    module: str
    versions: Mapping[str, str]
    default: str
    crds: str | None = None
    openapi: str | None = None
    enumerations: str | None = None
    minor: bool = False

    def resolve(self, wanted: str | None) -> str | None:
        """The known version that a cluster's entry means, or None where it is not known."""
        if wanted is None:
            return self.default
        if self.minor:
            prefix = ".".join(wanted.split(".")[:2]) + "."
            return next((version for version in self.versions if version.startswith(prefix)), None)
        return wanted if wanted in self.versions else None


@dataclasses.dataclass(frozen=True, slots=True)
class Kind:
    """One kind in one API version: its schema, where it lives, and the component that defines it."""

    schema: Schema
    namespaced: bool
    component: str


def below(schema: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """The schema of a field of an object; an empty one where nothing is said of it."""
    found = schema.get("properties", {}).get(key) or schema.get("additionalProperties")
    return found if isinstance(found, dict) else {}


@functools.cache
def sources() -> dict[str, Source]:
    """The known components in the order of sources.yaml."""
    (document,) = yaml_source.load(SOURCES)
    return {name: Source(component=name, **entry) for name, entry in document.value.items()}


class Catalog:
    """The schemas of all kinds that a cluster of the given versions has. Key: (apiVersion, kind)."""

    def __init__(self, versions: Mapping[str, str]) -> None:
        from gate import tools  # the cache is laid out there; a cycle at import otherwise

        self.versions: dict[str, str] = {}
        self.kinds: dict[tuple[str, str], Kind] = {}
        self.definitions: dict[str, Schema] = {}
        for name, source in sources().items():
            version = source.resolve(versions.get(name))
            if version is None:
                known = ", ".join(source.versions)
                raise GateError(f"versions.{name}: {versions[name]} is not known (known: {known}); add it to policies/schemas/sources.yaml")
            file = tools.schema_file(name, version)
            if not file.exists():
                raise GateError(f"the schemas of {name} {version} are missing ({file}): run `make setup`")
            stored = json.loads(file.read_text(encoding="utf-8"))
            self.versions[name] = version
            self.definitions.update(stored["definitions"])
            for key, entry in stored["kinds"].items():
                api_version, _, kind = key.rpartition("/")
                self.kinds[(api_version, kind)] = Kind(entry["schema"], entry["namespaced"], name)
        for (api_version, kind), of in self.kinds.items():
            _add(of.schema, _asked().get(f"{kind}.{api_version.rpartition('/')[0]}", {}), self.definitions)

    def scopes(self) -> tuple[list[str], list[str]]:
        """The cluster-scoped and the namespaced kinds as Kind.group (core: Kind)."""
        names: tuple[set[str], set[str]] = (set(), set())
        for (api_version, kind), entry in self.kinds.items():
            group = api_version.rpartition("/")[0]
            names[entry.namespaced].add(f"{kind}.{group}" if group else kind)
        return sorted(names[False]), sorted(names[True])

    def groups(self) -> set[str]:
        return {api_version.rpartition("/")[0] for api_version, _ in self.kinds}


@functools.cache
def catalog(versions: tuple[tuple[str, str], ...]) -> Catalog:
    """The catalog for the `versions` of a cluster.yaml as sorted pairs. Raises GateError for an unknown version."""
    return Catalog(dict(versions))


def extract(source: Source, module: Path) -> dict[str, Any]:
    """{"kinds": {"apiVersion/Kind": {"schema", "namespaced"}}, "definitions"} from the files of an unpacked module."""
    if source.openapi:
        swagger = json.loads((module / source.openapi).read_text(encoding="utf-8"))
        generated = (module / source.enumerations).read_text(encoding="utf-8") if source.enumerations else ""
        return _from_openapi(swagger, _enumerations(generated))
    kinds: dict[str, Any] = {}
    for file in sorted(module.glob(source.crds or "")):
        for document in yaml_source.load(file):
            if document.value.get("kind") == "CustomResourceDefinition":
                kinds.update(_from_crd(document.value))
    if not kinds:
        raise GateError(f"{source.module}: no CustomResourceDefinition in {source.crds}")
    return {"kinds": kinds, "definitions": {}}


def _from_crd(crd: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    spec = crd["spec"]
    for version in spec["versions"]:
        if not version.get("served", True):
            continue
        schema = _close(version.get("schema", {}).get("openAPIV3Schema", {"x-kubernetes-preserve-unknown-fields": True}))
        properties = schema.setdefault("properties", {})
        properties["apiVersion"] = properties["kind"] = {"type": "string"}
        properties["metadata"] = {"$ref": f"#/definitions/{_OBJECT_META}"}
        schema["required"] = sorted({*schema.get("required", []), "apiVersion", "kind", "metadata"})
        kind = f"{spec['names']['kind']}.{spec['group']}"
        _leave_out(schema, _FILLED_IN.get(kind, ()))
        for path in _ASKED_FOR.get(kind, ()):
            at = _parent(schema, path)
            at["required"] = sorted({*at.get("required", ()), path[-1]})
        key = f"{spec['group']}/{version['name']}/{spec['names']['kind']}"
        yield key, {"schema": schema, "namespaced": spec["scope"] == "Namespaced"}


def _close(schema: Any) -> Any:
    """A structural schema as JSON Schema that refuses what the API server would prune."""
    if not isinstance(schema, dict):
        return schema
    out: Schema = {}
    for key, value in schema.items():
        if key in ("properties", "patternProperties", "definitions"):
            out[key] = {name: _close(child) for name, child in value.items()}
        elif key in ("items", "additionalProperties", "not"):
            out[key] = _close(value)
        elif key in ("allOf", "anyOf", "oneOf"):
            # inside a combination properties only add conditions: closing them would refuse their siblings
            out[key] = value
        elif key == "pattern":
            out[key] = _FLAGS_INSIDE.sub(r"\1(?\2:\3)", value)
        elif key not in ("description", "example", "externalDocs", "title"):
            out[key] = value
    if out.get("x-kubernetes-embedded-resource"):
        out["x-kubernetes-preserve-unknown-fields"] = True
    preserved = out.get("x-kubernetes-preserve-unknown-fields")
    if out.get("type") == "object" and "additionalProperties" not in out and not preserved:
        out["additionalProperties"] = False
    if out.get("type") == "integer" or out.get("x-kubernetes-int-or-string"):
        out.setdefault("format", "int64")
    if out.pop("nullable", False) and isinstance(out.get("type"), str):
        out["type"] = [out["type"], "null"]
    return out


def _from_openapi(swagger: Mapping[str, Any], enumerations: Mapping[str, Schema]) -> dict[str, Any]:
    definitions = {name: _close_definition(name, schema) for name, schema in swagger["definitions"].items()}
    for more in (enumerations, _asked()):
        for name in more.keys() & definitions.keys():
            _add(definitions[name], more[name], {})
    namespaced: dict[str, bool] = {}
    for path, operations in swagger["paths"].items():
        for operation in operations.values():
            gvk = isinstance(operation, dict) and operation.get("x-kubernetes-group-version-kind")
            if gvk and operation.get("x-kubernetes-action") in ("post", "put"):
                key = _key(gvk)
                namespaced[key] = namespaced.get(key, False) or "/namespaces/{namespace}/" in path
    kinds = {}
    for name, schema in swagger["definitions"].items():
        for gvk in schema.get("x-kubernetes-group-version-kind", []):
            key = _key(gvk)
            if key in namespaced:
                body = {**definitions[name], "required": sorted({*definitions[name].get("required", []), "apiVersion", "kind", "metadata"})}
                kinds[key] = {"schema": body, "namespaced": namespaced[key]}
    return {"kinds": kinds, "definitions": definitions}


def _enumerations(generated: str) -> dict[str, Schema]:
    """The values that Kubernetes' generated OpenAPI code lists for a field or a list's elements; the published file has none.

    An empty text is a field that is left out. Status is left out: the API server takes none from an object that is made.
    """
    found: dict[str, Schema] = {}
    definition = field = ""
    for line in generated.splitlines():
        if match := re.match(r"func schema_k8sio_(\w+)\(", line):
            definition = "io.k8s." + match[1].replace("_", ".")
        elif line.startswith("func "):
            definition = ""
        elif match := re.match(r'\t{5}"([^"]+)": \{', line):
            field = match[1]
        elif definition and not definition.endswith("Status") and (match := re.match(r"(\t+)Enum: *\[\]interface\{\}\{(.*)\}", line)):
            values: Schema = {"enum": [*json.loads(f"[{match[2]}]"), ""]}
            own = len(match[1]) == 7
            found.setdefault(definition, {"properties": {}})["properties"][field] = values if own else {"items": values}
    return found


@functools.cache
def _asked() -> dict[str, Schema]:
    """The parts of schemas in asked.yaml by definition, for custom resources by Kind.group."""
    (document,) = yaml_source.load(ASKED)
    return {name: _marked(part) for name, part in document.value.items() if not name.startswith("_")}


def _marked(part: Any) -> Any:
    """The same with a mark at each rule in CEL: it is no rule of a CRD."""
    if isinstance(part, list):
        return [_marked(each) for each in part]
    if isinstance(part, dict):
        return {key: _marked(value) for key, value in part.items()} | ({"of": ASKED.stem} if isinstance(part.get("rule"), str) else {})
    return part


# What a built-in type asks wherever it stands: a custom resource that holds one says by itself which fields it wants.
_PASSED_ON = (
    *("enum", "minimum", "maximum", "exclusiveMinimum", "minLength", "maxLength", "minItems", "maxItems", "pattern", "title", "allOf"),
    "x-kubernetes-validations",
)
_JOINED = ("required", "allOf", "x-kubernetes-validations")


def _add(schema: Schema, more: Mapping[str, Any], definitions: Mapping[str, Schema], *, whole: bool = True, beside: bool = False) -> None:
    """Adds a part of a schema, in which a $ref means what that type asks; a field that this version lacks is passed over.

    Which fields there are is not known `beside` a $ref.
    """
    beside = beside or "$ref" in schema
    if "$ref" in more:
        _add(schema, definitions[more["$ref"].rpartition("/")[2]], definitions, whole=False, beside=beside)
    if "pattern" in more and "pattern" in schema:
        schema["allOf"] = [*schema.get("allOf", ()), {key: more[key] for key in ("pattern", "title") if key in more}]
        more = {key: value for key, value in more.items() if key not in ("pattern", "title")}
    for key, value in more.items():
        if key == "properties":
            for name, child in value.items():
                if beside or name in schema.get(key, {}):
                    _add(schema.setdefault(key, {}).setdefault(name, {}), child, definitions, whole=whole, beside=beside)
        elif key in ("items", "additionalProperties"):
            if (beside or isinstance(schema.get(key), dict)) and isinstance(value, dict):
                _add(schema.setdefault(key, {}), value, definitions, whole=whole, beside=beside)
        elif key == "$ref" or not (whole or key in _PASSED_ON):
            continue
        elif key in _JOINED:
            schema[key] = [*schema.get(key, ()), *value]
        else:
            schema[key] = value


def resolved(schema: Mapping[str, Any], definitions: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    """The schema that a $ref means, with what stands beside it."""
    while "$ref" in schema:
        beside = {key: value for key, value in schema.items() if key != "$ref"}
        schema = _joined(definitions[schema["$ref"].rpartition("/")[2]], beside)
    return schema


def _joined(one: Any, other: Any) -> Any:
    """What two schemas say of one value."""
    if not one or not other or not isinstance(one, dict):
        return other or one
    found = {**one, **other}
    for key in one.keys() & other.keys():
        if key == "properties":
            found[key] = {**one[key], **{name: _joined(one[key].get(name), schema) for name, schema in other[key].items()}}
        elif key in ("items", "additionalProperties"):
            found[key] = _joined(one[key], other[key])
        elif key in _JOINED:
            found[key] = [*one[key], *other[key]]
    return found


def _key(gvk: Mapping[str, str]) -> str:
    return "/".join(part for part in (gvk["group"], gvk["version"], gvk["kind"]) if part)


def _close_definition(name: str, schema: Schema) -> Schema:
    if name.endswith("api.resource.Quantity"):
        return {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "number"}, {"type": "string", "pattern": _QUANTITY}]}
    if name.endswith("util.intstr.IntOrString"):
        return {"x-kubernetes-int-or-string": True, "format": "int32", "anyOf": [{"type": "integer"}, {"type": "string"}]}
    if schema.get("type") == "object" and not schema.get("properties"):
        # FieldsV1, RawExtension and the like: an object of any shape
        return {"type": "object"}
    closed: Schema = _close(schema)
    # list-map keys of built-in kinds are not enforced by the API server as CRDs' are
    kept: Schema = _without(closed, ("x-kubernetes-list-map-keys", "x-kubernetes-list-type", "x-kubernetes-group-version-kind"))
    _leave_out(kept, _FILLED_IN.get(name, ()))
    return kept


def _leave_out(schema: Schema, path: tuple[str, ...]) -> None:
    """Makes the field at a path one that need not be there."""
    at = _parent(schema, path)
    if path and path[-1] in at.get("required", ()):
        at["required"] = [field for field in at["required"] if field != path[-1]]


def _parent(schema: Schema, path: tuple[str, ...]) -> Schema:
    """The schema of what holds the field at a path, in lists its elements'."""
    for field in path[:-1]:
        schema = schema["properties"][field]
        schema = schema.get("items", schema)
    return schema


def _without(value: Any, keys: tuple[str, ...]) -> Any:
    """A schema and all below it without some keywords; properties of those names stay, as a CustomResourceDefinition has them."""
    if isinstance(value, list):
        return [_without(child, keys) for child in value]
    if not isinstance(value, dict):
        return value
    properties = (
        {"properties": {name: _without(child, keys) for name, child in value["properties"].items()}} if "properties" in value else {}
    )
    return {key: _without(child, keys) for key, child in value.items() if key not in (*keys, "properties")} | properties
