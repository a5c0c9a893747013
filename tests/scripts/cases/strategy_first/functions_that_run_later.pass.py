"""Operations in functions, lambdas and methods that are called after the strategy was made."""
import tensorflow as tf


@tf.function
def normalise(image):
    return tf.cast(image, tf.float32) / tf.constant(255.0)


class Head(tf.keras.layers.Layer):
    def build(self, shape):
        self.scale = tf.Variable(1.0)

    def call(self, inputs):
        return tf.multiply(inputs, self.scale)


augment = lambda image: tf.image.random_flip_left_right(image)  # noqa: E731


def data():
    return tf.data.Dataset.range(100).map(augment)


def main():
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    return strategy, data()


if __name__ == "__main__":
    main()
