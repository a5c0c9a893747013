"""Where a person has to edit: every way in which kustomize can bring a wrong value into an object.

The wrong value is always a number where the schema wants a string, marked by HERE in the file that sets it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from gate import locate, render
from gate.model import Fault, FieldPath, Resource, Unit, get
from tests.command import report

SETTINGS = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\n  namespace: default\ndata:\n  mode: plain\n"
RUNTIME = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata:
  name: torch
  labels: {trainer.kubeflow.org/framework: torch}
spec:
  mlPolicy: {numNodes: 1, torch: {}}
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          metadata:
            labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}
          spec:
            template:
              spec:
                containers:
                - name: helper
                  image: registry.example/helper:1
                - name: node
                  image: registry.example/torch:1
                  env:
                  - {name: FIRST, value: "1"}
                  - {name: MODE, value: plain}
"""
ENV_PATH = ("spec", "template", "spec", "replicatedJobs", 0, "template", "spec", "template", "spec", "containers", 1, "env")
ENV = "/spec/template/spec/replicatedJobs/0/template/spec/template/spec/containers/1/env"

CASES: dict[str, dict[str, str]] = {
    "in a base, three layers down": {
        "kustomization.yaml": "resources: [middle]\nnamePrefix: a-\n",
        "middle/kustomization.yaml": "resources: [../base]\nnameSuffix: -b\nnamespace: team\n",
        "base/kustomization.yaml": "resources: [settings.yaml]\n",
        "base/settings.yaml": SETTINGS + "  size: 5 # HERE\n",
    },
    "in the second document of a file": {
        "kustomization.yaml": "resources: [all.yaml]\n",
        "all.yaml": SETTINGS.replace("name: settings", "name: other") + "---\n" + SETTINGS + "  size: 5 # HERE\n",
    },
    "in a list of a file": {
        "kustomization.yaml": "resources: [all.yaml]\n",
        "all.yaml": "apiVersion: v1\nkind: List\nitems:\n"
        + "- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: one, namespace: default}\n  data: {a: b}\n"
        + "- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: two, namespace: default}\n  data:\n    size: 5 # HERE\n",
    },
    "in a strategic patch of its own file": {
        "kustomization.yaml": "resources: [settings.yaml]\npatches:\n- path: patch.yaml\n",
        "settings.yaml": SETTINGS,
        "patch.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: default}\ndata:\n  mode: 5 # HERE\n",
    },
    "in an inline strategic patch": {
        "kustomization.yaml": "resources: [settings.yaml]\npatches:\n- target: {kind: ConfigMap}\n  patch: |\n    apiVersion: v1\n    kind: ConfigMap\n"
        "    metadata: {name: any}\n    data:\n      mode: 5 # HERE\n",
        "settings.yaml": SETTINGS,
    },
    "in the old field patchesStrategicMerge": {
        "kustomization.yaml": "resources: [settings.yaml]\npatchesStrategicMerge: [patch.yaml]\n",
        "settings.yaml": SETTINGS,
        "patch.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: default}\ndata:\n  mode: 5 # HERE\n",
    },
    "in a JSON 6902 patch of its own file": {
        "kustomization.yaml": "resources: [runtime.yaml]\npatches:\n- path: patch.yaml\n  target: {kind: ClusterTrainingRuntime, name: torch}\n",
        "runtime.yaml": RUNTIME,
        "patch.yaml": f"- op: replace\n  path: {ENV}/1/value\n  value: 5 # HERE\n",
    },
    "in an inline JSON 6902 patch that appends": {
        "kustomization.yaml": "resources: [runtime.yaml]\npatches:\n- target: {kind: ClusterTrainingRuntime}\n  patch: |-\n    - op: test\n"
        f"      path: /kind\n      value: ClusterTrainingRuntime\n    - op: add\n      path: {ENV}/-\n      value:\n        name: NEW\n        value: 5 # HERE\n",
        "runtime.yaml": RUNTIME,
    },
    "in a base below a patch that moves the list": {
        "kustomization.yaml": "resources: [runtime.yaml]\npatches:\n- path: patch.yaml\n  target: {kind: ClusterTrainingRuntime}\n",
        "runtime.yaml": RUNTIME.replace("value: plain}", "value: 5} # HERE"),
        "patch.yaml": f"- op: add\n  path: {ENV}/0\n  value: {{name: ZERO, value: zero}}\n",
    },
    "in the last of two patches": {
        "kustomization.yaml": "resources: [settings.yaml]\npatches:\n- path: one.yaml\n- path: two.yaml\n",
        "settings.yaml": SETTINGS,
        "one.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: default}\ndata:\n  mode: 4\n",
        "two.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: default}\ndata:\n  mode: 5 # HERE\n",
    },
    "in a component": {
        "kustomization.yaml": "resources: [settings.yaml]\ncomponents: [component]\n",
        "settings.yaml": SETTINGS,
        "component/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches:\n- path: patch.yaml\n",
        "component/patch.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: default}\ndata:\n  mode: 5 # HERE\n",
    },
    "in a component of a base, the name changed above": {
        "kustomization.yaml": "resources: [base]\nnamePrefix: eu-\npatches:\n- target: {kind: ConfigMap}\n"
        "  patch: |-\n    - {op: add, path: /data/other, value: fine}\n",
        "base/kustomization.yaml": "resources: [settings.yaml]\ncomponents: [../component]\n",
        "base/settings.yaml": SETTINGS,
        "component/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches:\n- path: patch.yaml\n"
        "  target: {kind: ConfigMap, name: settings}\n",
        "component/patch.yaml": "- op: replace\n  path: /data/mode\n  value: 5 # HERE\n",
    },
    "in the source of a replacement": {
        "kustomization.yaml": "resources: [settings.yaml, number.yaml]\nreplacements:\n- path: follow.yaml\n",
        "settings.yaml": SETTINGS,
        "number.yaml": "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: number, namespace: default}\nspec:\n  accessModes: [ReadWriteOnce]\n"
        "  resources:\n    requests:\n      storage: 5 # HERE\n",
        "follow.yaml": "source: {kind: PersistentVolumeClaim, name: number, fieldPath: spec.resources.requests.storage}\n"
        "targets:\n- select: {kind: ConfigMap, name: settings}\n  fieldPaths: [data.size]\n  options: {create: true}\n",
    },
    "in the object whose name holds another's": {
        "kustomization.yaml": "resources: [all.yaml]\n",
        "all.yaml": SETTINGS + "---\n" + SETTINGS.replace("name: settings", "name: settings-big") + "  size: 5 # HERE\n",
    },
    "in the other namespace": {
        "kustomization.yaml": "resources: [all.yaml]\n",
        "all.yaml": SETTINGS.replace("namespace: default", "namespace: other") + "---\n" + SETTINGS + "  size: 5 # HERE\n",
    },
    "in the replacement that selects the object": {
        "kustomization.yaml": "resources: [settings.yaml, other.yaml, one.yaml, two.yaml]\nreplacements:\n- path: follow.yaml\n",
        "settings.yaml": SETTINGS,
        "other.yaml": SETTINGS.replace("name: settings", "name: other"),
        "one.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one, namespace: default}\ndata:\n  size: five\n",
        "two.yaml": "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: two, namespace: default}\nspec:\n"
        "  accessModes: [ReadWriteOnce]\n  resources:\n    requests:\n      storage: 5 # HERE\n",
        "follow.yaml": "- source: {kind: PersistentVolumeClaim, name: two, fieldPath: spec.resources.requests.storage}\n"
        "  targets:\n  - select: {kind: ConfigMap, name: settings}\n    fieldPaths: [data.size]\n    options: {create: true}\n"
        "- source: {kind: ConfigMap, name: one, fieldPath: data.size}\n"
        "  targets:\n  - select: {kind: ConfigMap, name: other}\n    fieldPaths: [data.size]\n    options: {create: true}\n",
    },
    "in one of several variants of a base": {
        "kustomization.yaml": "resources: [plain, marked]\n",
        "base/kustomization.yaml": "resources: [settings.yaml]\n",
        "base/settings.yaml": SETTINGS,
        "plain/kustomization.yaml": "resources: [../base]\nnamePrefix: a-\n",
        "marked/kustomization.yaml": "resources: [../base]\nnamePrefix: b-\npatches:\n- target: {kind: ConfigMap}\n  patch: |-\n"
        "    - op: add\n      path: /data/size\n      value: 5 # HERE\n",
    },
    "in an unknown field of a patch": {
        "kustomization.yaml": "resources: [settings.yaml]\npatches:\n- path: patch.yaml\n",
        "settings.yaml": SETTINGS,
        "patch.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: default}\ndat: {a: b} # HERE\n",
    },
}


def write(folder: Path, files: dict[str, str]) -> str:
    """Writes the files and returns file:line of the mark."""
    place = ""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        for number, line in enumerate(text.splitlines(), 1):
            if "# HERE" in line:
                place = f"{name}:{number}"
    return place


@pytest.mark.parametrize("name", CASES)
def test_the_line_that_set_a_wrong_value(name: str, tmp_path: Path) -> None:
    (tmp_path / "clusters").mkdir()
    expected = write(tmp_path, CASES[name])
    status, document = report(tmp_path)
    assert status == 1, document["problems"]
    (finding,) = [each for each in document["findings"] if each["severity"] == "error"]
    assert (finding["rule"], f"{finding['file']}:{finding['line']}") == ("schema/valid", expected)


COMPONENT = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n"
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default, labels: {app: web, tier: front}}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: helper
        image: registry.example/helper:1
      - name: web
        image: registry.example/web:1
        env:
        - {name: FIRST, value: "1"}
"""
WEB = ("spec", "template", "spec", "containers", 1)
PATCH = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: default}\ndata:\n  mode: fast # HERE\n"
MODE = ("data", "mode")


def transformer(kind: str, rest: str) -> str:
    return f"apiVersion: builtin\nkind: {kind}\nmetadata: {{name: any}}\n{rest}"


def indented(text: str, width: int = 2) -> str:
    return "".join(f"{' ' * width}{line}\n" for line in text.splitlines())


def settings(kustomization: str, **files: str) -> dict[str, str]:
    """A kustomization of the ConfigMap and of one.yaml, if there is one; a__b_yaml stands for a/b.yaml."""
    named = {name.replace("__", "/").replace("_", ".", 1): text for name, text in files.items()}
    resources = ", ".join(["settings.yaml", *(name for name in named if name == "one.yaml")])
    return {"kustomization.yaml": f"resources: [{resources}]\n{kustomization}", "settings.yaml": SETTINGS, **named}


def web(kustomization: str, **files: str) -> dict[str, str]:
    written = settings(kustomization, web_yaml=DEPLOYMENT, **files)
    return {**written, "kustomization.yaml": written["kustomization.yaml"].replace("settings.yaml", "web.yaml", 1)}


# name: (field, files); the field's value is set in the line that is marked by HERE, by nothing else that counts
FIELDS: dict[str, tuple[FieldPath, dict[str, str]]] = {
    # transformers in files of their own
    "a PatchTransformer with a patch in it": (
        MODE,
        settings(
            "transformers: [t.yaml]\n",
            t_yaml=transformer("PatchTransformer", f"target: {{kind: ConfigMap}}\npatch: |\n{indented(PATCH)}"),
        ),
    ),
    "a PatchTransformer with a file": (
        MODE,
        settings("transformers: [t.yaml]\n", t_yaml=transformer("PatchTransformer", "path: patch.yaml\n"), patch_yaml=PATCH),
    ),
    "a PatchJson6902Transformer": (
        MODE,
        settings(
            "transformers:\n- t.yaml\n",
            t_yaml=transformer(
                "PatchJson6902Transformer",
                "target: {version: v1, kind: ConfigMap, name: settings, namespace: default}\njsonOp: |-\n"
                "  - op: replace\n    path: /data/mode\n    value: fast # HERE\n",
            ),
        ),
    ),
    "a PatchStrategicMergeTransformer": (
        MODE,
        settings("transformers: [t.yaml]\n", t_yaml=transformer("PatchStrategicMergeTransformer", f"patches: |-\n{indented(PATCH)}")),
    ),
    "a PatchStrategicMergeTransformer with files": (
        MODE,
        settings("transformers: [t.yaml]\n", t_yaml=transformer("PatchStrategicMergeTransformer", "paths: [p.yaml]\n"), p_yaml=PATCH),
    ),
    "a LabelTransformer": (
        ("metadata", "labels", "team"),
        settings(
            "labels: [{pairs: {team: red}}]\ntransformers: [t.yaml]\n",
            t_yaml=transformer("LabelTransformer", "labels:\n  team: blue # HERE\nfieldSpecs:\n- {path: metadata/labels, create: true}\n"),
        ),
    ),
    "an AnnotationsTransformer": (
        ("metadata", "annotations", "team"),
        settings(
            "transformers: [t.yaml]\n",
            t_yaml=transformer(
                "AnnotationsTransformer", "annotations:\n  team: blue # HERE\nfieldSpecs:\n- {path: metadata/annotations, create: true}\n"
            ),
        ),
    ),
    "a ReplicaCountTransformer": (
        ("spec", "replicas"),
        web(
            "replicas: [{name: web, count: 2}]\ntransformers: [t.yaml]\n",
            t_yaml=transformer(
                "ReplicaCountTransformer", "replica: {name: web, count: 3} # HERE\nfieldSpecs:\n- {path: spec/replicas, kind: Deployment}\n"
            ),
        ),
    ),
    "an ImageTagTransformer": (
        (*WEB, "image"),
        web(
            "images: [{name: registry.example/web, newTag: '2'}]\ntransformers: [t.yaml]\n",
            t_yaml=transformer("ImageTagTransformer", "imageTag:\n  name: registry.example/web\n  newTag: '3' # HERE\n"),
        ),
    ),
    "a NamespaceTransformer": (
        ("metadata", "namespace"),
        settings(
            "namespace: one\ntransformers: [t.yaml]\n",
            t_yaml="apiVersion: builtin\nkind: NamespaceTransformer\nmetadata:\n  name: any\n  namespace: two # HERE\n"
            "fieldSpecs:\n- {path: metadata/namespace, create: true}\n",
        ),
    ),
    "a PrefixTransformer": (
        ("metadata", "name"),
        settings(
            "namePrefix: a-\ntransformers: [t.yaml]\n",
            t_yaml=transformer("PrefixTransformer", "prefix: a-longer-one- # HERE\nfieldSpecs: [{path: metadata/name}]\n"),
        ),
    ),
    "a ReplacementTransformer": (
        MODE,
        settings(
            "transformers: [t.yaml]\n",
            t_yaml=transformer(
                "ReplacementTransformer",
                "replacements:\n- sourceValue: fast # HERE\n  targets:\n  - {select: {kind: ConfigMap}, fieldPaths: [data.mode]}\n",
            ),
        ),
    ),
    "a ValueAddTransformer": (
        MODE,
        settings(
            "transformers: [t.yaml]\n",
            t_yaml=transformer(
                "ValueAddTransformer", "value: fast # HERE\ntargets:\n- {fieldPath: data/mode, selector: {kind: ConfigMap}}\n"
            ),
        ),
    ),
    "a transformer that stands in the kustomization": (
        MODE,
        settings(
            "transformers:\n- |-\n"
            + indented(transformer("PatchTransformer", f"target: {{kind: ConfigMap}}\npatch: |-\n{indented(PATCH)}")),
        ),
    ),
    "transformers in a folder": (
        MODE,
        settings(
            "transformers: [more]\n",
            more__kustomization_yaml="resources: [t.yaml]\n",
            more__t_yaml=transformer("PatchTransformer", f"target: {{kind: ConfigMap}}\npatch: |\n{indented(PATCH)}"),
        ),
    ),
    "a label beside one that is selected by": (
        ("metadata", "labels", "team"),
        web(
            "labels:\n- pairs:\n    team: blue # HERE\n    other: x\npatches:\n- {target: {labelSelector: app=web}, path: p.yaml}\n",
            p_yaml="- {op: add, path: /metadata/labels/team, value: red}\n",
        ),
    ),
    # what a patch is of
    "a patch of what has a label": (
        (*WEB, "image"),
        web(
            "patches:\n- target: {labelSelector: 'tier in (front),!old'}\n  path: p.yaml\n- target: {labelSelector: tier=back}\n  path: q.yaml\n",
            p_yaml="- {op: replace, path: /spec/template/spec/containers/1/image, value: 'web:2'} # HERE\n",
            q_yaml="- {op: replace, path: /spec/template/spec/containers/1/image, value: 'web:2'}\n",
        ),
    ),
    "a patch of what has an annotation": (
        MODE,
        settings(
            "commonAnnotations: {a: b}\ntransformers: [t.yaml, u.yaml]\n",
            t_yaml=transformer("PatchTransformer", f"target: {{annotationSelector: a=b}}\npatch: |\n{indented(PATCH)}"),
            u_yaml=transformer(
                "PatchTransformer", f"target: {{annotationSelector: a=c}}\npatch: |\n{indented(PATCH.replace(' # HERE', ''))}"
            ).replace("any", "other"),
        ),
    ),
    "a patch by patterns": (
        MODE,
        settings(
            "patches:\n- {target: {kind: 'Config(Map|Set)', name: 's[a-z]+s'}, path: p.yaml}\n"
            "- {target: {kind: Config, name: 's.*'}, path: q.yaml}\n",
            p_yaml=PATCH,
            q_yaml=PATCH.replace(" # HERE", ""),
        ),
    ),
    "one of several patches of a file": (
        MODE,
        settings(
            "patches:\n- path: p.yaml\n", p_yaml=PATCH.replace("mode: fast # HERE", "other: x") + "---\n" + PATCH.replace("other", "mode")
        ),
    ),
    # the same value again, further out
    "a patch that sets what was set": (MODE, settings("patches: [{path: p.yaml}]\n", p_yaml=PATCH.replace("fast", "plain"))),
    "a label that is set again": (
        ("metadata", "labels", "tier"),
        web("commonLabels:\n  tier: front # HERE\n"),
    ),
    "an image that is set again": (
        (*WEB, "image"),
        web("images:\n- name: registry.example/web\n  newTag: '1' # HERE\n"),
    ),
    "replicas that are set again": (
        ("spec", "replicas"),
        web("replicas:\n- name: web\n  count: 1 # HERE\n"),
    ),
    "a namespace that is set again": (
        ("metadata", "namespace"),
        {
            "kustomization.yaml": "resources: [inner]\nnamespace: default # HERE\n",
            **{f"inner/{name}": text for name, text in settings("namespace: default\n").items()},
        },
    ),
    "a replacement that writes what was there": (
        (*WEB, "env", 0, "value"),
        web(
            "replacements:\n- source: {kind: ConfigMap, fieldPath: data.count}\n  targets:\n"
            "  - {select: {kind: Deployment}, fieldPaths: ['spec.template.spec.containers.[name=web].env.[name=FIRST].value']}\n",
            one_yaml="apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\ndata:\n  count: '1' # HERE\n",
        ),
    ),
    # patches that stand in the kustomization
    "a patch in one line with escapes": (
        MODE,
        settings('patches:\n- target: {kind: ConfigMap}\n  patch: "- op: replace\\n  path: /data/mode\\n  value: fast\\n" # HERE\n'),
    ),
    "a block with an indentation of its own": (
        MODE,
        settings(
            "patches:\n- target: {kind: ConfigMap}\n  patch: |2-\n\n    - op: replace\n      path: /data/mode\n      value: fast # HERE\n"
        ),
    ),
    "a folded block": (
        MODE,
        settings(
            "patches:\n- target: {kind: ConfigMap}\n  patch: >-\n\n    - {op: add,\n    path: /data/other, value: x}\n\n"
            "    - {op: add, path: /data/mode, value: fast} # HERE\n"
        ),
    ),
    # replacements
    "the patch of a replacement's source": (
        MODE,
        settings(
            "patches: [{path: p.yaml}]\nreplacements: [{path: r.yaml}]\n",
            one_yaml="apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\ndata: {mode: slow}\n",
            p_yaml="apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\ndata:\n  mode: fast # HERE\n",
            r_yaml="source: {kind: ConfigMap, name: one, fieldPath: data.mode}\n"
            "targets: [{select: {kind: ConfigMap, name: settings}, fieldPaths: [data.mode]}]\n",
        ),
    ),
    "a part of a value": (
        MODE,
        settings(
            "replacements: [{path: r.yaml}]\n",
            one_yaml="apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\ndata:\n  host: other # HERE\n",
            settings_yaml=SETTINGS.replace("plain", "host:80"),
            r_yaml="source: {kind: ConfigMap, name: one, fieldPath: data.host}\n"
            "targets: [{select: {kind: ConfigMap, name: settings}, fieldPaths: [data.mode], options: {delimiter: ':', index: 0}}]\n",
        ),
    ),
    "a value of a replacement of its own file": (
        MODE,
        settings(
            "replacements: [{path: r.yaml}]\n",
            r_yaml="- targets: [{select: {kind: ConfigMap}, fieldPaths: [data.mode]}]\n  sourceValue: fast # HERE\n",
        ),
    ),
    # generators
    "a literal": (MODE, {"kustomization.yaml": "configMapGenerator:\n- name: settings\n  literals:\n  - a=b\n  - mode='fast' # HERE\n"}),
    "a file": (
        ("data", "mode.txt"),
        {"kustomization.yaml": "configMapGenerator: [{name: settings, files: [mode.txt]}]\n", "mode.txt": "# HERE\n"},
    ),
    "an environment file": (
        MODE,
        {"kustomization.yaml": "configMapGenerator: [{name: settings, envs: [all.env]}]\n", "all.env": "# all\na=b\nmode=fast # HERE\n"},
    ),
    "a secret": (MODE, {"kustomization.yaml": "secretGenerator:\n- name: settings\n  literals:\n  - mode=fast # HERE\n"}),
    "a generator that merges": (
        MODE,
        {
            "kustomization.yaml": "resources: [base]\nconfigMapGenerator:\n- name: settings\n  behavior: merge\n  literals:\n  - mode=fast # HERE\n",
            "base/kustomization.yaml": "configMapGenerator: [{name: settings, literals: [mode=slow, other=x]}]\n",
        },
    ),
    "below a generator that merges": (
        ("data", "other"),
        {
            "kustomization.yaml": "resources: [base]\nconfigMapGenerator: [{name: settings, behavior: merge, literals: [mode=fast]}]\n",
            "base/kustomization.yaml": "configMapGenerator:\n- name: settings\n  literals:\n  - mode=slow\n  - other=x # HERE\n",
        },
    ),
    "labels of all generators": (
        ("metadata", "labels", "team"),
        {
            "kustomization.yaml": "configMapGenerator: [{name: settings, literals: [a=b]}]\ngeneratorOptions:\n  disableNameSuffixHash: true\n"
            "  labels:\n    team: blue # HERE\n"
        },
    ),
    "a reference to a generated name": (
        (*WEB, "envFrom", 0, "configMapRef", "name"),
        web(
            "configMapGenerator: [{name: settings, literals: [a=b]}]\n",
        )
        | {"web.yaml": DEPLOYMENT + "        envFrom:\n        - configMapRef:\n            name: settings # HERE\n"},
    ),
    "a volume of a generated name": (
        ("spec", "template", "spec", "volumes", 0, "secret", "secretName"),
        web("namePrefix: eu-\nsecretGenerator: [{name: settings, literals: [a=b]}]\n")
        | {"web.yaml": DEPLOYMENT + "      volumes:\n      - name: one\n        secret:\n          secretName: settings # HERE\n"},
    ),
    # names
    "the longest piece of a name": (
        ("metadata", "name"),
        {
            "kustomization.yaml": "resources: [middle]\nnamePrefix: a-\n",
            "middle/kustomization.yaml": "resources: [../base]\nnameSuffix: -that-is-much-too-long # HERE\n",
            "base/kustomization.yaml": "resources: [settings.yaml]\nnamePrefix: b-\n",
            "base/settings.yaml": SETTINGS,
        },
    ),
    "the piece with what no name may have": (
        ("metadata", "name"),
        {
            "kustomization.yaml": "resources: [base]\nnamePrefix: a-long-prefix-\n",
            "base/kustomization.yaml": "resources: [settings.yaml]\n",
            "base/settings.yaml": SETTINGS.replace("name: settings", "name: Settings # HERE"),
        },
    ),
    "a suffix of a component": (
        ("metadata", "name"),
        settings("components: [one]\n", one__kustomization_yaml=COMPONENT + "nameSuffix: -of-a-component # HERE\n"),
    ),
    "a name of a container": (
        (*WEB, "name"),
        web(
            "patches: [{path: p.yaml}]\n",
            p_yaml="apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: default}\nspec: {template: {spec: {containers: [{name: helper, image: a}]}}}\n",
        )
        | {"web.yaml": DEPLOYMENT.replace("- name: web", "- name: web # HERE")},
    ),
    # layers
    "a component of a component": (
        MODE,
        settings(
            "components: [one]\n",
            one__kustomization_yaml=COMPONENT + "components: [../two]\npatches:\n- {target: {kind: ConfigMap}, path: other.yaml}\n",
            one__other_yaml="- {op: add, path: /data/other, value: x}\n",
            two__kustomization_yaml=COMPONENT + "patches:\n- path: p.yaml\n",
            two__p_yaml=PATCH,
        ),
    ),
    "a resource of a component, patched by the overlay": (
        MODE,
        {
            "kustomization.yaml": "resources: [web.yaml]\ncomponents: [one]\npatches: [{path: p.yaml}]\n",
            "web.yaml": DEPLOYMENT,
            "one/kustomization.yaml": COMPONENT + "resources: [settings.yaml]\n",
            "one/settings.yaml": SETTINGS,
            "p.yaml": PATCH,
        },
    ),
    "labels of templates": (
        ("spec", "template", "metadata", "labels", "team"),
        web("labels:\n- includeTemplates: true\n  pairs:\n    team: blue # HERE\n"),
    ),
    "an image with another name and a digest": (
        (*WEB, "image"),
        web("images:\n- name: registry.example/web\n  newName: other.example/web # HERE\n  digest: sha256:0123\n"),
    ),
    "an image that a configuration teaches": (
        ("spec", "trainer", "image"),
        {
            "kustomization.yaml": "resources: [job.yaml]\nconfigurations: [c.yaml]\nimages:\n- name: registry.example/web\n  newTag: '2' # HERE\n",
            "c.yaml": "images: [{path: spec/trainer/image, kind: TrainJob}]\n",
            "job.yaml": "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: job}\n"
            "spec: {runtimeRef: {name: torch}, trainer: {image: 'registry.example/web:1'}}\n",
        },
    ),
    "an element that two operations move": (
        (*ENV_PATH, 2, "value"),
        {
            "kustomization.yaml": "resources: [runtime.yaml]\npatches:\n- {target: {kind: ClusterTrainingRuntime}, path: p.yaml}\n",
            "runtime.yaml": RUNTIME,
            "p.yaml": f"- {{op: add, path: {ENV}/0, value: {{name: ZERO, value: a}}}}\n- {{op: replace, path: {ENV}/2/value, value: b}}\n"
            f"- {{op: replace, path: {ENV}/2/value, value: c}} # HERE\n- {{op: remove, path: {ENV}/1}}\n"
            f"- {{op: add, path: {ENV}/0, value: {{name: NEXT, value: d}}}}\n",
        },
    ),
    "through an alias": (
        ("data", "second"),
        {"kustomization.yaml": "resources: [a.yaml]\n", "a.yaml": SETTINGS + "  first: &a x\n  second: *a # HERE\n"},
    ),
    "through a merge key": (
        (*WEB, "resources", "limits", "cpu"),
        web("")
        | {
            "web.yaml": DEPLOYMENT
            + "        resources:\n          requests: &all\n            cpu: '1' # HERE\n          limits: {<<: *all, memory: 1Gi}\n"
        },
    ),
    "a field that a test operation guards": (
        MODE,
        settings(
            "patches:\n- {target: {kind: ConfigMap}, path: p.yaml}\n",
            p_yaml="- {op: test, path: /data/mode, value: plain}\n- {op: replace, path: /data/mode, value: fast} # HERE\n",
        ),
    ),
    "an openapi file that merges lists": (
        ("spec", "parts", 1, "size"),
        {
            "kustomization.yaml": "resources: [w.yaml]\nopenapi: {path: s.json}\npatches: [{path: p.yaml}]\n",
            "w.yaml": "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\nspec:\n  parts:\n  - name: a\n    size: big # HERE\n"
            "  - name: b\n    size: small\n",
            "p.yaml": "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\nspec:\n  parts:\n  - {name: b, size: big}\n",
            "s.json": """{"definitions": {"com.example.Widget": {
              "x-kubernetes-group-version-kind": [{"group": "example.com", "kind": "Widget", "version": "v1"}],
              "properties": {"spec": {"properties": {"parts": {"type": "array", "items": {"type": "object"},
              "x-kubernetes-patch-merge-key": "name", "x-kubernetes-patch-strategy": "merge"}}}}}}}""",
        },
    ),
}


def rendered(folder: Path, path: FieldPath) -> Resource:
    """The object of a build that has a field."""
    built = render.render(Unit(path=folder, kustomization=True))
    assert built.problems == [] and built.faults == []
    (resource,) = [each for each in built.resources if get(each.manifest, path) is not None and each.name != "one"]
    return resource


@pytest.mark.parametrize("name", FIELDS)
def test_the_line_that_sets_a_field(name: str, tmp_path: Path) -> None:
    path, files = FIELDS[name]
    expected = write(tmp_path, files)
    place = locate.locate(Fault(rule="", message="", resource=rendered(tmp_path, path), path=path))
    assert f"{place.file.relative_to(tmp_path)}:{place.line}" == expected


# The field itself is wrong: who made it, not who gave it a value.
UNKNOWN: dict[str, dict[str, str]] = {
    "made by a replacement": settings(
        "replacements: [{path: r.yaml}]\n",
        one_yaml="apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\ndata: {a: b}\n",
        r_yaml="source: {kind: ConfigMap, name: one, fieldPath: data.a}\ntargets:\n- select: {kind: ConfigMap, name: settings}\n"
        "  options: {create: true}\n  fieldPaths:\n  - data.other\n  - dta # HERE\n",
    ),
    "filled by a replacement, made by a patch": settings(
        "patches: [{path: p.yaml}]\nreplacements: [{path: r.yaml}]\n",
        one_yaml="apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\ndata: {a: b}\n",
        p_yaml=PATCH.replace("data:\n  mode: fast # HERE", "dta: x # HERE"),
        r_yaml="source: {kind: ConfigMap, name: one, fieldPath: data.a}\n"
        "targets: [{select: {kind: ConfigMap, name: settings}, fieldPaths: [dta]}]\n",
    ),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_the_line_that_makes_an_unknown_field(name: str, tmp_path: Path) -> None:
    expected = write(tmp_path, {"clusters/README.md": "", **UNKNOWN[name]})
    _, document = report(tmp_path)
    assert [(each["rule"], f"{each['file']}:{each['line']}") for each in document["findings"]] == [("schema/valid", expected)]


BROKEN = "import tensorflow as tf\nprint(1)\ntf.constant(1) # HERE\nstrategy = tf.distribute.MultiWorkerMirroredStrategy()\n"
# A ConfigMap with a script that does something before its strategy.
SCRIPTS: dict[str, dict[str, str]] = {
    "in a block of an object": {
        "kustomization.yaml": "resources: [code.yaml]\n",
        "code.yaml": f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: code}}\ndata:\n  train.py: |\n\n{indented(BROKEN, 6)}",
    },
    "in a file that is checked as it stands": {
        "code.yaml": f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: code}}\ndata:\n  other: x\n  train.py: |2-\n{indented(BROKEN, 4)}",
    },
    "in one line": {
        "kustomization.yaml": "resources: [code.yaml]\n",
        "code.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: code}\ndata:\n  other: x\n"
        + f'  train.py: "{BROKEN.replace(" # HERE", "").replace(chr(10), chr(92) + "n")}" # HERE\n',
    },
    "in a patch": {
        "kustomization.yaml": "resources: [code.yaml]\npatches:\n- target: {kind: ConfigMap}\n  patch: |\n    apiVersion: v1\n    kind: ConfigMap\n"
        f"    metadata: {{name: any}}\n    data:\n      train.py: |-\n{indented(BROKEN, 8)}",
        "code.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: code}\ndata: {train.py: ''}\n",
    },
    "in the arguments of a container": {
        "kustomization.yaml": "resources: [run.yaml]\nnamePrefix: a-\n",
        "run.yaml": "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: run}\nspec:\n  replicatedJobs:\n  - name: node\n    template:\n"
        "      spec:\n        template:\n          spec:\n            containers:\n            - name: node\n              command: [python3, -c]\n"
        f"              args:\n              - |\n{indented(BROKEN, 16)}",
    },
    "in a literal of a generator": {
        "kustomization.yaml": f"configMapGenerator:\n- name: code\n  literals:\n  - |\n{indented('train.py=' + BROKEN, 4)}",
    },
    "in a file of a generator": {
        "kustomization.yaml": "resources: [base]\nnamePrefix: a-\n",
        "base/kustomization.yaml": "configMapGenerator: [{name: code, files: [train.py=code/main.py]}]\n",
        "base/code/main.py": BROKEN,
    },
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_line_of_a_script(name: str, tmp_path: Path) -> None:
    expected = write(tmp_path, {"clusters/README.md": "", **SCRIPTS[name]})
    _, document = report(tmp_path)
    found = [f"{each['file']}:{each['line']}" for each in document["findings"] if each["rule"] == "script/strategy-first"]
    assert found == [expected], document


REMOVALS: dict[str, dict[str, str]] = {
    "never there: the nearest ancestor in the base": {
        "kustomization.yaml": "resources: [runtime.yaml]\n",
        "runtime.yaml": RUNTIME.replace(
            "            labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}\n", "            labels: {} # HERE\n"
        ),
    },
    "there, and null": {
        "kustomization.yaml": "resources: [middle]\n",
        "middle/kustomization.yaml": "resources: [runtime.yaml]\n",
        "middle/runtime.yaml": RUNTIME.replace(
            "            labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}\n", "            labels: # HERE\n"
        ),
    },
    "removed by an operation": {
        "kustomization.yaml": "resources: [runtime.yaml]\npatches:\n- path: patch.yaml\n  target: {kind: ClusterTrainingRuntime}\n",
        "runtime.yaml": RUNTIME,
        "patch.yaml": "- op: remove\n  path: /spec/template/spec/replicatedJobs/0/template/metadata/labels/trainer.kubeflow.org~1trainjob-ancestor-step # HERE\n",
    },
    "removed by one of several patches that patterns and labels select": {
        "kustomization.yaml": "resources: [runtime.yaml]\npatches:\n- {path: one.yaml, target: {name: 't[a-z]+', labelSelector: trainer.kubeflow.org/framework=torch}}\n"
        "- {path: two.yaml, target: {name: 't[a-z]{9}'}}\n- {path: two.yaml, target: {labelSelector: trainer.kubeflow.org/framework=jax}}\n",
        "runtime.yaml": RUNTIME,
        "one.yaml": "- {op: remove, path: /spec/template/spec/replicatedJobs/0/template/metadata} # HERE\n",
        "two.yaml": "- {op: remove, path: /spec/template/spec/replicatedJobs/0/template/metadata}\n",
    },
    "removed by a transformer": {
        "kustomization.yaml": "resources: [runtime.yaml]\ntransformers: [t.yaml]\n",
        "runtime.yaml": RUNTIME,
        "t.yaml": transformer(
            "PatchTransformer",
            "target: {kind: ClusterTrainingRuntime}\npatch: |\n  - op: remove\n    path: /spec/template/spec/replicatedJobs/0/template/metadata # HERE\n",
        ),
    },
    "removed by a null in a strategic patch": {
        "kustomization.yaml": "resources: [settings.yaml, middle]\n",
        "settings.yaml": SETTINGS,
        "middle/kustomization.yaml": "resources: [runtime.yaml]\npatches:\n- path: patch.yaml\n",
        "middle/runtime.yaml": RUNTIME,
        "middle/patch.yaml": "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: ClusterTrainingRuntime\nmetadata: {name: torch}\nspec:\n  template:\n    spec:\n"
        "      replicatedJobs: # the list is replaced\n      - name: node\n        template:\n          spec: # HERE\n            template:\n              spec:\n"
        "                containers: [{name: node, image: 'registry.example/torch:1'}]\n",
    },
}


@pytest.mark.parametrize("name", REMOVALS)
def test_the_line_that_lacks_or_removed_a_field(name: str, tmp_path: Path) -> None:
    (tmp_path / "clusters").mkdir()
    expected = write(tmp_path, REMOVALS[name])
    _, document = report(tmp_path)
    (finding,) = [finding for finding in document["findings"] if finding["rule"] == "trainer/ancestor-label"]
    assert finding["file"] == expected.rpartition(":")[0]
    if "strategic" not in name:
        assert f"{finding['file']}:{finding['line']}" == expected
    assert "(missing: spec.template.spec.replicatedJobs[0].template.metadata" in finding["message"]


def test_namespace_on_a_cluster_scoped_object_is_the_kustomization_s(tmp_path: Path) -> None:
    (tmp_path / "clusters").mkdir()
    write(tmp_path, {"kustomization.yaml": "resources: [runtime.yaml]\nnamespace: team\n", "runtime.yaml": RUNTIME})
    _, document = report(tmp_path)
    (finding,) = document["findings"]
    assert (finding["rule"], finding["file"], finding["line"]) == ("scope/cluster-scoped-without-namespace", "kustomization.yaml", 2)


def test_one_fault_in_a_base_is_one_finding_with_all_its_targets(estate: Path) -> None:
    runtime = estate / "base/runtime/runtime.yaml"
    runtime.write_text(runtime.read_text(encoding="utf-8").replace("backoffLimit: 0", "backoffLimit: 3"), encoding="utf-8")
    status, document = report(*sorted((estate / "overlays").glob("*-*")), estate / "clusters/lab")
    (finding,) = document["findings"]
    assert status == 1
    assert finding["file"] == "base/runtime/runtime.yaml"
    assert {"overlays/ib-kueue", "overlays/ib-volcano", "overlays/no-ib-kueue", "overlays/no-ib-volcano", "clusters/lab"} <= set(
        finding["targets"]
    )
    assert "clusters/lab/runs/reference-kueue" in finding["targets"], "the runs that it falls on"
