"""Makes once, before the tests and with progress, what they would otherwise make in the middle of a test.

`python -m tests.prepare`: the oracles of Trainer, CoreDNS, the two TensorFlow environments and, where the tests of the lab will
run, its programs and KWOK, into the cache outside the checkout.
"""

from __future__ import annotations

import sys
import time

from rich.console import Console

from gate.model import GateError
from lab import binaries, doctor
from tests.lab import programs
from tests.oracle import build
from tests.training import environments, pods


def main() -> int:
    try:
        for version in build.VERSIONS:
            build.binary(version)
        started = time.monotonic()
        pods.coredns()
        if not doctor.faults():
            binaries.build(Console(stderr=True))
            programs.binary("kwok")
        for version in environments.VERSIONS:
            environments.install(version)
    except (GateError, pods.PodsUnavailable, environments.EnvironmentUnavailable) as error:
        print(f"the tests cannot be prepared: {error}", file=sys.stderr)
        return 2
    if time.monotonic() - started > 1:
        print(f"CoreDNS, the lab's programs and the TensorFlow environments: done in {time.monotonic() - started:.0f} s", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
