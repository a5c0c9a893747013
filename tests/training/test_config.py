"""Every variable of the training is checked before TensorFlow is loaded; the ConfigMap holds what is needed."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.training.subject import TRAINING, load

config = load("config")


@pytest.mark.parametrize(
    ("env", "fault"),
    [
        ({"EPOCHS": "abc"}, "EPOCHS='abc' must be a whole number from 1 to 100000"),
        ({"EPOCHS": "0"}, "EPOCHS='0' must be a whole number from 1 to 100000"),
        ({"EPOCHS": "1.5"}, "EPOCHS='1.5' must be a whole number from 1 to 100000"),
        ({"EPOCHS": ""}, "EPOCHS='' must be a whole number from 1 to 100000"),
        ({"BATCH_SIZE": "-1"}, "BATCH_SIZE='-1' must be a whole number from 1 to 65536"),
        ({"LEARNING_RATE": "nan"}, "LEARNING_RATE='nan' must be a number from 1e-08 to 100"),
        ({"DROPOUT": "1"}, "DROPOUT='1' must be a number from 0 to 0.9"),
        ({"MODEL": "resnet"}, "MODEL='resnet' must be one of resnet9, cnn"),
        ({"AUGMENT": "crop,spin"}, "AUGMENT='crop,spin' must be none or a list of crop, flip, cutout"),
        ({"DATA_DIR": "data"}, "DATA_DIR='data' must be an absolute path"),
        ({"DATA_SHA256": "abc"}, "DATA_SHA256='abc' must be 64 hexadecimal digits"),
        (
            {"EPOCHS": "x", "SEED": "y"},
            "EPOCHS='x' must be a whole number from 1 to 100000; SEED='y' must be a whole number from 0 to 2147483647",
        ),
    ],
)
def test_a_bad_value_is_named(env: dict[str, str], fault: str) -> None:
    with pytest.raises(config.BadConfiguration) as raised:
        config.Config.read(env)
    assert str(raised.value) == fault


def test_defaults() -> None:
    """Checkpoints go to a folder named after the job, so that no run resumes another's."""
    read = config.Config.read({"TFRUN_JOB": "cifar"})
    assert (read.epochs, read.batch_size) == (10, 64)
    assert (read.data_dir, read.checkpoint_dir) == ("/workspace/data/cifar-10-batches-py", "/workspace/checkpoints/cifar")
    assert config.Config.read({"AUGMENT": "none"}).augment == ()


@pytest.mark.tensorflow
def test_a_bad_value_ends_the_script_in_one_line(tensorflow: str) -> None:
    done = subprocess.run([tensorflow, TRAINING / "train.py"], env={"EPOCHS": "abc"}, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "train: error: EPOCHS='abc' must be a whole number from 1 to 100000\n"


def test_the_config_map_holds_every_module_and_is_small() -> None:
    """The limit is 1 MiB; what is imported from beside train.py must be in it."""
    files = yaml.safe_load((TRAINING / "kustomization.yaml").read_text())["configMapGenerator"][0]["files"]
    assert sum((TRAINING / file).stat().st_size for file in files) < 200_000
    assert files == sorted(file.name for file in TRAINING.glob("*.py"))
    for file in files:
        for node in ast.walk(ast.parse((TRAINING / file).read_text(), feature_version=(3, 10))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for name in names:
                known = name.split(".")[0] in sys.stdlib_module_names | {"numpy", "tensorflow"}
                assert known or f"{name}.py" in files, f"{file} imports {name}"


@pytest.mark.parametrize("file", ["tfrun.py", "progress.py", "config.py"])
def test_what_runs_before_tensorflow_needs_the_standard_library_only(file: str) -> None:
    roots = set()
    for node in ast.walk(ast.parse(Path(TRAINING / file).read_text())):
        if isinstance(node, ast.Import):
            roots |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            roots.add((node.module or "").split(".")[0])
    assert roots <= set(sys.stdlib_module_names)
