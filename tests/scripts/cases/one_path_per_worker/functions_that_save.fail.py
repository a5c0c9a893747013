"""tf.saved_model.save and models.save_model, under aliases."""
from argparse import ArgumentParser

import tensorflow as tf
from tensorflow import saved_model
from tensorflow.keras.models import save_model

parser = ArgumentParser()
parser.add_argument("--output", default="/runs/out")
args = parser.parse_args()
strategy = tf.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
saved_model.save(model, args.output)  # here: tf.saved_model.save() is given one path
save_model(model, filepath=args.output + "/keras")  # here: save_model() is given one path
