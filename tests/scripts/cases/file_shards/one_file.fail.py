"""One file for several workers, however it is named and read, and whatever comes between."""
import os
from pathlib import Path

import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
FOLDER = Path(os.environ.get("DATA_DIR", "/data"))


def batches(records):
    return records.map(lambda record: (record, record)).cache().shuffle(100).repeat().batch(64).prefetch(2)


with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
train = tf.data.TFRecordDataset(FOLDER / "train.tfrecord")  # here: the data are in one file and are shared out by file
held = tf.data.TextLineDataset(os.path.join("/data", "held.csv")).skip(1)  # here: the data are in one file
model.fit(batches(train), steps_per_epoch=100, validation_data=batches(held), validation_steps=10)
names = tf.data.Dataset.from_tensor_slices(["/data/test.tfrecord"])  # here: the data are in one file
model.evaluate(batches(names.interleave(tf.data.TFRecordDataset)), steps=10)
listed = tf.data.Dataset.list_files("/data/more.tfrecord")  # here: the data are in one file
model.predict(batches(listed.flat_map(lambda name: tf.data.TFRecordDataset(name, compression_type="GZIP"))), steps=10)
fixed = tf.data.FixedLengthRecordDataset([f"/data/{os.environ['SPLIT']}.bin"], 64).filter(lambda record: True)  # here: the data are in one file
for _ in strategy.experimental_distribute_dataset(batches(fixed)):
    pass
