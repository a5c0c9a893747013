# workers: 2
import argparse

import tensorflow as tf


def strategy_of(options):
    return tf.distribute.experimental.MultiWorkerMirroredStrategy(communication=options)  # here: 2 workers start the script


def main():
    parser = argparse.ArgumentParser()
    parser.parse_args()
    with strategy_of(tf.distribute.experimental.CollectiveCommunication.RING).scope():
        tf.Variable(1.0)


if __name__ == "__main__":
    main()
