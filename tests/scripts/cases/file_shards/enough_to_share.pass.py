"""One file that is shared out by its records or by the script itself, several files, and what tf.data does not share out by file."""
import os

import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
ONE = "/data/train.tfrecord"
by_data, by_file, not_at_all = tf.data.Options(), tf.data.Options(), tf.data.Options()
by_data.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
by_file.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.FILE
not_at_all.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF


def batches(records):
    return records.map(lambda record: (record, record)).repeat().batch(64)


def of_one_worker(context):
    return batches(tf.data.TFRecordDataset(ONE).shard(context.num_input_pipelines, context.input_pipeline_id))


with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
model.fit(batches(tf.data.TFRecordDataset(ONE)).with_options(by_data), steps_per_epoch=10)
model.fit(batches(tf.data.TFRecordDataset(ONE)).with_options(not_at_all), steps_per_epoch=10)
model.fit(strategy.distribute_datasets_from_function(of_one_worker), steps_per_epoch=10)
model.fit(batches(tf.data.TFRecordDataset([ONE, "/data/more.tfrecord"])), steps_per_epoch=10)
model.fit(batches(tf.data.TFRecordDataset(os.environ.get("FILES", "/data/a.tfrecord,/data/b.tfrecord").split(","))), steps_per_epoch=10)
model.fit(batches(tf.data.TFRecordDataset(tf.io.gfile.glob("/data/*.tfrecord"))), steps_per_epoch=10)
model.fit(batches(tf.data.Dataset.list_files("/data/*.tfrecord").interleave(tf.data.TFRecordDataset)), steps_per_epoch=10)
model.fit(batches(tf.data.Dataset.list_files(ONE).repeat().interleave(tf.data.TFRecordDataset)), steps_per_epoch=10)
model.fit(batches(tf.data.TFRecordDataset(ONE).ignore_errors()), steps_per_epoch=10)
names = tf.data.Dataset.from_tensor_slices(tf.io.gfile.glob("/data/*.tfrecord")).with_options(by_file)
model.fit(batches(names.interleave(tf.data.TFRecordDataset)), steps_per_epoch=10)
model.fit(batches(tf.data.Dataset.range(1000)), steps_per_epoch=10)
