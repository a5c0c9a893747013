"""The usual tutorial."""
import tensorflow as tf


def main():
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    train, held = tf.keras.utils.image_dataset_from_directory("/data", validation_split=0.2, subset="both", seed=1)
    with strategy.scope():
        model = tf.keras.applications.MobileNetV2(weights=None, classes=5)
        model.compile("adam", "sparse_categorical_crossentropy")
    model.fit(train, validation_data=held, epochs=3)  # here: fit() without # here: validation_data without


main()
