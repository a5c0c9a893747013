"""Train on CIFAR-10, on one worker or many; start with tfrun: python3 tfrun.py -- python3 train.py

No cluster code in here: TF_CONFIG comes from tfrun, worker 0 prints. config.py lists what the environment decides.
Exit status: 0 trained to the end; 2 a bad value, bad data, a checkpoint of another network or a start that TF_CONFIG
does not describe; 82 stopped by SIGTERM with everything saved, the next start goes on from there; 1 anything else, with
a traceback.
"""

from __future__ import annotations

import os
import sys
import traceback

import config
import data

BAD_VALUE, STOPPED = 2, 82


def say(line: str) -> None:
    """A line on standard output, at once."""
    print(line, flush=True)


def main() -> int:
    """The exit status."""
    try:
        settings = config.Config.read()
        cifar = data.read(settings.data_dir, settings.data_sha256)
    except (config.BadConfiguration, data.BadData) as error:
        print(f"train: error: {error}", file=sys.stderr)
        return BAD_VALUE

    import checkpoint  # TensorFlow is loaded here, when nothing simple can be wrong any more
    import loop

    stop = loop.Stop()
    stop.listen()
    try:
        return 0 if loop.train(settings, cifar, stop, say) else STOPPED
    except (loop.WrongStart, checkpoint.WrongCheckpoint) as error:
        print(f"train: error: {error}", file=sys.stderr)
        return BAD_VALUE
    except Exception:
        traceback.print_exc()
        return 1


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)  # threads of TensorFlow that wait for a lost worker must not keep the pod and its GPUs
