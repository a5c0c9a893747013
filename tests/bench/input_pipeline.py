"""Steps per second with the real input pipeline against those with one constant batch, in one process.

    TF_USE_LEGACY_KERAS=1 <python of a TensorFlow environment> tests/bench/input_pipeline.py [cnn|resnet9]

(without the variable for TensorFlow 2.15). Rounds of both alternate, as the machine may have other work. Prints JSON.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from itertools import repeat
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "training"), str(ROOT / "tests" / "training")]
ROUNDS, WARM, STEPS = 4, 30, {"cnn": 100, "resnet9": 10}


def main(name: str) -> None:
    import batches
    import data
    import loop
    import model
    import pipeline
    import tensorflow as tf
    from config import Config

    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    config = Config(model=name, epochs=1000)
    with tempfile.TemporaryDirectory() as folder:
        cifar = data.read(str(batches.write(Path(folder), images=10_000)))
    with strategy.scope():
        network = model.build(config)
        optimizer = model.optimizer(config, config.batch_size, 100_000)
    step = loop.make_train_step(strategy, network, optimizer, config, config.batch_size)
    real = iter(pipeline.training(strategy, cifar.train, config, 0))
    sources = {"real": real, "constant": repeat(next(real))}
    stay = tf.constant(0.0, tf.float64)
    rates: dict[str, list[float]] = {kind: [] for kind in sources}
    for _ in range(ROUNDS):
        for kind, source in sources.items():
            time.sleep(3)  # the real pipeline fills its buffers: not while the constant batch is measured
            for _ in range(WARM):  # and uses them up: what is measured is what it can keep up
                float(step(next(source), stay)[0])
            begin = time.perf_counter()
            for _ in range(STEPS[name]):
                last = step(next(source), stay)
            float(last[0])
            rates[kind].append(STEPS[name] / (time.perf_counter() - begin))
    medians = {kind: round(statistics.median(values), 2) for kind, values in rates.items()}
    result = {"model": name, "batch": config.batch_size, "augment": config.augment, "tensorflow": tf.__version__}
    print(json.dumps({**result, "steps/s": medians, "ratio": round(medians["real"] / medians["constant"], 3)}))


if __name__ == "__main__":
    main((sys.argv[1:] or ["cnn"])[0])
