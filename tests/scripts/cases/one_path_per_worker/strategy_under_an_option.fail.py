"""Tests that can hold where the strategy is made."""
import argparse

import tensorflow as tf

parser = argparse.ArgumentParser()
parser.add_argument("--nodes", type=int)
parser.add_argument("--mixed", action="store_true")
args = parser.parse_args()
if args.nodes > 1:
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
else:
    strategy = tf.distribute.get_strategy()
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
if args.nodes == 2:
    model.save("/runs/pair")  # here: save() is given one path
if args.nodes:
    model.save("/runs/some")  # here: save() is given one path
if not args.mixed:
    model.save("/runs/plain")  # here: save() is given one path
match args.nodes:
    case 1:
        model.save("/runs/one")  # here: save() is given one path
    case _:
        model.save("/runs/many")  # here: save() is given one path
if not args.nodes > 1:
    model.save("/runs/alone")
