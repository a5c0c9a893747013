"""Every rule about training scripts on scripts that it must refuse and on near misses that it must pass.

Cases are cases/<rule>/<name>.fail.py and .pass.py, found by their place. A comment `# here: <part of the message>` marks an
error in its line, `# warns: …` a warning; the complete set of findings of all rules about scripts is compared. `# workers: N`
says that so many start the script and that nothing tells them of one another.
"""

from __future__ import annotations

import ast
import re
import string
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gate import scripts
from gate.model import Fault, GateError, Rule

HERE = Path(__file__).resolve().parent
CASES = sorted((HERE / "cases").glob("*/*.py"))
RULES = {rule.id: rule for rule in scripts.rules()}
WORKERS = re.compile(r"^# workers: (\d+)$", re.MULTILINE)
MARK = re.compile(r"# (here|warns): (.+?)(?=\s+# (?:here|warns): |$)")
SEVERITY = {"here": "error", "warns": "warning"}
ROOT = HERE.parent.parent


def folder(rule: Rule) -> Path:
    return HERE / "cases" / rule.id.removeprefix("script/").replace("-", "_")


def severity(fault: Fault) -> str:
    return fault.severity or RULES[fault.rule].severity


def judged(text: str, image: str = "") -> list[Fault]:
    workers = WORKERS.search(text)
    return scripts.judge(scripts.parse(text, Path("script.py"), image=image, alone=int(workers[1]) if workers else 0))


def line(fault: Fault) -> int:
    assert fault.place
    return fault.place.line


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.parent.name}/{case.stem}")
def test_case(case: Path) -> None:
    rule = f"script/{case.parent.name.replace('_', '-')}"
    text = case.read_text(encoding="utf-8")
    marks = [
        (number, SEVERITY[kind], message.strip()) for number, row in enumerate(text.splitlines(), 1) for kind, message in MARK.findall(row)
    ]
    found = judged(text)
    shown = sorted((line(fault), severity(fault), fault.rule, fault.message) for fault in found)
    assert [(number, level, rule) for number, level, _ in sorted(marks)] == [each[:3] for each in shown], shown
    for number, level, part in marks:
        assert any(part in fault.message for fault in found if (line(fault), severity(fault)) == (number, level)), (number, part, shown)
    assert any(level == "error" for _, level, _ in marks) == case.name.endswith(".fail.py")


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_rule_has_cases_and_says_everything(rule: Rule) -> None:
    assert list(folder(rule).glob("*.fail.py")), "no case that fails"
    assert list(folder(rule).glob("*.pass.py")), "no case that passes"
    assert rule.id.startswith("script/")
    assert rule.title and rule.description and rule.fix and rule.example and rule.references
    compile(rule.example, rule.id, "exec")


def test_case_files_belong_to_rules() -> None:
    assert {case.parent for case in CASES} == {folder(rule) for rule in RULES.values()}
    assert all(case.name.endswith((".fail.py", ".pass.py")) for case in CASES)


@pytest.mark.parametrize("file", [*(ROOT / "training").rglob("*.py"), *(ROOT / "clusters").rglob("*.py")], ids=str)
def test_own_scripts_are_clean(file: Path) -> None:
    for image in ("", "nvcr.io/nvidia/tensorflow:24.03-tf2-py3", "tensorflow/tensorflow:2.15.0-gpu"):
        assert [(line(fault), fault.message) for fault in scripts.judge(scripts.load(file, image=image))] == []


# One fault in every shape in which a script may name things, and the same without it.

STRATEGIES = {
    "plain": ("import tensorflow as tf", "tf.distribute.MultiWorkerMirroredStrategy()"),
    "whole name": ("import tensorflow", "tensorflow.distribute.MultiWorkerMirroredStrategy()"),
    "experimental": ("import tensorflow as tf", "tf.distribute.experimental.MultiWorkerMirroredStrategy()"),
    "compat": ("import tensorflow.compat.v2 as tf", "tf.distribute.MultiWorkerMirroredStrategy()"),
    "from": ("from tensorflow.distribute import MultiWorkerMirroredStrategy", "MultiWorkerMirroredStrategy()"),
    "as": ("from tensorflow.distribute import MultiWorkerMirroredStrategy as S", "S()"),
    "module": ("from tensorflow import distribute as d", "d.experimental.MultiWorkerMirroredStrategy()"),
    "variable": ("import tensorflow as tf\nmake = tf.distribute.MultiWorkerMirroredStrategy", "make()"),
    "getattr": ("import tensorflow as tf", "getattr(tf.distribute, 'MultiWorkerMirroredStrategy')()"),
    "table": ("import tensorflow as tf", "{'multi': tf.distribute.MultiWorkerMirroredStrategy}['multi']()"),
    "lambda": ("import tensorflow as tf\nmake = lambda: tf.distribute.MultiWorkerMirroredStrategy()", "make()"),
    "partial": (
        "import functools\nimport tensorflow as tf\ndef f(x): return tf.distribute.MultiWorkerMirroredStrategy()",
        "functools.partial(f, 1)()",
    ),
    "options": ("import tensorflow as tf", "tf.distribute.MultiWorkerMirroredStrategy(communication_options=None)"),
}
OPERATIONS = {
    "plain": ("import tensorflow as tf", "tf.constant(1)"),
    "from": ("from tensorflow import constant", "constant(1)"),
    "as": ("from tensorflow import zeros as z", "z([1])"),
    "module": ("from tensorflow import random as r", "r.uniform([1])"),
    "variable": ("import tensorflow as tf", "tf.Variable(1.0)"),
    "data": ("import tensorflow as tf", "tf.data.Dataset.from_tensor_slices([1])"),
    "math": ("import tensorflow.math as m", "m.log(1.0)"),
    "keras": ("from tensorflow import keras", "keras.Sequential([keras.layers.Dense(1, input_shape=(1,))])"),
    "devices": ("import tensorflow as tf", "tf.config.experimental.list_logical_devices('GPU')"),
    "condition": ("import tensorflow as tf", "assert tf.config.list_logical_devices()"),
    "nested": ("import tensorflow as tf", "print([len(str(tf.range(3)))])"),
    "with": ("import tensorflow as tf", "with tf.device('/cpu:0'): pass"),
    "loop": ("import tensorflow as tf", "for device in tf.config.list_logical_devices(): print(device)"),
    "walrus": ("import tensorflow as tf", "if (x := tf.constant(1)) is not None: pass"),
    "f-string": ("import tensorflow as tf", "text = f'{tf.constant(1)}'"),
    "unpacked": ("import tensorflow as tf", "a, b = tf.constant(1), 2"),
}
FRAMES = {
    "module": "{imports}\n{first}\n{second}\n",
    "main": "{imports}\ndef main():\n    {first}\n    {second}\nif __name__ == '__main__':\n    main()\n",
    "two functions": "{imports}\ndef one():\n    {first}\ndef two():\n    {second}\ndef main():\n    one()\n    two()\nmain()\n",
    "not called": "{imports}\ndef train(config):\n    {first}\n    {second}\n",
    "class": "{imports}\nclass Job:\n    def __init__(self):\n        {first}\n    def run(self):\n        {second}\nJob().run()\n",
    "try": "{imports}\ntry:\n    {first}\nfinally:\n    pass\n{second}\n",
    "exit": "{imports}\nimport sys\ndef main():\n    {first}\n    {second}\n    return 0\nsys.exit(main())\n",
    "decorated": "{imports}\nimport click\n@click.command()\ndef main():\n    {first}\n    {second}\nmain()\n",
}


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_order_in_every_shape(strategy: str, operation: str, frame: str) -> None:
    (one, make), (two, operate) = STRATEGIES[strategy], OPERATIONS[operation]
    make = f"strategy = {make}"
    late = FRAMES[frame].format(imports=f"{one}\n{two}", first=operate, second=make)
    early = FRAMES[frame].format(imports=f"{one}\n{two}", first=make, second=operate)
    ast.parse(late)
    assert {fault.rule for fault in judged(late) if severity(fault) == "error"} == {"script/strategy-first"}, late
    assert judged(early) == [], early


def test_image_tells_the_version_where_the_script_does_not() -> None:
    text = (HERE / "cases" / "legacy_keras" / "version_is_not_known.pass.py").read_text(encoding="utf-8")
    body = text.partition("# ///\n")[2].partition("# ///\n")[2] or text.split("# ///", 2)[2]
    errors = {image: [fault.rule for fault in judged(body, image)] for image in ("tensorflow/tensorflow:2.18.0-gpu", "example/tf:2.18.0")}
    assert errors == {"tensorflow/tensorflow:2.18.0-gpu": ["script/legacy-keras"], "example/tf:2.18.0": []}


PLAIN = """
import tensorflow as tf
strategy = tf.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.fit(tf.data.Dataset.range(8).repeat().batch(8), steps_per_epoch=10)
"""
INSTALL = 'import subprocess, sys\nsubprocess.check_call([sys.executable, "-m", "pip", "install", "{}"])\n'
WITH_KERAS_3 = {
    "requirements.txt": ({"requirements.txt": "numpy\ntensorflow==2.18.0  # pinned\n"}, (), PLAIN),
    "pyproject.toml": ({"pyproject.toml": '[project]\nname = "x"\nversion = "0"\ndependencies = ["tensorflow>=2.16"]\n'}, (), PLAIN),
    "installed by itself": ({}, (), INSTALL.format("tensorflow==2.18.0") + PLAIN),
    "installed by a shell": ({}, (), "import os\nos.system('pip install -q tensorflow==2.18.0')" + PLAIN),
    "installed by its container": ({}, ("sh -c pip install 'tensorflow==2.18.0' && python train.py",), PLAIN),
    "said in a comment": ({}, (), "# requirements: tensorflow==2.18.0   (no tf-keras)" + PLAIN),
}
WITHOUT = {
    "of 2.15": ({"requirements.txt": "tensorflow==2.15.1\n"}, (), PLAIN),
    "continued elsewhere": ({"requirements.txt": "-r more.txt\ntensorflow==2.18.0\n"}, (), PLAIN),
    "no version": ({"requirements.txt": "tensorflow\n"}, (), PLAIN),
    "of another project": ({"pyproject.toml": "[tool.ruff]\n"}, (), PLAIN),
    "not TOML": ({"pyproject.toml": "tensorflow==2.18.0"}, (), PLAIN),
    "with tf-keras": ({"requirements.txt": "tensorflow==2.18.0\ntf-keras==2.18.0\n"}, (), PLAIN),
    "comment of two lines": ({}, (), "# requirements: tensorflow==2.18.0,\n#   tf-keras==2.18.0" + PLAIN),
    "its own metadata": (
        {"requirements.txt": "tensorflow==2.18.0"},
        (),
        '# /// script\n# dependencies = ["tensorflow==2.15.1"]\n# ///' + PLAIN,
    ),
}


@pytest.mark.parametrize("name", [*WITH_KERAS_3, *WITHOUT])
def test_packages_where_there_is_no_metadata(name: str) -> None:
    beside, commands, text = (WITH_KERAS_3 | WITHOUT)[name]
    found = scripts.judge(scripts.parse(text, Path("script.py"), beside=beside.get, commands=commands))
    errors = [fault.rule for fault in found if severity(fault) == "error"]
    assert errors == (["script/legacy-keras"] if name in WITH_KERAS_3 else [])


PREPARED = "import tensorflow as tf\nMEAN = tf.constant([0.5])\n"
FIRST = ("import prep", "from prep import MEAN", "import between", "import prep as p")
NOTHING = {
    "in a function": "import tensorflow as tf\ndef mean():\n    return tf.constant([0.5])\n",
    "when it is started": PREPARED.replace("MEAN", "if __name__ == '__main__':\n    MEAN"),
    "after a strategy": PREPARED.replace("MEAN", "strategy = tf.distribute.MultiWorkerMirroredStrategy()\nMEAN"),
    "of itself": "import prep",
    "not Python": "(",
}


@pytest.mark.parametrize("statement", FIRST)
def test_an_operation_of_a_module_beside_the_script_is_too_early(statement: str) -> None:
    beside = {"prep.py": PREPARED, "between.py": "import os\nimport prep\n"}
    text = f"import tensorflow as tf\n{statement}\ns = tf.distribute.MultiWorkerMirroredStrategy()\n"
    [fault] = scripts.judge(scripts.parse(text, Path("script.py"), beside=beside.get))
    assert (fault.rule, line(fault), severity(fault)) == ("script/strategy-first", 2, "error")
    assert "tf.constant() (prep.py:2)" in fault.message
    early = f"import tensorflow as tf\ns = tf.distribute.MultiWorkerMirroredStrategy()\n{statement}\n"
    assert scripts.judge(scripts.parse(early, Path("script.py"), beside=beside.get)) == []


@pytest.mark.parametrize("name", NOTHING)
def test_a_module_beside_the_script_that_does_nothing_at_its_import(name: str) -> None:
    text = "import tensorflow as tf\nimport prep\ns = tf.distribute.MultiWorkerMirroredStrategy()\n"
    assert scripts.judge(scripts.parse(text, Path("script.py"), beside={"prep.py": NOTHING[name]}.get)) == []


PIECES = sorted(
    {row for case in CASES for row in case.read_text(encoding="utf-8").splitlines()}
    | {"    pass", "else:", "try:", "    return", "\\", "'''"}
)


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=40), st.integers(0, 3), st.text(string.printable, max_size=20))
def test_no_text_breaks_it(rows: list[str], indent: int, extra: str) -> None:
    """Rows of real scripts in any order: rules judge or say with GateError why not."""
    for text in ("\n".join(rows), "# MultiWorkerMirroredStrategy\n" + "\n".join(" " * indent + row for row in rows) + extra):
        try:
            judged(text)
        except GateError:
            continue


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_no_mutation_of_a_case_breaks_it(data: st.DataObject) -> None:
    """Real scripts with statements left out, doubled or moved: they still parse, so the rules see all of them."""
    tree = ast.parse(data.draw(st.sampled_from(CASES)).read_text(encoding="utf-8"))
    blocks = [node.body for node in ast.walk(tree) if isinstance(getattr(node, "body", None), list)]
    for _ in range(data.draw(st.integers(1, 4))):
        block = data.draw(st.sampled_from(blocks))
        statement = data.draw(st.sampled_from(data.draw(st.sampled_from(blocks))))
        block.insert(data.draw(st.integers(0, len(block))), statement)
        if len(block) > 1:
            del block[data.draw(st.integers(0, len(block) - 1))]
    try:
        text = ast.unparse(tree)
    except RecursionError:  # a statement that was moved into itself
        return
    try:
        judged(text)
    except GateError:
        return


@pytest.mark.parametrize(
    "text",
    [
        "strategy = tf.distribute.MultiWorkerMirroredStrategy()\nx = " + "(" * 150 + ")" * 150,
        "import tensorflow as tf\ns = tf.distribute.MultiWorkerMirroredStrategy()\nx = " + "+".join(["1"] * 3000),
        "import tensorflow as tf\ns = tf.distribute.MultiWorkerMirroredStrategy()\nx = " + ".a()".join(["y"] * 2) + ".b()" * 800,
        "import tensorflow as tf\ns = tf.distribute.MultiWorkerMirroredStrategy()\ndef f(x): return f(f(f(x)))\nf(f)(f)(*f)(**f)\n",
        "import tensorflow as tf\ns = tf.distribute.MultiWorkerMirroredStrategy()\n"
        + "".join(f"def f{n}(): f{n + 1}(); f{n + 1}(); f{n + 1}()\n" for n in range(60)),
        "import tensorflow as tf\ns = tf.distribute.MultiWorkerMirroredStrategy()\nx = 1\n"
        + "".join(f"x = {n} if y else (x, x)\n" for n in range(200)),
        "import tensorflow as tf\ns = tf.distribute.MultiWorkerMirroredStrategy()\nclass A(A): pass\nclass A(A): pass\nA().x.y\nx = []\nx.append(x)\nx += x\n"
        "d = {}\nd['d'] = d\nd.get('d').update(d)\ns.scope().__enter__(*x, **d)\nmodel.fit(d, x, **d)\nmodel.fit(callbacks=x, epochs=1)\n",
        "MultiWorkerMirroredStrategy\0",
    ],
    ids=range(8),
)
def test_hostile_shapes_end(text: str) -> None:
    try:
        judged(text)
    except GateError as error:
        assert error.message


def test_a_byte_order_mark_is_no_fault() -> None:
    """Python takes it, and so does kustomize into a ConfigMap."""
    assert judged("\ufeffimport os\n") == []


@pytest.mark.parametrize("coding", ["latin-1", "utf-8", "cp1252"])
def test_a_coding_that_python_reads_is_judged(coding: str) -> None:
    (fault,) = judged(f"# -*- coding: {coding} -*-\nNAME = 'café'\n{PLAIN}model.save('/runs/final')\n")
    assert (fault.rule, line(fault)) == ("script/one-path-per-worker", 9)


@pytest.mark.parametrize("coding", ["klingon", "ascii", "rot13"])
def test_a_coding_that_python_cannot_read_is_told(coding: str) -> None:
    with pytest.raises(GateError, match=r"is not valid Python: .*(encoding|ascii)") as told:
        judged(f"# -*- coding: {coding} -*-\nNAME = 'café'\n")
    assert told.value.line == 1
