"""How long from the last worker's start to the start of all trainings, and how often a gang splits.

    python -m tests.bench.discovery [--repeat N] [--schedules N]

tfrun and the known recipe (probe index 0, 1, 2 … every 5 s until the first gap, accept two equal results of at least
2) run in the same pods: namespaces with CoreDNS, ttl 30, cache 30; root is needed. Splits are counted on the simulated
clock. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

from tests.training import simulation
from tests.training.pods import Net, wait_for
from tests.training.subject import TRAINING

WORKERS, APART = 4, 4.0  # seconds between two arrivals
STARTED = [sys.executable, "-c", "import time; print('STARTED', time.time(), flush=True); time.sleep(300)"]
RECIPE = """
import os, socket, sys, time
job = socket.gethostname().rsplit("-node-", 1)[0]
last = 0
while True:
    count = 0
    try:
        while socket.getaddrinfo(f"{job}-node-0-{count}.{job}.ns.svc.cluster.local.", None):
            count += 1
    except OSError:
        pass
    if count >= 2 and count == last:
        os.execv(sys.argv[1], sys.argv[1:])
    last = count
    time.sleep(5)
"""


def seconds_to_start(order: list[int], command: list[str], number: int) -> float:
    """One start of a gang whose workers arrive in this order; seconds from the last arrival to the last start."""
    with tempfile.TemporaryDirectory() as folder:
        net = Net(Path(folder))
        try:
            job = f"job{number}"
            env = {"PATH": os.environ["PATH"]}
            if command[1] != "-c":
                env |= {"TF_NUM_WORKERS": str(WORKERS)}
            for position, index in enumerate(order):
                if position:
                    time.sleep(APART)
                last = time.time()
                net.pod(f"{job}-node-0-{index}", command, env, job=job)
            wait_for(lambda: all("STARTED" in pod.text() for pod in net.pods), "all trainings", 200)
            return max(float(pod.text().split("STARTED ")[1].split()[0]) for pod in net.pods) - last
        finally:
            net.close()


def measure(repeat: int) -> dict[str, object]:
    """Both ways, with worker 0 first and last."""
    ways = {
        "tfrun": [sys.executable, str(TRAINING / "tfrun.py"), "--", *STARTED],
        "recipe": [sys.executable, "-c", RECIPE, *STARTED],
    }
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(repeat):
        for order in ([0, 1, 2, 3], [3, 2, 1, 0]):
            for name, command in ways.items():
                seconds[name].append(round(seconds_to_start(order, command, number), 2))
    means = {name: statistics.mean(values) for name, values in seconds.items()}
    return {"seconds": seconds, "mean": means, "times shorter": round(means["recipe"] / means["tfrun"], 1)}


def splits(schedules: int, keep: float) -> dict[str, object]:
    """4 workers that arrive at random within 30 s: how many of the gangs start with different clusters, or not whole."""
    count = {"tfrun": 0, "recipe": 0}
    waits: dict[str, list[float]] = {"tfrun": [], "recipe": []}
    for seed in range(schedules):
        for name in count:
            dice = random.Random(seed)
            world = simulation.World(keep=keep, random=dice)
            begins = [dice.uniform(0, 30) for _ in range(WORKERS)]
            number = WORKERS if name == "tfrun" else None
            gang = [simulation.Process(world, i, f"10.0.0.{i}", number, begin) for i, begin in enumerate(begins)]
            simulation.start(gang, until=600, recipe=name == "recipe")
            whole = len(simulation.clusters(gang)) == 1 and all(p.cluster and len(p.cluster) == WORKERS for p in gang)
            count[name] += not whole
            if whole:
                waits[name].append(max(p.at for p in gang) - max(begins))
    mean = {name: round(statistics.mean(values), 2) for name, values in waits.items()}
    return {"schedules": schedules, "DNS cache, seconds": keep, "split or not whole": count, "mean seconds, the others": mean}


def main() -> None:
    parser = argparse.ArgumentParser(description="Discovery: tfrun against the known recipe")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--schedules", type=int, default=10_000)
    options = parser.parse_args()
    result = {"in pods": measure(options.repeat)}
    result["simulated"] = {f"cache {keep:g}": splits(options.schedules, keep) for keep in (0.0, simulation.CACHE)}
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
