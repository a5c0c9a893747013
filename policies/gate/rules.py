"""The rules: what their METADATA says of them, and the bundle that OPA loads. One place for both kinds of rules.

Most rules are Rego files (policies/rules). The few that judge how a target is built, before there are objects, are
Python and are described here in the same terms.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from gate import against, cel, followed, kustomization, process, quantities, render, scripts, tools, validate, waivers
from gate.model import GateError, Rule

FOLDER = tools.POLICIES / "rules"
# Nothing that reads the environment, reaches the network or gives two answers to one question.
_FORBIDDEN = {"http.send", "opa.runtime", "net.lookup_ip_addr", "rand.intn", "uuid.rfc4122", "time.now_ns", "trace", "print"}


_BUILT_IN = (
    Rule(
        id=validate.RULE,
        title="Every object fits the schema of the version that the cluster runs",
        description="Unknown fields are refused by the API server or dropped without a word, so what they were meant to do never happens. "
        "The schemas are the CRDs and the OpenAPI of the versions in cluster.yaml. What the API server's own code asks of a built-in kind "
        "is asked as well, also of the pods in a runtime or a run: those are taken as they are, and no Job or pod can be made of them.",
        severity="error",
        fix="Write the field as the schema of that version has it.",
        example="spec:\n  podTemplateOverrides: []   # Trainer 2.1 only",
        waivable=False,
        seen=(
            "lab: tests/lab/test_claims.py::test_an_unknown_field_is_refused_or_dropped",
            "lab: tests/lab/test_argocd.py::test_a_broken_run_says_why_and_harms_no_other",
            "lab: tests/lab/test_gate_and_cluster.py::test_what_is_refused_later_makes_no_job",
            "lab: tests/lab/test_validation.py::test_mutated_objects_are_judged_alike",
            "source: kubernetes pkg/apis/core/validation/validation.go",
        ),
    ),
    Rule(
        id=kustomization.NO_REMOTE,
        title="A build reads this repository and nothing else",
        description="A remote resource changes without a pull request, and building it lets a pull request reach the network. "
        "The target is not built.",
        severity="error",
        fix="Keep the manifest in this repository and name it by its path.",
        example="resources:\n- https://example.com/runtime.yaml",
        waivable=False,
        seen=(
            "lab: tests/gate/test_hostile.py::test_nothing_is_fetched_whatever_names_it",
            "source: kustomize internal/loader/fileloader.go",
        ),
    ),
    Rule(
        id=kustomization.NO_PLUGINS,
        title="A build starts no other program",
        description="Helm charts and function plugins run programs of a pull request's choice wherever the build allows them "
        "(--enable-helm, --enable-alpha-plugins); elsewhere the build fails. The target is not built.",
        severity="error",
        fix="Use kustomize's built-in generators, transformers and patches.",
        example="helmCharts:\n- name: trainer",
        waivable=False,
        seen=(
            "lab: tests/gate/test_cli.py::test_a_build_that_would_reach_out_is_not_built",
            "source: kustomize internal/builtins/HelmChartInflationGenerator.go",
            "source: kustomize internal/plugins/loader/loader.go",
        ),
    ),
    Rule(
        id=followed.LISTS,
        title="A strategic-merge patch of a custom resource loses no element of a list",
        description="Kustomize has no merge keys for custom resources: a list in such a patch takes the place of the whole list. "
        "Containers, variables, volumes, flavors or runtimePatches that the patch does not repeat are gone, and the build does not say "
        "so. A warning for lists that the API server replaces too: tolerations, taints, levels of a topology, members of a HyperNode.",
        severity="error",
        fix="Use a JSON 6902 patch (`op: add`, path ending in `/-`), or repeat the whole list in the patch.",
        example="patches:\n- patch: |\n    kind: TrainJob\n    metadata: {name: run-1}\n"
        '    spec: {trainer: {env: [{name: EPOCHS, value: "3"}]}}   # every other variable is gone',
        references=(("https://github.com/kubernetes-sigs/kustomize/issues/2825", "lists of custom resources are replaced"),),
        seen=(
            "lab: tests/gate/test_followed.py::test_a_patch_that_loses_variables",
            "lab: tests/gate/test_followed.py::test_a_patch_that_loses_elements",
            "source: kyaml yaml/walk/walk.go",
        ),
    ),
    Rule(
        id=followed.IMAGES,
        title="What `images:` sets reaches the TrainJobs",
        description="Kustomize rewrites containers[].image wherever it finds it, also in a runtime, but not spec.trainer.image of a "
        "TrainJob, which takes precedence: the run starts with the old image.",
        severity="error",
        fix="Let a `configurations:` file name the field, `images: [{path: spec/trainer/image, kind: TrainJob}]` (for an "
        "ImageTagTransformer its own `fieldSpecs`), or write the image there.",
        example='images: [{name: registry.example/tf, newTag: "2.15-r3"}]   # and a TrainJob with trainer.image registry.example/tf:2.14',
        references=(("https://github.com/kubernetes-sigs/kustomize/issues/3130", "images in custom resources"),),
        seen=(
            "lab: tests/gate/test_followed.py::test_an_image_that_is_not_reached",
            "source: kustomize filters/imagetag/legacy.go",
            "source: trainer pkg/runtime/framework/plugins/jobset/builder.go",
        ),
    ),
    Rule(
        id=render.SELF_CONTAINED,
        title="A run depends on nothing outside of its folder",
        description="A TrainJob cannot be edited once it exists. A run that builds on a base or an overlay changes with the next "
        "commit there: Trainer refuses the change and Argo CD retries it for ever.",
        severity="error",
        fix="Copy what the run needs into its folder: `gate new run` makes such a folder.",
        example="# clusters/lab/runs/mine/kustomization.yaml\nresources:\n- ../../../../overlays/no-ib-kueue",
        seen=(
            "lab: tests/gate/test_estate.py::test_a_run_is_frozen",
            "lab: tests/lab/test_argocd.py::test_an_edited_run_goes_on_as_it_was",
            "source: trainer pkg/apis/trainer/v1alpha1/trainjob_types.go",
        ),
    ),
)


@functools.cache
def rules() -> dict[str, Rule]:
    """All rules by id, sorted. Raises GateError where a rule's METADATA lacks what every rule must say."""
    compiled = _compiled()
    described = json.loads((compiled / "rules.json").read_text(encoding="utf-8"))
    found = [
        *_BUILT_IN,
        cel.RULE,
        quantities.RULE,
        *waivers.RULES,
        against.RULE,
        *scripts.rules(),
        *(_described(entry) for entry in described.get("annotations", []) if _package(entry)[:1] == ["rules"]),
    ]
    return {rule.id: rule for rule in sorted(found, key=lambda rule: rule.id)}


def bundle() -> Path:
    """The compiled rules for `opa run`."""
    return _compiled() / "bundle.tar.gz"


def _package(entry: dict[str, Any]) -> list[str]:
    return [str(part["value"]) for part in entry["path"][1:]]


def _described(entry: dict[str, Any]) -> Rule:
    annotations = entry["annotations"]
    custom = annotations.get("custom", {})
    file = FOLDER / Path(*_package(entry)[1:]).with_suffix(".rego")
    lacking = [
        key
        for key, have in (("title", annotations), ("description", annotations), ("severity", custom), ("fix", custom))
        if not have.get(key)
    ]
    if lacking:
        raise GateError(f"METADATA lacks {', '.join(lacking)}", file=file)
    return Rule(
        id="/".join(_package(entry)[1:]).replace("_", "-"),
        title=annotations["title"],
        description=annotations["description"].strip(),
        severity=custom["severity"],
        fix=custom["fix"].strip(),
        example=custom.get("example", "").rstrip(),
        references=tuple((ref["ref"], ref.get("description", "")) for ref in annotations.get("related_resources", [])),
        seen=tuple(custom.get("seen", ())),
        symptoms=tuple(custom.get("symptoms", ())),
        needs_cluster=custom.get("needs") == "cluster",
        file=file,
    )


@functools.cache
def _compiled() -> Path:
    """The folder of bundle and METADATA for the rules as they are now; compiled again when a file has changed."""
    files = sorted(path for path in FOLDER.rglob("*") if path.suffix in (".rego", ".yaml") and not path.stem.endswith("_test"))
    folder = tools.cache() / "rules" / _digest(files)
    if (folder / "rules.json").exists():
        return folder
    opa = tools.binary("opa")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".making-") as name:
        making = Path(name) / "rules"
        making.mkdir()
        current = json.loads(process.run([opa, "capabilities", "--current"]))
        current["builtins"] = [builtin for builtin in current["builtins"] if builtin["name"] not in _FORBIDDEN]
        current["allow_net"] = []
        (making / "capabilities.json").write_text(json.dumps(current), encoding="utf-8")
        ignore = ["--ignore", "*_test.rego"]
        process.run([opa, "build", "-b", FOLDER, *ignore, "--capabilities", making / "capabilities.json", "-o", making / "bundle.tar.gz"])
        described = process.run([opa, "inspect", "-a", "-f", "json", making / "bundle.tar.gz"])
        (making / "rules.json").write_text(described, encoding="utf-8")
        try:
            making.rename(folder)
        except OSError:  # another gate was faster; its result is the same
            if not (folder / "rules.json").exists():
                raise
    return folder


def _digest(files: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in (Path(__file__), *files):
        digest.update(str(path.name).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def explained(rule: Rule) -> str:
    """What `gate explain` prints."""
    parts = [f"{rule.id} ({rule.severity})", rule.title, "", rule.description, "", f"Fix: {rule.fix}"]
    if rule.needs_cluster:
        parts += ["", "Applied only where the cluster is known: a folder below clusters/, or --cluster."]
    if not rule.waivable:
        parts += ["", "Cannot be waived."]
    if rule.symptoms:
        parts += ["", "Seen as:", *(f"  {symptom}" for symptom in rule.symptoms)]
    if rule.example:
        parts += ["", "An example of the fault:", *(f"  {line}" for line in rule.example.splitlines())]
    if rule.seen:
        parts += ["", "Where this was seen:", *(f"  {place}" for place in rule.seen)]
    if rule.references:
        parts += ["", *(f"{url}  {what}".rstrip() for url, what in rule.references)]
    return "\n".join(parts)


def troubleshooting() -> str:
    """The table of symptoms in the README: as people search for them, with cause, rule and fix."""
    rows = ["| symptom | cause | rule | fix |", "| --- | --- | --- | --- |"]
    found = [(symptom, rule) for rule in rules().values() for symptom in rule.symptoms]
    for symptom, rule in sorted(found, key=lambda entry: entry[0].lower()):
        cause = " ".join(re.split(r"(?<=\.) ", " ".join(rule.description.split()))[:2])
        cells = (symptom, cause, f"`{rule.id}`", rule.fix)
        rows.append("| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(rows)


def table() -> str:
    """The table of rules in policies/README.md."""
    rows = ["| rule | severity | what must hold | judged without a cluster |", "| --- | --- | --- | --- |"]
    for rule in rules().values():
        title = rule.title.replace("|", "\\|")
        rows.append(f"| `{rule.id}` | {rule.severity} | {title} | {'no' if rule.needs_cluster else 'yes'} |")
    return "\n".join(rows)


def pairs() -> str:
    """The table of versions in clusters/README.md."""
    known = yaml.safe_load((FOLDER / "lib" / "versions" / "data.yaml").read_text(encoding="utf-8"))
    rows = ["| release | with | tried by upstream | written in | in the lab |", "| --- | --- | --- | --- | --- |"]
    for pair in known["pairs"]:
        written = ", ".join(f"`{file}`" for file in pair["sources"])
        one, other = known["lab"].get(pair["of"]), known["lab"].get(pair["with"])
        for version, tried in pair["tried"].items():
            lab = other if version == one and other not in tried else ""
            rows.append(f"| {pair['of']} {version} | {pair['with']} | {', '.join(tried)} | {written} | {lab} |")
    return "\n".join(rows)


def evidence() -> str:
    """The table in policies/README.md that says where the claim of each rule was seen; links lead from there."""
    rows = ["| rule | shown by a test | read in the source | reported, documented |", "| --- | --- | --- | --- |"]
    for rule in rules().values():
        tests = [place.removeprefix("lab: ").partition("::") for place in rule.seen if place.startswith("lab: ")]
        cells = (
            f"`{rule.id}`",
            ", ".join(f"[{test}](../{file})" for file, _, test in tests),
            ", ".join(place.removeprefix("source: ") for place in rule.seen if place.startswith("source: ")),
            ", ".join(f"[{_shortened(url)}]({url})" for url, _ in rule.references),
        )
        rows.append("| " + " | ".join(cells) + " |")
    return "\n".join(rows)


def _shortened(url: str) -> str:
    """REPOSITORY#NUMBER of a report, the file's name in a repository, else the page's address."""
    host, *path = url.partition("//")[2].partition("#")[0].rstrip("/").split("/")
    if host != "github.com" or len(path) < 3:
        return "/".join([host, *path])
    repository, kind, name = path[1], path[2], path[-1]
    return f"{repository}#{name}" if kind in ("issues", "pull") else f"{repository} {name}"
