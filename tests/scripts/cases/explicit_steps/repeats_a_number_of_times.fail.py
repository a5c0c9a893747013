"""repeat(3) ends as well."""
from tensorflow import data as tfd
from tensorflow import distribute, keras

strategy = distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    inputs = keras.Input((3,))
    model = keras.Model(inputs, keras.layers.Dense(1)(inputs))
pipeline = tfd.Dataset.from_tensor_slices(([[1.0, 2.0, 3.0]], [1.0])).repeat(3).batch(8)
model.fit(x=pipeline, epochs=1)  # here: fit() without steps_per_epoch
