"""The training with real TensorFlow: several workers, each with its own name and address, against one that is alone."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import zipfile
from pathlib import Path

import pytest

from gate.evaluate import Evaluator
from tests.gate import test_workers_alone as gate_says
from tests.training.pods import Net, Pod, wait_for

pytestmark = [pytest.mark.tensorflow, pytest.mark.filterwarnings("error")]
HERE = Path(__file__).resolve().parent
NO_AUGMENTATION = {"AUGMENT": "none"}


class Gang:
    """Starts the workers of one run after another on one network."""

    def __init__(self, net: Net, python: str, training: Path, data: Path, scratch: Path) -> None:
        self.net, self.python, self.training, self.data, self.scratch = net, python, training, data, scratch
        self.runs = 0

    def start(self, workers: int, checkpoints: str, script: dict[int, list[str]] | None = None, **env: str) -> list[Pod]:
        """Start all workers; script replaces the training of some. Each run has a name that no DNS cache knows."""
        self.runs += 1
        job = f"run{self.runs}"
        base = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.scratch),
            "TF_CPP_MIN_LOG_LEVEL": "2",
            "TF_NUM_WORKERS": str(workers),
            "TF_DISCOVERY_TIMEOUT": "120",
            "DATA_DIR": str(self.data),
            "CHECKPOINT_DIR": str(self.scratch / checkpoints),
            "MODEL": "cnn",
            **env,
        }
        tfrun = [self.python, str(self.training / "tfrun.py"), "--", self.python]
        train = [str(self.training / "train.py")]
        return [
            self.net.pod(f"{job}-node-0-{index}", [*tfrun, *(script or {}).get(index, train)], base, job=job) for index in range(workers)
        ]

    def bare(self, script: str, *indices: int | None) -> list[Pod]:
        """A worker for each index, which its TF_CONFIG says, and none for None; nothing starts it but Python."""
        self.runs += 1
        job = f"run{self.runs}"
        names = [f"{job}-node-0-{index}" for index in range(len(indices))]
        cluster = {"worker": [f"{name}.{job}.ns.svc.cluster.local:12345" for name in names]}
        base = {"PATH": os.environ["PATH"], "HOME": str(self.scratch), **({"TF_USE_LEGACY_KERAS": "1"} if "tf-2.21" in self.python else {})}
        pods = []
        for name, index in zip(names, indices, strict=True):
            told = {} if index is None else {"TF_CONFIG": json.dumps({"cluster": cluster, "task": {"type": "worker", "index": index}})}
            pods.append(self.net.pod(name, [self.python, "-c", script], base | told, job=job))
        return pods

    def train(self, workers: int, checkpoints: str, **env: str) -> str:
        """A run to its end; returns what worker 0 printed."""
        pods = self.start(workers, checkpoints, None, **env)
        statuses = [pod.wait(240) for pod in pods]
        assert statuses == [0] * workers, "\n".join(pod.text()[-3000:] for pod in pods)
        for pod in pods[1:]:
            assert "Test Accuracy" not in pod.text()
        return pods[0].text()


@pytest.fixture
def noise(tmp_path: Path, tensorflow: str) -> Path:
    """320 training images: five steps of 64 an epoch."""
    subprocess.run([tensorflow, HERE / "batches.py", tmp_path / "noise"], check=True)
    return tmp_path / "noise"


@pytest.fixture
def gang(net: Net, tensorflow: str, training: Path, noise: Path, tmp_path: Path) -> Gang:
    return Gang(net, tensorflow, training, noise, tmp_path)


def value(text: str, name: str) -> str:
    """What worker 0 printed behind a name."""
    found = re.search(rf"^{name}: (\S+)", text, re.MULTILINE)
    assert found, text[-3000:]
    return found[1]


def test_two_workers_learn_to_read_digits(gang: Gang, digits: Path, tmp_path: Path) -> None:
    """The plain network reads 95 % of 360 held-out digits after ten epochs."""
    gang.data = digits
    text = gang.train(2, "digits", EPOCHS="10", BATCH_SIZE="32", AUGMENT="crop")
    assert float(value(text, "Test Accuracy")) >= 0.95
    history = [json.loads(line) for line in (tmp_path / "digits" / "history.jsonl").read_text().splitlines()]
    assert [entry["epoch"] for entry in history] == list(range(1, 11))
    run = json.loads((tmp_path / "digits" / "run.json").read_text())
    assert (run["workers"], run["replicas"], run["config"]["epochs"]) == (2, 2, 10)
    assert (tmp_path / "digits" / "model.keras").is_file()
    assert list((tmp_path / "digits" / "tensorboard").glob("events.*"))


def test_four_workers_train_and_agree(gang: Gang) -> None:
    """That their weights are the same, and that each test image was counted once, the training asserts itself."""
    text = gang.train(4, "four", EPOCHS="1", BATCH_SIZE="8", MODEL="cnn")
    assert "4 workers, 4 replicas, global batch 32" in text
    assert len(value(text, "Weights")) == 64


def test_two_workers_equal_one(gang: Gang, tensorflow: str, tmp_path: Path) -> None:
    """Same global batch, no dropout, batch norm over all replicas, in float64: the same variables within 1e-10.

    In float32 rounding decides between nearly equal values in max pooling, and such decisions add up.
    """
    alike = {"EPOCHS": "1", "DROPOUT": "0", "PRECISION": "float64", "LEARNING_RATE": "0.05"}
    two = gang.train(2, "two", BATCH_SIZE="32", **alike)
    one = gang.train(1, "one", BATCH_SIZE="64", **alike)
    assert value(two, "Test Loss") == value(one, "Test Loss")
    command = [tensorflow, str(HERE / "compare.py"), str(tmp_path / "one"), str(tmp_path / "two")]
    assert float(subprocess.run(command, check=True, capture_output=True, text=True).stdout) < 1e-10


def test_a_run_goes_on_after_sigterm_and_after_a_lost_worker(gang: Gang, training: Path) -> None:
    """Stopped at an agreed step, then killed at a known one, it ends with the weights of an undisturbed run."""
    settings = {"EPOCHS": "4", "BATCH_SIZE": "32", "CHECKPOINT_STEPS": "3"}
    undisturbed = value(gang.train(2, "undisturbed", **settings), "Weights")

    def interrupted(step: int, number: int) -> dict[int, list[str]]:
        return {1: [str(HERE / "interrupt.py"), str(training), str(step), str(number)]}

    pods = gang.start(2, "disturbed", interrupted(7, signal.SIGTERM), **settings)
    assert [pod.wait(240) for pod in pods] == [82, 82], pods[0].text()[-3000:]
    assert "stopped by SIGTERM, saved at step 8 of 20" in pods[0].text()

    pods = gang.start(2, "disturbed", interrupted(4, signal.SIGKILL), **settings)
    assert pods[1].wait(240) == 128 + signal.SIGKILL
    assert pods[0].wait(240) == 1  # its all-reduce is aborted; it does not wait for ever
    assert "resumed at step 8" in pods[0].text()

    text = gang.train(2, "disturbed", **settings)
    assert "resumed at step 10" in text
    assert value(text, "Weights") == undisturbed


def test_a_checkpoint_that_cannot_be_taken_up_is_named_and_kept(gang: Gang, tmp_path: Path) -> None:
    """One of another network, of another precision, ones cut short, gone or not named: status 2, no traceback, no file touched."""
    gang.train(1, "other", EPOCHS="1")
    folder, *copies = [tmp_path / name for name in ("other", "cut", "gone", "empty", "torn")]
    cut, gone, empty, torn = copies
    for copy in copies:
        shutil.copytree(folder, copy)
    for file in gone.glob("ckpt-5.*"):
        file.unlink()
    (empty / "checkpoint").write_bytes(b"")
    (torn / "checkpoint").write_text('model_checkpoint_path: "ck', encoding="utf-8")
    data = cut / "ckpt-5.data-00000-of-00001"
    data.write_bytes(data.read_bytes()[:10_000])
    before = {file: file.read_bytes() for file in tmp_path.glob("*/*") if file.is_file() and file.parent in (folder, *copies)}
    pods = {
        f"{folder}/ckpt-5 is of another network or PRECISION (ValueError: ": gang.start(1, "other", MODEL="resnet9"),
        f"{folder}/ckpt-5 is of another network or PRECISION (InvalidArgumentError: ": gang.start(1, "other", PRECISION="float64"),
        f"{folder}/ckpt-5 is of another network or PRECISION (AssertionError: ": gang.start(1, "other", PRECISION="mixed_float16"),
        f"{cut}/ckpt-5 cannot be read (IndexError: ": gang.start(1, "cut"),
        f"{gone}/checkpoint names {gone}/ckpt-5, whose files are gone.": gang.start(1, "gone"),
        f"{empty}/checkpoint cannot be read: ": gang.start(1, "empty"),
        f"{torn}/checkpoint cannot be read: ": gang.start(1, "torn"),
    }
    for said, [pod] in pods.items():
        assert pod.wait(240) == 2, pod.text()[-3000:]
        assert f"train: error: {said}" in pod.text()
        assert "Traceback" not in pod.text()
    assert {file: file.read_bytes() for file in before} == before


def test_workers_with_different_settings_do_not_train(gang: Gang) -> None:
    """The environment of one worker differs: nobody trains, all end with status 2."""
    pods = gang.start(2, "differ", {1: ["-c", DIFFERENT.format(training=gang.training)]}, EPOCHS="1", BATCH_SIZE="32")
    assert [pod.wait(240) for pod in pods] == [2, 2]
    for pod in pods:
        assert "train: error: the workers differ in the environment (EPOCHS, BATCH_SIZE and so on)" in pod.text()


DIFFERENT = """
import os, sys
os.environ["SEED"] = "2"
os.execv(sys.executable, [sys.executable, "{training}/train.py"])
"""


def test_a_script_that_knows_nothing_of_clusters(gang: Gang, training: Path) -> None:
    """examples/curve.py, started by tfrun on two workers."""
    example = [str(training / "examples" / "curve.py")]
    pods = gang.start(2, "unused", {0: example, 1: example}, EPOCHS="5")
    assert [pod.wait(240) for pod in pods] == [0, 0], pods[0].text()[-3000:]
    results = [value(pod.text(), "Mean squared error") for pod in pods]
    assert results[0] == results[1] and float(results[0]) < 0.3


def test_an_operation_before_the_strategy_is_too_early(gang: Gang) -> None:
    """script/strategy-first"""
    (pod,) = gang.start(1, "unused", {0: ["-c", "import tensorflow as tf; tf.constant(1); tf.distribute.MultiWorkerMirroredStrategy()"]})
    assert pod.wait(240) == 1
    assert "Collective ops must be configured at program startup" in pod.text()


FIT = """
import tensorflow as tf
strategy = tf.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
data = tf.data.Dataset.from_tensors((tf.zeros([4, 2]), tf.zeros([4, 1]))).repeat()
model.fit(data, steps_per_epoch=2, verbose=2)
"""
COUNTED = (
    FIT.replace("strategy =", 'tf.get_logger().setLevel("INFO")\nstrategy =', 1) + 'print("replicas:", strategy.num_replicas_in_sync)\n'
)
BARE = "command: [python3, /opt/app/songs.py]"
CONFIG = '{"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 0}}'
TOLD = {"replace": "    - {name: CHECKPOINT_DIR,", "with": f"    - {{name: TF_CONFIG, value: '{CONFIG}'}}\n    - {{name: CHECKPOINT_DIR,"}
ENDLESS = FIT.replace("steps_per_epoch=2, ", "")
UNEVEN = """
import tensorflow as tf
strategy = tf.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
options = tf.data.Options()
options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
data = tf.data.Dataset.from_tensors((tf.zeros([4, 2]), tf.zeros([4, 1])))
model.fit(data.repeat(3 + 2 * strategy.cluster_resolver.task_id).with_options(options), epochs=2, verbose=2)
"""
BY_DATA = """
import tensorflow as tf
options = tf.data.Options()
options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
"""
BY_FILE = BY_DATA.replace("Policy.DATA", "Policy.FILE")
ONE_FILE = FIT.replace(
    "data = tf.data.Dataset.from_tensors((tf.zeros([4, 2]), tf.zeros([4, 1]))).repeat()",
    """
import tempfile
with tempfile.NamedTemporaryFile("w", delete=False) as file:
    file.write("line\\n" * 100)
data = tf.data.TextLineDataset(file.name).map(lambda line: (tf.zeros([2]), tf.zeros([1]))).repeat().batch(4)
if "options" in globals():
    data = data.with_options(options)
""",
)
AGAIN = """
import os
leave = tf.keras.callbacks.LambdaCallback(
    on_train_batch_end=lambda batch, logs: os._exit(9) if batch == 5 and strategy.cluster_resolver.task_id == 1 else None
)
for attempt in range(3):
    try:
        model.fit(data, steps_per_epoch=50, verbose=0, callbacks=[leave])
        break
    except tf.errors.UnavailableError as error:
        print(f"attempt {attempt}: {error}", flush=True)
os._exit(0)
"""
LOSS = """
import tensorflow as tf
strategy = tf.distribute.MultiWorkerMirroredStrategy()
loss = tf.keras.losses.MeanSquaredError({})
strategy.run(lambda: loss(tf.zeros([2, 1]), tf.ones([2, 1])))
"""
OUTSIDE = """
import tensorflow as tf
strategy = tf.distribute.MultiWorkerMirroredStrategy()
def build():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,))])
    model.compile("sgd", "mse")
    return model
data = tf.data.Dataset.from_tensors((tf.zeros([4, 2]), tf.zeros([4, 1]))).repeat()
build().fit(data, steps_per_epoch=2 + strategy.cluster_resolver.task_id, verbose=2)
model = build()
with strategy.scope():
    model.fit(data, steps_per_epoch=2, verbose=2)
"""
ONE_PASS = """
import tensorflow as tf
strategy = tf.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
data = tf.data.Dataset.from_tensor_slices((tf.zeros([30, 2]), tf.zeros([30, 1]))).batch(4)
print("epochs", len(model.fit(data, epochs=3, steps_per_epoch=30 // 4, verbose=2).epoch))
"""
ALONE = """
if strategy.cluster_resolver.task_id == 0:
    model.evaluate(data, steps=2, verbose=2)
else:
    model.fit(data, steps_per_epoch=2, verbose=2)
"""


def test_workers_that_nothing_tells_of_one_another_train_alone(gang: Gang, tmp_path: Path, opa: Evaluator) -> None:
    """script/told-its-cluster: they come to the end, too."""
    assert gate_says.found(tmp_path, opa, BARE, script=COUNTED) == [gate_says.ALONE]
    for indices, replicas in (((0, 1), "2"), ((None, None), "1")):
        pods = gang.bare(COUNTED, *indices)
        assert [pod.wait(240) for pod in pods] == [0, 0], pods[0].text() + pods[1].text()
        assert all("2/2 - " in pod.text() and value(pod.text(), "replicas") == replicas for pod in pods)
        assert all(("Single-worker MultiWorkerMirroredStrategy with local_devices" in pod.text()) == (replicas == "1") for pod in pods)


def test_workers_that_take_themselves_for_the_same_one_do_not_train(gang: Gang, tmp_path: Path, opa: Evaluator) -> None:
    """run/own-task: the first one ends when the second registers under its name, which then waits. Each with its own: see above."""
    said = "TF_CONFIG says task 0 to each of the 2 workers: all take themselves for the same one"
    assert gate_says.found(tmp_path, opa, BARE, TOLD, script=COUNTED, rule="run/own-task") == [said]
    pods = gang.bare(COUNTED, 0, 0)
    wait_for(lambda: any(pod.process.poll() is not None for pod in pods), "the end of one", 240)
    (ended,) = (pod for pod in pods if pod.process.poll() is not None)
    assert ended.wait() == 1
    assert "/job:worker/replica:0/task:0 unexpectedly tried to connect with a different incarnation" in pods[0].text()
    assert not any("2/2 - " in pod.text() for pod in pods)


def test_workers_whose_data_end_at_different_steps_abort(gang: Gang) -> None:
    """script/explicit-steps"""
    pods = gang.start(2, "unused", {0: ["-c", UNEVEN], 1: ["-c", UNEVEN]})
    assert [pod.wait(240) for pod in pods] == [1, 1]
    assert all("Collective ops is aborted by" in pod.text() for pod in pods)


def test_one_file_is_too_little_for_two_workers(gang: Gang) -> None:
    """script/file-shards: by file it cannot be shared out, by its lines it can; data from no file cannot be by file."""
    for script, statuses, said in (
        (ONE_FILE, {1}, "Could not apply FILE based sharding: the dataset only has 1 file(s)"),
        (BY_DATA + ONE_FILE, {0}, ""),
        (BY_FILE + FIT.replace(".repeat()", ".repeat().with_options(options)"), {1}, "Found an unshardable source dataset"),
    ):
        pods = gang.start(2, "unused", {0: ["-c", script], 1: ["-c", script]})
        assert ({pod.wait(240) for pod in pods}, said in pods[0].text() + pods[1].text()) == (statuses, True), pods[0].text()


def test_a_data_set_without_repeat_runs_out_in_a_later_epoch(gang: Gang) -> None:
    """script/explicit-steps: the training ends there, and its status is 0."""
    pods = gang.start(2, "unused", {0: ["-c", ONE_PASS], 1: ["-c", ONE_PASS]})
    assert [pod.wait(240) for pod in pods] == [0, 0]
    assert all("input ran out of data" in pod.text() and "epochs 2" in pod.text() for pod in pods)


def test_a_model_outside_of_the_scope_is_trained_by_each_worker_alone(gang: Gang) -> None:
    """script/model-in-scope: nobody misses the third step of one of them; in the scope it is refused."""
    pods = gang.start(2, "unused", {0: ["-c", OUTSIDE], 1: ["-c", OUTSIDE]})
    assert [pod.wait(240) for pod in pods] == [1, 1]
    for steps, pod in zip((2, 3), pods, strict=True):
        assert f"{steps}/{steps} - " in pod.text()
        assert "must only be passed a variable created in this tf.distribute.Strategy.scope()" in pod.text()


def test_a_loss_that_takes_the_mean_is_refused_in_a_loop_of_ones_own(gang: Gang) -> None:
    """script/loss-reduction: by Keras 2 alone."""
    for reduction, keras, statuses in (("", "1", {1}), ("reduction='sum'", "1", {0}), ("", "0", {0} if "tf-2.21" in gang.python else {1})):
        script = LOSS.format(reduction)
        pods = gang.start(
            2, "unused", {0: ["-c", script], 1: ["-c", script]}, TF_USE_LEGACY_KERAS=keras if "tf-2.21" in gang.python else "0"
        )
        said = "for loss reduction when losses are used with `tf.distribute.Strategy`"
        assert ({pod.wait(240) for pod in pods}, said in pods[0].text()) == (statuses, statuses == {1}), pods[0].text()


def test_a_worker_that_has_lost_a_peer_cannot_go_on_by_itself(gang: Gang) -> None:
    """script/no-endless-retry: each further attempt fails at once."""
    lost = FIT.replace("model.fit(data, steps_per_epoch=2, verbose=2)", AGAIN)
    pods = gang.start(2, "unused", {0: ["-c", lost], 1: ["-c", lost]})
    assert (pods[1].wait(240), pods[0].wait(240)) == (9, 0)
    assert [line.partition(":")[0] for line in pods[0].text().splitlines() if line.startswith("attempt ")] == [
        f"attempt {n}" for n in range(3)
    ]


def test_a_metric_outside_of_the_scope_is_refused(gang: Gang) -> None:
    """script/model-in-scope"""
    outside = FIT.replace("with strategy", "metric = tf.keras.metrics.MeanAbsoluteError()\nwith strategy").replace(
        '"mse")', '"mse", [metric])'
    )
    pods = gang.start(2, "unused", {0: ["-c", outside], 1: ["-c", outside]})
    assert [pod.wait(240) for pod in pods] == [1, 1]
    assert "was created inside a different distribution strategy scope than the model" in pods[0].text()


def test_repeat_without_a_number_of_steps_is_refused(gang: Gang) -> None:
    """script/explicit-steps"""
    pods = gang.start(2, "unused", {0: ["-c", ENDLESS], 1: ["-c", ENDLESS]})
    assert [pod.wait(240) for pod in pods] == [1, 1]
    assert "make sure to not call `repeat()` on the dataset" in pods[0].text()


def test_keras_3_cannot_fit_on_several_workers(gang: Gang) -> None:
    """script/legacy-keras: on TensorFlow 2.15 tf.keras is Keras 2."""
    pods = gang.start(2, "unused", {0: ["-c", FIT], 1: ["-c", FIT]}, TF_USE_LEGACY_KERAS="0")
    statuses = {pod.wait(240) for pod in pods}
    text = pods[0].text()
    assert (statuses, "Attempt to convert a value (PerReplica" in text) == (({1}, True) if "tf-2.21" in gang.python else ({0}, False)), text


def test_a_worker_that_evaluates_alone_meets_the_others_in_another_step(gang: Gang) -> None:
    """script/chief-only-collective"""
    pods = gang.start(2, "unused", {0: ["-c", FIT + ALONE], 1: ["-c", FIT + ALONE]})
    assert [pod.wait(240) for pod in pods] == [1, 1]
    assert "Shape mismatch in the collective instance" in pods[0].text() + pods[1].text()


SAVES = """
import os
for _ in range(100):
    model.save(os.environ["CHECKPOINT_DIR"] + "/final", save_format="tf")
"""
CALLBACK = "import os" + FIT.replace(
    "verbose=2", 'epochs=5, verbose=2, callbacks=[tf.keras.callbacks.ModelCheckpoint(os.environ["CHECKPOINT_DIR"] + "/kept.keras")]'
)
CUT = """
import os, resource, time
import tensorflow as tf
strategy = tf.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():  # without metrics and batch norm: nothing to ask the others for
    model = tf.keras.Sequential([tf.keras.layers.Dense(64, input_shape=(64,))])
file, saved, cut = (os.environ["CHECKPOINT_DIR"] + end for end in ("/final.keras", "/saved", "/cut"))
if strategy.cluster_resolver.task_id == 0:
    model.save(file)
    tf.keras.models.load_model(file)
    open(saved, "x").close()
    while not os.path.exists(cut):
        time.sleep(0.1)
else:
    while not os.path.exists(saved):
        time.sleep(0.1)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
    try:
        model.save(file)
    except OSError:
        open(cut, "x").close()
"""


def test_workers_that_save_to_one_path_tear_its_files(gang: Gang) -> None:
    """script/one-path-per-worker: within the first few saves, as a rule at the first."""
    pods = gang.start(2, "torn", {0: ["-c", FIT + SAVES], 1: ["-c", FIT + SAVES]})
    torn = re.compile(r"MergeV2Checkpoints.*torn/final/variables/variables", re.DOTALL)
    wait_for(lambda: any(torn.search(pod.text()) for pod in pods), "what one of them says", 240)


def test_a_worker_that_saves_late_takes_the_model_of_the_chief_with_it(gang: Gang, tmp_path: Path) -> None:
    """script/one-path-per-worker: it cuts the finished file off and begins anew, and does not come to the end."""
    (tmp_path / "late").mkdir()
    pods = gang.start(2, "late", {0: ["-c", CUT], 1: ["-c", CUT]})
    assert [pod.wait(240) for pod in pods] == [0, 0], pods[0].text() + pods[1].text()
    assert not zipfile.is_zipfile(tmp_path / "late" / "final.keras")


def test_the_checkpoint_callback_of_keras_2_leaves_the_path_to_the_chief(gang: Gang, tmp_path: Path) -> None:
    """script/one-path-per-worker"""
    pods = gang.start(2, "kept", {0: ["-c", CALLBACK], 1: ["-c", CALLBACK]})
    assert [pod.wait(240) for pod in pods] == [0, 0], pods[0].text() + pods[1].text()
    assert zipfile.is_zipfile(tmp_path / "kept" / "kept.keras")


SERVER = """
import http.server, os, time
class Slow(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", str(1 << 20))
        self.end_headers()
        self.wfile.write(bytes(1 << 19))
        while not os.path.exists(os.environ["READ"]):
            time.sleep(0.1)
        self.wfile.write(bytes(1 << 19))
server = http.server.ThreadingHTTPServer(("", 8000), Slow)
print("serves", flush=True)
server.serve_forever()
"""
CACHED = """
import json, os, time
import tensorflow as tf
file = os.path.expanduser("~/.keras/datasets/images.npz")
if json.loads(os.environ["TF_CONFIG"])["task"]["index"] == 1:
    while not os.path.exists(file) or not os.path.getsize(file):
        time.sleep(0.1)
got = tf.keras.utils.get_file("images.npz", os.environ["ORIGIN"])
print("got:", os.path.getsize(got), flush=True)
open(os.environ["READ"], "w").close()
"""


def test_a_data_set_that_no_worker_can_download_ends_them_all(gang: Gang) -> None:
    """script/no-download: there is no way out of the pods."""
    load = ["-c", "import tensorflow as tf; tf.keras.datasets.cifar10.load_data()"]
    pods = gang.start(2, "unused", {0: load, 1: load})
    assert [pod.wait(240) for pod in pods] == [1, 1]
    assert all("URL fetch failure on https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz" in pod.text() for pod in pods)


def test_workers_that_share_the_cache_take_the_half_file_of_another(gang: Gang, tmp_path: Path) -> None:
    """script/no-download"""
    read = str(tmp_path / "read")
    server = gang.net.pod("server", [gang.python, "-c", SERVER], {"PATH": os.environ["PATH"], "READ": read})
    server.sees("serves")
    origin = f"http://{server.fqdn}:8000/images.npz"
    pods = gang.start(2, "unused", {0: ["-c", CACHED], 1: ["-c", CACHED]}, ORIGIN=origin, READ=read, HOME=str(tmp_path / "home"))
    assert [pod.wait(240) for pod in pods] == [0, 0], pods[0].text() + pods[1].text()
    assert int(value(pods[0].text(), "got")) == 1 << 20
    assert 0 < int(value(pods[1].text(), "got")) < 1 << 20
