"""Both in functions: the order of the calls decides, not that of the definitions."""
import tensorflow as tf


def make_strategy():
    return tf.distribute.MultiWorkerMirroredStrategy()


def load(folder):
    return tf.data.Dataset.list_files(folder + "/*.tfrecord")  # here: the data set made by tf.data.Dataset.list_files


def main():
    files = load("/data")
    strategy = make_strategy()
    return files, strategy


if __name__ == "__main__":
    main()
