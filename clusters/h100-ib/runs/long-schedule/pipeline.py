"""Batches in tf.data. Which images make the batch of a step follows from seed and step alone.

So a resumed run goes on with the very data that an undisturbed one would have seen, the batch of a step is the same
for any number of workers, and no worker can run out before another: there is no shard, only a part of each batch.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from config import Config
from data import Split

PAD, HOLE = 4, 8  # pixels: the border of the random crop, the side of the cutout


def steps_per_epoch(images: int, global_batch: int) -> int:
    """Whole batches of an epoch; what remains is another part of the data in each epoch."""
    return images // global_batch


def training(strategy: Any, split: Split, config: Config, first_step: int) -> Any:
    """(images uint8 [b, 32, 32, 3], labels [b]) for each replica, from the given step to the last."""
    replicas = strategy.num_replicas_in_sync
    steps = steps_per_epoch(len(split.labels), replicas * config.batch_size)
    first_epoch, skipped = divmod(first_step, steps)
    with tf.device("CPU:0"):
        images, labels = tf.constant(split.images), tf.constant(split.labels)

    def part_of_worker(context: Any) -> Any:
        """Local replicas take turns on one stream, in their order."""
        local = replicas // context.num_input_pipelines
        begin = context.input_pipeline_id * local

        def epoch(number: Any) -> Any:
            order = tf.random.experimental.stateless_shuffle(tf.range(len(split.labels)), seed=[config.seed, number])
            order = tf.reshape(order[: steps * replicas * config.batch_size], [steps, replicas, config.batch_size])
            order = tf.reshape(order[:, begin : begin + local], [steps * local, config.batch_size])
            batches = tf.data.Dataset.from_tensor_slices(order)
            begun = tf.cast(number == first_epoch, tf.int64)
            batches = batches.skip(begun * skipped * local)
            return batches.map(lambda chosen: (chosen, number))

        def fetch(chosen: Any, number: Any) -> Any:
            batch = tf.gather(images, chosen)
            return augment(batch, chosen, number, config), tf.gather(labels, chosen)

        # Without an end as far as TensorFlow knows: it would otherwise ask all workers before each step who has one.
        batches = tf.data.Dataset.range(first_epoch, config.epochs, output_type=tf.int32).flat_map(epoch).repeat()
        return batches.map(fetch, num_parallel_calls=tf.data.AUTOTUNE, deterministic=True).prefetch(tf.data.AUTOTUNE)

    return strategy.distribute_datasets_from_function(part_of_worker)


def augment(batch: Any, chosen: Any, epoch: Any, config: Config) -> Any:
    """Crop, flip and cut out at random; an image's dice depend on seed, epoch and its number only."""

    def dice(what: int, low: int, high: int) -> Any:
        """int32 [b], low <= value < high, by a hash of seed, epoch, image and what is diced."""
        keys = tf.stack([chosen, tf.zeros_like(chosen) + epoch], axis=1)
        text = tf.strings.reduce_join(tf.strings.as_string(keys), axis=1, separator=",")
        return low + tf.cast(tf.strings.to_hash_bucket_strong(text, high - low, key=[config.seed, what]), tf.int32)

    def rows(offset: Any, length: int) -> Any:
        return offset[:, None] + tf.range(length)[None]

    side = batch.shape[1]
    if "crop" in config.augment:
        batch = tf.pad(batch, [[0, 0], [PAD, PAD], [PAD, PAD], [0, 0]], mode="REFLECT")
        batch = tf.gather(batch, rows(dice(1, 0, 2 * PAD + 1), side), axis=1, batch_dims=1)
        batch = tf.gather(batch, rows(dice(2, 0, 2 * PAD + 1), side), axis=2, batch_dims=1)
    if "flip" in config.augment:
        batch = tf.where(dice(3, 0, 2)[:, None, None, None] == 1, tf.reverse(batch, [2]), batch)
    if "cutout" in config.augment:
        place = tf.range(side)[None]
        top, left = dice(4, 0, side - HOLE + 1)[:, None], dice(5, 0, side - HOLE + 1)[:, None]
        hole = ((place >= top) & (place < top + HOLE))[:, :, None] & ((place >= left) & (place < left + HOLE))[:, None]
        batch = tf.where(hole[..., None], tf.constant(127, tf.uint8), batch)
    return batch


def evaluation(strategy: Any, split: Split, batch_size: int) -> tuple[Any, int]:
    """Batches with a weight for each image: 1, or 0 for what fills the last batch. Returns them and their number.

    Each image has weight 1 exactly once over all workers; loop.evaluate counts them.
    """
    replicas, total = strategy.num_replicas_in_sync, len(split.labels)
    steps = -(-total // (replicas * batch_size))
    place = np.arange(steps * replicas * batch_size).reshape(steps, replicas, batch_size)

    def part_of_worker(context: Any) -> Any:
        local = replicas // context.num_input_pipelines
        begin = context.input_pipeline_id * local
        mine = place[:, begin : begin + local].reshape(-1)
        rows = np.minimum(mine, total - 1)
        parts = (split.images[rows], split.labels[rows], (mine < total).astype(np.float32))
        with tf.device("CPU:0"):
            return (
                tf.data.Dataset.from_tensor_slices(parts)
                .batch(batch_size, drop_remainder=True)
                .repeat()
                .prefetch(tf.data.AUTOTUNE)
            )

    return strategy.distribute_datasets_from_function(part_of_worker), steps
