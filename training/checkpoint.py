"""Checkpoints on a volume that all workers share: every worker saves, only worker 0's files are kept.

Saving reads variables that the workers hold in common (batch norm's statistics), so all must take part. Worker 0 writes
the run's directory; the others write where nobody looks, and remove it.
"""

from __future__ import annotations

import shutil
import tempfile
from typing import Any

import tensorflow as tf

KEEP = 2  # the newest may be torn if a node died while it was written; its predecessor is whole


class WrongCheckpoint(RuntimeError):
    """The last checkpoint cannot be taken up: it is another network's, or damaged."""


class Keeper:
    """Saves and restores the given objects and the numbers that go with them (see numbers). Raises WrongCheckpoint."""

    def __init__(self, directory: str, *, chief: bool, **objects: Any) -> None:
        self.directory, self.chief = directory, chief
        self.last = _last(directory)
        self.scratch = "" if chief else tempfile.mkdtemp(prefix="not-kept-")
        # Plain variables of this worker: the step, and the sums of the epoch that has begun.
        self.numbers = {
            name: tf.Variable(0.0, dtype=tf.float64, trainable=False) for name in ("step", "loss", "correct")
        }
        self.checkpoint = tf.train.Checkpoint(**objects, **self.numbers)
        self.manager = tf.train.CheckpointManager(self.checkpoint, self.scratch or directory, max_to_keep=KEEP)

    def restore(self) -> dict[str, float]:
        """Take up the last checkpoint of the run, if there is one; returns the numbers saved with it, else zeros.

        All objects must have their variables by now. Raises WrongCheckpoint.
        """
        if last := self.last:
            try:
                self.checkpoint.restore(last).assert_existing_objects_matched()
            except (
                AssertionError,
                ValueError,
                tf.errors.InvalidArgumentError,
            ) as error:  # not there, its shape, its type
                raise WrongCheckpoint(
                    f"{last} is of another network or PRECISION ({_first_line(error)}). Give the run a CHECKPOINT_DIR "
                    f"of its own, or the MODEL and PRECISION that {self.directory}/run.json names"
                ) from None
            except (tf.errors.OpError, IndexError, RuntimeError) as error:  # a file is cut short or gone
                raise WrongCheckpoint(
                    f"{last} cannot be read ({_first_line(error)}). Where one before it is there, name that one in "
                    f"{self.directory}/checkpoint, else give the run another CHECKPOINT_DIR"
                ) from None
        return {name: float(variable.numpy()) for name, variable in self.numbers.items()}

    def save(self, **numbers: float) -> None:
        """To be called by all workers at the same step."""
        for name, value in numbers.items():
            self.numbers[name].assign(value)
        self.manager.save(checkpoint_number=int(numbers["step"]))

    def export(self, model: Any) -> None:
        """The finished network as model.keras; again all workers take part."""
        model.save(f"{self.scratch or self.directory}/model.keras")

    def close(self) -> None:
        """Remove what is not kept."""
        if self.scratch:
            shutil.rmtree(self.scratch, ignore_errors=True)


def _last(directory: str) -> str:
    """What the file `checkpoint` names; "" where there is no such file.

    latest_checkpoint() says of a file that cannot be read, and of one whose checkpoint is gone, only that there is
    none: the run would begin anew, and in the end delete what it could have taken up.
    """
    file = f"{directory}/checkpoint"
    if not tf.io.gfile.exists(file):
        return ""
    remedy = "Where a checkpoint is there, name that one, else give the run another CHECKPOINT_DIR"
    try:
        state = tf.train.get_checkpoint_state(directory)
    except ValueError:  # it names none
        state = None
    if not state:
        raise WrongCheckpoint(f'{file} cannot be read: it must be model_checkpoint_path: "ckpt-STEP". {remedy}')
    last: str = state.model_checkpoint_path
    if not tf.train.latest_checkpoint(directory):
        raise WrongCheckpoint(f"{file} names {last}, whose files are gone. {remedy}")
    return last


def _first_line(error: Exception) -> str:
    name, said = type(error).__name__, str(error).strip()
    return f"{name}: {said.splitlines()[0].strip()}" if said else name
