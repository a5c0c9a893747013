"""The training itself, the same for one worker and for many: strategy, census, model, restore, epochs, result."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import signal
import time
import zlib
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import tensorflow as tf

import checkpoint
import model
import pipeline
from config import Config
from data import CLASSES, Cifar
from journal import Journal, describe
from progress import Reporter

_never_freed: list[Any] = []  # the destructors of a strategy and its data wait for peers, which may have left by then


class WrongStart(RuntimeError):
    """The workers are not the ones that TF_CONFIG names, or differ; going on would train something else."""


@dataclass
class Stop:
    """Set by SIGTERM; the workers agree on the step at which they heed it."""

    wanted: bool = False

    def listen(self) -> None:
        """Handle SIGTERM from now on."""
        signal.signal(signal.SIGTERM, lambda _number, _frame: setattr(self, "wanted", True))


@dataclass
class Sums:
    """Of the epoch that has begun, over all workers."""

    steps: int = 0
    loss: Any = field(default_factory=lambda: tf.constant(0.0, tf.float64))
    correct: Any = field(default_factory=lambda: tf.constant(0.0, tf.float64))


def train(config: Config, cifar: Cifar, stop: Stop, say: Callable[[str], None]) -> bool:
    """Train to the end (True) or to the step on which the workers agreed after SIGTERM (False)."""
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    _never_freed.append(strategy)
    stop.listen()  # again: TensorFlow's coordination service has put a handler of its own there
    if not model.keras_version().startswith("2."):
        raise WrongStart(f"tf.keras is Keras {model.keras_version()}: start with tfrun, or set TF_USE_LEGACY_KERAS=1")
    cluster = json.loads(os.environ.get("TF_CONFIG", "{}")).get("cluster", {}).get("worker", ["localhost"])
    worker = strategy.cluster_resolver.task_id or 0
    chief = worker == 0
    say = say if chief else lambda _line: None

    precision = model.choose_precision(config.precision)
    tf.keras.mixed_precision.set_global_policy(precision)
    tf.keras.utils.set_random_seed(config.seed)
    replicas = strategy.num_replicas_in_sync
    global_batch = replicas * config.batch_size
    per_epoch = pipeline.steps_per_epoch(len(cifar.train.labels), global_batch)
    if per_epoch == 0:
        raise WrongStart(f"a global batch of {global_batch} is more than the {len(cifar.train.labels)} training images")
    total = per_epoch * config.epochs

    with strategy.scope():
        network = model.build(config)
        optimizer = model.optimizer(config, global_batch, total)
        optimizer.build(network.trainable_variables)
        if precision == "mixed_float16":
            optimizer = tf.keras.mixed_precision.LossScaleOptimizer(optimizer)
    keeper = checkpoint.Keeper(config.checkpoint_dir, chief=chief, network=network, optimizer=optimizer)
    found = keeper.restore()
    step = int(found["step"])
    take_census(
        strategy,
        len(cluster),
        {
            "the environment (EPOCHS, BATCH_SIZE and so on)": json.dumps({**asdict(config), "precision": precision}),
            "the data": cifar.sha256,
            "the step of the last checkpoint (is CHECKPOINT_DIR on a volume that all share?)": str(step),
        },
    )
    description = describe(
        config, workers=len(cluster), replicas=replicas, precision=precision, data_sha256=cifar.sha256
    )
    journal = Journal(config.checkpoint_dir, chief=chief)
    journal.open(description, step // per_epoch)
    reporter = Reporter(os.environ if chief else {}, say)
    say(f"{len(cluster)} workers, {replicas} replicas, global batch {global_batch}, {config.model}, {precision}")
    say(f"{total} steps, {per_epoch} an epoch; " + (f"resumed at step {step}" if step else "a new run"))

    sums = Sums(step % per_epoch, tf.constant(found["loss"], tf.float64), tf.constant(found["correct"], tf.float64))
    train_step = make_train_step(strategy, network, optimizer, config, global_batch)
    test = pipeline.evaluation(strategy, cifar.test, config.batch_size)
    test_step = make_test_step(strategy, network)
    batches = iter(pipeline.training(strategy, cifar.train, config, step))
    _never_freed.extend((test, batches))
    first, begin, epoch_begin, last = step, time.monotonic(), time.monotonic(), None
    result = (0.0, 0.0)

    while step < total:
        # The result of the step before is at hand, that of this one would have to be waited for.
        if last is not None and float(last[2]) > 0:
            keeper.save(step=step, loss=float(sums.loss), correct=float(sums.correct))
            say(f"stopped by SIGTERM, saved at step {step} of {total}")
            keeper.close()
            reporter.close()
            return False
        last = train_step(next(batches), tf.constant(float(stop.wanted), tf.float64))
        step += 1
        sums = Sums(sums.steps + 1, sums.loss + last[0], sums.correct + last[1])
        if step % per_epoch == 0:
            images = sums.steps * global_batch
            values = {"loss": float(sums.loss) / images, "accuracy": float(sums.correct) / images}
            speed = min(step - first, per_epoch) * global_batch / (time.monotonic() - epoch_begin)
            result = evaluate(strategy, test_step, test, len(cifar.test.labels))
            values |= {"test_loss": result[0], "test_accuracy": result[1]}
            sums = Sums()
            keeper.save(step=step, loss=0.0, correct=0.0)
            journal.epoch(step // per_epoch, step, values)
            shown = " ".join(f"{name} {value:.4f}" for name, value in values.items())
            say(f"epoch {step // per_epoch}/{config.epochs} step {step} {shown} {speed:.0f} images/s")
            remaining = (time.monotonic() - begin) / (step - first) * (total - step)
            reporter.report(100 * step / total, remaining, values)
            epoch_begin = time.monotonic()
        elif config.checkpoint_steps and step % config.checkpoint_steps == 0:
            keeper.save(step=step, loss=float(sums.loss), correct=float(sums.correct))
        elif chief and reporter.due():
            remaining = (time.monotonic() - begin) / (step - first) * (total - step)
            reporter.report(100 * step / total, remaining, {"loss": float(last[0]) / global_batch})

    if step == first:  # restarted after its end
        result = evaluate(strategy, test_step, test, len(cifar.test.labels))
    keeper.export(network)
    weights = hashlib.sha256(b"".join(weight.tobytes() for weight in network.get_weights())).hexdigest()
    say(f"Test Loss: {result[0]:.4f}")
    say(f"Test Accuracy: {result[1]:.4f}")
    say(f"Weights: {weights}")
    keeper.close()
    reporter.close()
    take_census(strategy, len(cluster), {"their final weights": weights})
    part(strategy)
    return True


def take_census(strategy: Any, workers: int, alike: dict[str, str]) -> None:
    """All workers of TF_CONFIG and their replicas are here and have the same values. Raises WrongStart."""
    local = len(strategy.extended.worker_devices)
    values = [float(zlib.crc32(value.encode()) % 2**20) for value in alike.values()]
    mine = tf.constant([1.0, 1.0 / local, *values, *(value**2 for value in values)], tf.float64)

    @tf.function  # type: ignore[untyped-decorator]
    def count(mine: Any) -> Any:
        return strategy.reduce("SUM", strategy.run(lambda row: row, args=(mine,)), axis=None)

    replicas, present, *sums = count(mine).numpy().tolist()
    if round(present) != workers or round(replicas) != strategy.num_replicas_in_sync:
        raise WrongStart(
            f"TF_CONFIG names {workers} workers, the strategy joined {present:g} with {replicas:g} replicas: "
            "this would train something else than was asked for"
        )
    for number, what in enumerate(alike):
        square = sums[len(values) + number]
        if sums[number] != replicas * values[number] or square != replicas * values[number] ** 2:
            part(strategy)
            raise WrongStart(f"the workers differ in {what}")


def part(strategy: Any) -> None:
    """Wait for the others, so that nobody leaves while another still reads the result of the collective before this."""

    @tf.function  # type: ignore[untyped-decorator]
    def gather() -> Any:
        return strategy.reduce("SUM", strategy.run(lambda: tf.constant(1.0)), axis=None)

    with contextlib.suppress(tf.errors.OpError):  # they may leave while this is read, which harms nothing any more
        float(gather())


def make_train_step(strategy: Any, network: Any, optimizer: Any, config: Config, global_batch: int) -> Any:
    """A function of (batch, stop) that gives the sums over the global batch: loss, correct answers, wishes to stop."""
    scaled = hasattr(optimizer, "get_scaled_loss")

    def replica(images: Any, labels: Any, stop: Any) -> Any:
        with tf.GradientTape() as tape:
            logits = network(images, training=True)
            losses = cross_entropy(labels, logits, config.label_smoothing)
            loss = tf.reduce_sum(losses) / global_batch  # the optimizer sums over the replicas
            target = optimizer.get_scaled_loss(loss) if scaled else loss
        gradients = tape.gradient(target, network.trainable_variables)
        if scaled:
            gradients = optimizer.get_unscaled_gradients(gradients)
        optimizer.apply_gradients(zip(gradients, network.trainable_variables, strict=True))
        return tf.stack([as_sum(losses), as_sum(correct(labels, logits)), stop])

    @tf.function  # type: ignore[untyped-decorator]
    def step(batch: Any, stop: Any) -> Any:
        return strategy.reduce("SUM", strategy.run(replica, args=(*batch, stop)), axis=None)

    return step


def make_test_step(strategy: Any, network: Any) -> Any:
    """A function of a batch that gives the weighted sums over all workers: loss, correct answers, images."""

    def replica(images: Any, labels: Any, weights: Any) -> Any:
        logits = network(images, training=False)
        return tf.stack(
            [
                as_sum(weights * tf.cast(cross_entropy(labels, logits, 0.0), tf.float32)),
                as_sum(weights * correct(labels, logits)),
                as_sum(weights),
            ]
        )

    @tf.function  # type: ignore[untyped-decorator]
    def step(batch: Any) -> Any:
        return strategy.reduce("SUM", strategy.run(replica, args=batch), axis=None)

    return step


def evaluate(strategy: Any, test_step: Any, test: tuple[Any, int], expected: int) -> tuple[float, float]:
    """Loss and accuracy over the test images, each counted once. All workers take part."""
    dataset, steps = test
    batches = iter(dataset)
    sums = tf.zeros(3, tf.float64)
    for _ in range(steps):
        sums += test_step(next(batches))
    loss, right, images = sums.numpy().tolist()
    if images != expected:
        raise WrongStart(f"{images:g} test images were evaluated, there are {expected}")
    return loss / images, right / images


def cross_entropy(labels: Any, logits: Any, smoothing: float) -> Any:
    """[b]"""
    target = tf.one_hot(labels, CLASSES, dtype=logits.dtype) * (1 - smoothing) + smoothing / CLASSES
    return tf.nn.softmax_cross_entropy_with_logits(target, logits)


def correct(labels: Any, logits: Any) -> Any:
    """float32 [b], 1 where the answer is right."""
    return tf.cast(tf.equal(tf.argmax(logits, axis=1, output_type=tf.int32), labels), tf.float32)


def as_sum(values: Any) -> Any:
    """float64: exact for counts, and the same whatever the number of workers is."""
    return tf.cast(tf.reduce_sum(values), tf.float64)
