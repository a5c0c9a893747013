"""The two networks, and the schedule by which they learn.

resnet9 is the residual network of the DAWNBench entries for CIFAR-10, made for about ten epochs at a large batch:
learning rate in proportion to the global batch, warmed up linearly, then linearly down to zero; label smoothing, weight
decay on kernels only, batch norm over all replicas. cnn is the plain one: convolutions, batch norm, dropout.
"""

from __future__ import annotations

import sys
from typing import Any

import tensorflow as tf

from config import Config
from data import CHANNELS, CLASSES, SIDE

MEAN, DEVIATION = (125.3, 123.0, 113.9), (63.0, 62.1, 66.7)  # of CIFAR-10's pixels, 0 to 255


def build(config: Config) -> Any:
    """The network: uint8 [b, 32, 32, 3] to logits [b, 10]. To be called in the strategy's scope."""
    layers = tf.keras.layers
    image = layers.Input((SIDE, SIDE, CHANNELS))
    scale = [1 / d for d in DEVIATION]
    x = layers.Rescaling(scale, [-m * s for m, s in zip(MEAN, scale, strict=True)])(image)
    x = _resnet9(x) if config.model == "resnet9" else _cnn(x, config.dropout)
    logits = layers.Activation("linear", dtype="float64" if config.precision == "float64" else "float32")(x)
    return tf.keras.Model(image, logits, name=config.model)


@tf.keras.utils.register_keras_serializable("training")
class Dropout(tf.keras.layers.Layer):  # type: ignore[misc]
    """Dropout whose dice are thrown by its input's sum: no state that a resumed run would have to restore."""

    def __init__(self, rate: float, **keywords: Any) -> None:
        super().__init__(**keywords)
        self.rate = rate

    def call(self, inputs: Any, training: Any = None) -> Any:
        if not training or not self.rate:
            return inputs
        dice = tf.bitcast(tf.reduce_sum(tf.cast(inputs, tf.float32)), tf.int32)
        return tf.nn.experimental.stateless_dropout(inputs, self.rate, seed=[dice, 0])

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "rate": self.rate}


def _convolution(x: Any, filters: int) -> Any:
    """Convolution, batch norm over all replicas, ReLU."""
    layers = tf.keras.layers
    x = layers.Conv2D(filters, 3, padding="same", use_bias=False)(x)
    x = layers.BatchNormalization(momentum=0.9, epsilon=1e-5, synchronized=True)(x)
    return layers.ReLU()(x)


def _resnet9(x: Any) -> Any:
    layers = tf.keras.layers
    x = _convolution(x, 64)
    for filters, residual in ((128, True), (256, False), (512, True)):
        x = layers.MaxPool2D()(_convolution(x, filters))
        if residual:
            x = layers.Add()([x, _convolution(_convolution(x, filters), filters)])
    x = layers.GlobalMaxPool2D()(x)
    x = layers.Dense(CLASSES, use_bias=False)(x)
    return layers.Rescaling(0.125)(x)


def _cnn(x: Any, dropout: float) -> Any:
    layers = tf.keras.layers
    for filters in (32, 64, 128):
        x = layers.MaxPool2D()(_convolution(x, filters))
    x = Dropout(dropout)(layers.GlobalMaxPool2D()(x))
    return layers.Dense(CLASSES)(x)


def optimizer(config: Config, global_batch: int, steps: int) -> Any:
    """SGD with Nesterov momentum on the run's schedule. To be called in the strategy's scope."""
    peak = config.learning_rate * global_batch / 256
    schedule = tf.keras.optimizers.schedules
    warm = int(config.warmup * steps)

    class Triangle(schedule.LearningRateSchedule):  # type: ignore[misc, name-defined]
        """Linearly up to the peak, then linearly down to zero."""

        def __call__(self, step: Any) -> Any:
            now = tf.cast(step, tf.float32) + 1
            return peak * tf.minimum(now / max(warm, 1), (steps + 1 - now) / max(steps - warm, 1))

        def get_config(self) -> dict[str, float]:
            return {"peak": peak, "steps": steps, "warm": warm}

    sgd = tf.keras.optimizers.SGD(Triangle(), momentum=0.9, nesterov=True, weight_decay=config.weight_decay or None)
    if config.weight_decay:
        sgd.exclude_from_weight_decay(var_names=["gamma", "beta", "bias"])
    return sgd


def keras_version() -> str:
    """Of the Keras that tf.keras is: keras up to TensorFlow 2.15, tf_keras or Keras 3 after it."""
    return str(sys.modules[tf.keras.Model.__module__.split(".")[0]].__version__)


def choose_precision(wanted: str) -> str:
    """float16 where tensor cores know nothing better (compute capability 7), bfloat16 from 8 on, float32 elsewhere."""
    if wanted != "auto":
        return wanted
    gpus = tf.config.list_physical_devices("GPU")
    major = min(
        (tf.config.experimental.get_device_details(g).get("compute_capability", (0,))[0] for g in gpus), default=0
    )
    return "mixed_bfloat16" if major >= 8 else "mixed_float16" if major == 7 else "float32"
