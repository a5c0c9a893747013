"""Run training/train.py and send this process a signal when a step begins: interrupt.py CODE STEP SIGNAL.

Runs in a TensorFlow environment, in place of train.py. STEP counts from the start of this process.
"""

from __future__ import annotations

import os
import sys
from typing import Any


def main(code: str, step: int, number: int) -> None:
    sys.path.insert(0, code)
    import loop
    import train

    make, begun = loop.make_train_step, 0

    def make_interrupted(*arguments: Any) -> Any:
        train_step = make(*arguments)

        def interrupted(*batch: Any) -> Any:
            nonlocal begun
            begun += 1
            if begun == step:
                os.kill(os.getpid(), number)
            return train_step(*batch)

        return interrupted

    loop.make_train_step = make_interrupted
    status = train.main()
    sys.stdout.flush()
    os._exit(status)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
