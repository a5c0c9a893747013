"""What a kustomization does to custom resources without saying so: lists that a patch replaces, images that it does not reach.

Kustomize merges lists and rewrites images of the kinds that it knows. Judged by what comes out of the build, so that a
`configurations:` or `openapi:` file that teaches it the kind, or a later patch, counts.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from gate import cel, kustomization, locate, parts, render, source
from gate.kustomization import Layer
from gate.model import Fault, FieldPath, GateError, Manifest, Place, Resource, Unit, dotted, get
from gate.schemas import Catalog, below

LISTS = "kustomize/lists-kept"
IMAGES = "kustomize/images-followed"
_COMPONENTS = ("trainer", "jobset", "kueue", "volcano")
# What tells elements apart in lists that the API server replaces as well, so that a patch may mean it.
_TOLD_APART: dict[str, FieldPath] = {
    "levels": ("nodeLabel",),
    "members": ("selector", "exactMatch", "name"),
    "nodeTaints": ("key",),
    "tolerations": ("key",),
}
_BEHIND_THE_NAME = r"(:[a-zA-Z0-9_.{}-]*)?(@sha256:[a-zA-Z0-9_.{}-]*)?"
# A lost element: what it is called, and whether the API server would have kept it.
_Lost = tuple[str, bool]


def faults(unit: Unit, rendered: Sequence[Resource], catalog: Catalog) -> Iterator[Fault]:
    """Faults of the layers of a kustomization that was built, in what it rendered; the catalog tells the lists that are maps."""
    layers = kustomization.walk(unit.path) if unit.kustomization and rendered else []
    for this in layers:
        yield from _lists(this, layers, rendered, catalog)
        yield from _images(this, layers, rendered)


def _images(this: Layer, layers: Sequence[Layer], rendered: Sequence[Resource]) -> Iterator[Fault]:
    """TrainJobs that keep an image which the layer would rewrite if kustomize knew the field."""
    tags = [value.get("imageTag") for _, _, _, value in kustomization.transformers(this) if value.get("kind") == "ImageTagTransformer"]
    entries = [("images", entry) for entry in this.value.get("images") or []] + [("transformers", entry) for entry in tags]
    for resource in rendered if entries else ():
        image = get(resource.manifest, ("spec", "trainer", "image"))
        if resource.kind != "TrainJob" or not isinstance(image, str):
            continue
        wanted, by = image, ""
        for field, entry in entries:
            if (changed := _renamed(wanted, entry)) != wanted:
                wanted, by = changed, field
        if wanted == image:
            continue
        message = f"the image is {image}, of which `{by}:` of the kustomization makes {wanted}: it does not reach a TrainJob"
        fault = Fault(rule=IMAGES, message=message, resource=resource, path=("spec", "trainer", "image"))
        if locate.locate(fault).file in _before(this, layers):
            yield fault


def _renamed(image: str, entry: Any) -> str:
    """What an entry of `images:` makes of an image."""
    if not isinstance(entry, dict) or not _is_of(image, entry.get("name")):
        return image
    name, tag, digest = _split(image)
    new_tag, new_digest, suffix = (str(entry.get(field) or "") for field in ("newTag", "digest", "tagSuffix"))
    if new_tag or new_digest:
        tag, digest = new_tag, new_digest
    elif suffix and not tag.endswith(suffix):
        tag, digest = tag + suffix, ""
    return str(entry.get("newName") or name) + (f":{tag}" if tag else "") + (f"@{digest}" if digest else "")


def _is_of(image: str, name: Any) -> bool:
    """Whether an image has a name: to kustomize the name of an entry is a regular expression."""
    try:
        return isinstance(name, str) and cel.matches(image, f"^{name}{_BEHIND_THE_NAME}$")
    except (RuntimeError, ValueError):  # kustomize does not get over it, and builds nothing
        return False


def _split(image: str) -> tuple[str, str, str]:
    """Name, tag and digest; a colon in front of the first slash is a port."""
    host, slash, path = image.rpartition("/")
    path, _, digest = path.partition("@")
    path, _, tag = path.partition(":")
    return host + slash + path, tag, digest


def _before(this: Layer, layers: Sequence[Layer]) -> set[Path]:
    """The files of what a layer transforms: its own and those below; for a component what its parents accumulate."""
    under = [entry for parent in layers if this.folder in parent.components for entry in (*parent.resources, *parent.components)]
    found: set[Path] = set()
    for entry in under if this.is_component else [this.folder]:
        if entry.is_dir():
            found.update(file for each in kustomization.walk(entry) for file in kustomization.read(each))
        else:
            found.add(entry)
    return found


def _lists(this: Layer, layers: Sequence[Layer], rendered: Sequence[Resource], catalog: Catalog) -> Iterator[Fault]:
    """Elements that are gone because a strategic patch of a custom resource replaced their list."""
    for target, file, node, patch in parts.patch_documents(this):
        if not isinstance(patch, dict):
            continue
        for resource in rendered:
            kind = catalog.kinds.get((resource.api_version, resource.kind))
            if not kind or kind.component not in _COMPONENTS or not parts.patches(target, patch, resource.manifest):
                continue
            for path, lost in _replaced(_written(this, layers, resource), patch, resource.manifest, kind.schema, ()):
                _, line = source.find(node, path)
                message = f"the strategic-merge patch replaces the list {dotted(path)} of {resource}, and what it does not repeat is lost: "
                yield Fault(
                    rule=LISTS,
                    message=message + ", ".join(dict.fromkeys(name for name, _ in lost)),
                    resource=None,
                    place=Place(file=file, line=line),
                    severity="error" if any(certain for _, certain in lost) else "warning",
                )


def _written(this: Layer, layers: Sequence[Layer], resource: Resource) -> Manifest:
    """The object as a layer is given it: its name there is part of the rendered one."""
    beside = [path for each in layers if each.is_component or this.is_component for path in each.resources if path.is_file()]
    best: Manifest = {}
    for value in (value for path in dict.fromkeys((*this.resources, *beside)) for value in _values(path)):
        name = get(value, ("metadata", "name"))
        if value.get("kind") == resource.kind and isinstance(name, str) and name in resource.name:
            best = max(best, value, key=lambda each: len(str(get(each, ("metadata", "name"), ""))))
    return best


def _values(path: Path) -> Iterator[Manifest]:
    """The objects of a file, or of what a folder builds to."""
    try:
        values = [document.value for document in source.load(path)] if path.is_file() else render.build(path)
    except GateError:
        return  # it is reported when the build fails
    for value in values:
        for item in value["items"] if isinstance(value, dict) and isinstance(value.get("items"), list) else [value]:
            if isinstance(item, dict):
                yield item


def _replaced(before: Any, patch: Any, after: Any, schema: Mapping[str, Any], path: FieldPath) -> Iterator[tuple[FieldPath, list[_Lost]]]:
    """Lists of the patch, by their path in it, with the elements that were there and are not in the build any more."""
    if isinstance(patch, dict) and isinstance(before, dict) and isinstance(after, dict):
        for key, value in patch.items():
            if key in before and key in after:
                yield from _replaced(before[key], value, after[key], below(schema, key), (*path, key))
    elif isinstance(patch, list) and isinstance(before, list) and isinstance(after, list) and "$patch" not in str(patch):
        left_out = set(_lost(before, patch, schema, str(path[-1])))
        lost = [each for each in _lost(before, after, schema, str(path[-1])) if each in left_out]
        if lost:
            yield path, lost


def _lost(before: Any, after: Any, schema: Mapping[str, Any], field: str) -> Iterator[_Lost]:
    """Elements of the lists in a field that `after` lacks, those inside of others too; those without a name count as one."""
    if isinstance(before, dict):
        for key, value in before.items():
            yield from _lost(value, get(after, (key,)), below(schema, key), key)
    elif isinstance(before, list):
        inside = schema.get("items") or {}
        listed = after if isinstance(after, list) else []
        have = {name: item for item in listed if (name := _named(item, schema, field))}
        for item in before:
            name = _named(item, schema, field)
            if name and name not in have:
                yield name
            elif name:
                yield from _lost(item, have[name], inside, field)
        one, other = ([item for item in items if not _named(item, schema, field)] for items in (before, listed))
        yield from _lost(_folded(one), _folded(other), inside, field)


def _named(item: Any, schema: Mapping[str, Any], field: str) -> _Lost | None:
    """What an element is called: the keys of a list that is a map, else its `name`, else what tells it apart."""
    properties = get(schema, ("items", "properties"), {})
    keys = schema.get("x-kubernetes-list-map-keys") or ["name"]
    values = [get(item, (key,), get(properties, (key, "default"))) for key in keys]
    if all(isinstance(value, str | int) for value in values):
        return " ".join(map(str, values)), True
    value = get(item, _TOLD_APART[field]) if field in _TOLD_APART else None
    return (value, False) if isinstance(value, str) else None


def _folded(items: Sequence[Any]) -> Any:
    """Mappings as one, with the elements of all their lists: an element without a name may stand in another place."""
    if not all(isinstance(item, dict) for item in items):
        return None
    fields = {key: [item[key] for item in items if key in item] for key in dict.fromkeys(key for item in items for key in item)}
    return {
        key: list(itertools.chain(*values)) if all(isinstance(value, list) for value in values) else _folded(values)
        for key, values in fields.items()
    }
