"""What tfrun promises about the start of a gang, over thousands of schedules on a simulated clock."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.training import simulation
from tests.training.simulation import Process, World
from tests.training.subject import tfrun

TIMEOUT = 300.0
EXAMPLES = settings(
    max_examples=1000, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
seconds = st.floats(0, 60, allow_nan=False)


def gang(world: World, begins: list[float], delays: list[float], workers: int | None) -> list[Process]:
    """One process an index."""
    return [
        Process(world, index, f"10.0.0.{index}", workers, begin, published=delay, timeout=TIMEOUT)
        for index, (begin, delay) in enumerate(zip(begins, delays, strict=True))
    ]


def haunt(world: World, *, uid: str, attempt: int) -> Callable[[], None]:
    """Worker 0 of another job or attempt answers at the address that DNS still gives; returns what ends that."""
    old = Process(world, 0, "10.9.9.9", 2, 0.0, uid=uid, attempt=attempt)
    world.publish(old.place.host(0), old.address)
    world.listeners[old.address] = tfrun.Coordinator(old.place, 2, "old", 1e9)

    def leave() -> None:
        world.withdraw(old.place.host(0), old.address)
        world.listeners.pop(old.address, None)

    return leave


@st.composite
def arrivals(draw: st.DrawFn) -> tuple[list[float], list[float]]:
    """When each worker's pod starts, and how long its name then takes to be in DNS."""
    count = draw(st.integers(2, 6))
    begins = draw(st.lists(seconds, min_size=count, max_size=count))
    delays = draw(st.lists(st.floats(0, 10), min_size=count, max_size=count))
    return begins, delays


@EXAMPLES
@given(
    when=arrivals(),
    outages=st.lists(st.tuples(seconds, st.floats(0, 30)), max_size=3),
    probing=st.booleans(),
    old=st.sampled_from([None, ("u", 0), ("another", 1)]),
    leaves=seconds,
    seed=st.integers(0, 9),
)
def test_all_who_arrive_in_time_start(
    when: tuple[list[float], list[float]],
    outages: list[tuple[float, float]],
    probing: bool,
    old: tuple[str, int] | None,
    leaves: float,
    seed: int,
) -> None:
    """DNS flaps, caches negative answers, knows worker 0 late or by an old address: all start nevertheless."""
    world = World(probing=probing, outages=[(b, b + d) for b, d in outages], random=random.Random(seed))
    processes = gang(world, *when, workers=len(when[0]))
    events = [(leaves, haunt(world, uid=old[0], attempt=old[1]))] if old else []
    simulation.start(processes, until=2 * TIMEOUT, events=events)
    assert [p.refusal for p in processes] == [""] * len(processes)
    assert simulation.clusters(processes) == {tuple(processes[0].place.peer(i) for i in range(len(processes)))}


@EXAMPLES
@given(when=arrivals())
def test_no_name_gets_a_negative_answer(when: tuple[list[float], list[float]]) -> None:
    """No address is asked for before its name exists, so nothing has to wait for a cache."""
    world = World()
    processes = gang(world, *when, workers=len(when[0]))
    simulation.start(processes, until=2 * TIMEOUT)
    assert world.negative == 0
    assert max(p.at for p in processes) - max(p.begin + p.published for p in processes) < 4


@dataclass
class Fault:
    """A worker is lost, and perhaps another process with its index comes."""

    index: int
    at: float
    silent: bool
    replaced: float | None  # seconds later
    address_stays: bool


faults = st.lists(
    st.builds(
        Fault,
        index=st.integers(0, 5),
        at=st.floats(0, 100),
        silent=st.booleans(),
        replaced=st.none() | st.floats(0, 40),
        address_stays=st.booleans(),
    ),
    max_size=4,
)


@EXAMPLES
@given(
    when=arrivals(),
    known=st.booleans(),
    faults=faults,
    twice=st.lists(st.tuples(st.integers(1, 5), st.floats(0, 120)), max_size=2),
    probing=st.booleans(),
    outages=st.lists(st.tuples(seconds, st.floats(0, 30)), max_size=2),
    seed=st.integers(0, 9),
)
def test_never_two_clusters_and_nobody_waits_for_ever(
    when: tuple[list[float], list[float]],
    known: bool,
    faults: list[Fault],
    twice: list[tuple[int, float]],
    probing: bool,
    outages: list[tuple[float, float]],
    seed: int,
) -> None:
    """Workers are lost (worker 0 too), replaced, come twice or late: whoever starts, starts with one cluster."""
    world = World(probing=probing, outages=[(b, b + d) for b, d in outages], random=random.Random(seed))
    count = len(when[0])
    processes = gang(world, *when, workers=count if known else None)
    killed: set[int] = set()
    events: list[tuple[float, Callable[[], None]]] = []
    for number, fault in enumerate(faults):
        if fault.index >= count:
            continue

        def strike(victim: Process = processes[fault.index], fault: Fault = fault) -> None:
            if victim.at < 0:
                victim.kill(silent=fault.silent)
                killed.add(id(victim))
            if not fault.address_stays:
                world.withdraw(victim.place.host(victim.index), victim.address)

        events.append((fault.at, strike))
        if fault.replaced is not None:
            begin = fault.at + fault.replaced
            processes.append(
                Process(world, fault.index, f"10.0.1.{number}", count if known else None, begin, published=1.0, timeout=TIMEOUT)
            )
    for number, (index, begin) in enumerate(twice):
        if index < count:
            processes.append(Process(world, index, f"10.0.2.{number}", count if known else None, begin, timeout=TIMEOUT))
    simulation.start(processes, until=10 * TIMEOUT, events=events)
    assert len(simulation.clusters(processes)) <= 1
    for process in processes:
        if id(process) not in killed:
            assert process.cluster or process.refusal
            assert process.at <= process.begin + TIMEOUT + 1
    for index in range(count):
        assert sum(p.cluster is not None for p in processes if p.index == index) <= 1


@EXAMPLES
@given(when=arrivals(), late=st.floats(0, 120))
def test_without_a_number_worker_0_decides(when: tuple[list[float], list[float]], late: float) -> None:
    """All who start have worker 0's membership; whoever comes later ends, and is told why."""
    world = World()
    processes = gang(world, *when, workers=None)
    simulation.start(processes, until=10 * TIMEOUT)
    started = [p for p in processes if p.cluster]
    assert len(simulation.clusters(processes)) <= 1
    assert [p.index for p in started] == list(range(len(started)))
    for process in processes:
        if not process.cluster:
            assert "came too late" in process.refusal or "waiting for" in process.refusal


def test_a_gap_is_never_closed_over() -> None:
    world = World()
    processes = [Process(world, i, f"10.0.0.{i}", None, 0.0, timeout=60) for i in (0, 1, 3)]
    simulation.start(processes, until=100)
    assert not simulation.clusters(processes)
    assert "3 workers, waiting for index 2" in processes[0].refusal


def test_one_worker_alone_never_starts_without_being_told_to() -> None:
    processes = [Process(World(), 0, "10.0.0.0", None, 0.0, timeout=60)]
    simulation.start(processes, until=100)
    assert processes[0].refusal == (
        "worker 0 refuses: at its deadline, 1 workers, waiting for more (TF_NUM_WORKERS is not set). "
        "Look at those pods: kubectl describe pods -l jobset.sigs.k8s.io/jobset-name=job"
    )


def test_a_missing_worker_is_named_at_the_deadline() -> None:
    world = World()
    processes = [Process(world, i, f"10.0.0.{i}", 4, 0.0, timeout=60) for i in (0, 1, 3)]
    simulation.start(processes, until=100)
    assert {p.refusal.split(". ")[0] for p in processes} == {"worker 0 refuses: at its deadline, 3 of 4 workers, waiting for index 2"}
    assert all(p.at <= 62 for p in processes)


def test_without_worker_0_the_message_says_what_to_look_at() -> None:
    processes = [Process(World(), 1, "10.0.0.1", 2, 0.0, timeout=60)]
    simulation.start(processes, until=100)
    assert processes[0].refusal == (
        "not started after 60 s (TF_DISCOVERY_TIMEOUT): job-node-0-0.job.ns.svc.cluster.local is not in DNS. Is the pod of "
        "worker 0 there and scheduled, has its JobSet enableDNSHostnames and publishNotReadyAddresses, do namespace and "
        "subdomain fit?"
    )


@pytest.mark.parametrize("begin", [2.0, 30.0])
def test_a_worker_that_comes_twice_is_told_so(begin: float) -> None:
    """Before the start and after it."""
    world = World()
    processes = gang(world, [0, 0, 20], [0, 0, 0], workers=3)
    again = Process(world, 1, "10.0.0.9", 3, begin)
    simulation.start([*processes, again], until=200)
    assert len(simulation.clusters(processes)) == 1 and all(p.cluster for p in processes)
    assert "index 1 is taken by another process" in again.refusal


def test_a_worker_of_an_earlier_attempt_ends() -> None:
    world = World()
    processes = gang(world, [0, 0], [0, 0], workers=2)
    old = Process(world, 1, "10.0.0.9", 2, 5.0, attempt=0)
    simulation.start([*processes, old], until=200)
    assert old.refusal == "worker 0 refuses: this is attempt 0, worker 0 is of attempt 1"


def test_a_stranger_at_the_address_of_worker_0_is_never_joined() -> None:
    world = World()
    haunt(world, uid="another", attempt=1)
    lonely = Process(world, 1, "10.0.0.1", 2, 0.0, timeout=60)
    simulation.start([lonely], until=100)
    assert "held by another job or attempt, ['ns', 'job', 'another', 1] and not ['ns', 'job', 'u', 1]" in lonely.refusal


@pytest.mark.parametrize(("theirs", "shown"), [(3, 3), (None, None)])
def test_workers_with_another_number_are_refused(theirs: int | None, shown: int | None) -> None:
    world = World()
    first = Process(world, 0, "10.0.0.0", 2, 0.0, timeout=60)
    other = Process(world, 1, "10.0.0.1", theirs, 0.0, timeout=60)
    simulation.start([first, other], until=100)
    peer = "job-node-0-1.job.ns.svc.cluster.local:12345"
    assert other.refusal == (
        f"worker 0 refuses: this worker has {[peer, shown]}, worker 0 has {[peer, 2]} for it and for TF_NUM_WORKERS: environments differ"
    )
    assert not first.cluster


def test_a_peer_whose_name_still_has_its_old_address_holds_the_start_back() -> None:
    """TensorFlow would connect to whoever has that address now."""
    world = World(replicas=1)
    processes = gang(world, [0, 0], [0, 0], workers=2)
    world.cache[0, processes[0].place.host(1)] = (25.0, {"10.9.9.9"})
    simulation.start(processes, until=200)
    assert all(p.cluster and 25 <= p.at <= 28 for p in processes)


def test_a_replaced_worker_0_gets_no_second_promise() -> None:
    """A worker that was ready for one worker 0 does not start for another: that one may have started the rest."""
    world = World()
    processes = gang(world, [0, 0, 0], [0, 0, 0], workers=None)
    world.cache[0, processes[0].place.host(1)] = world.cache[1, processes[0].place.host(1)] = (60.0, {"10.9.9.9"})
    new = Process(world, 0, "10.0.1.0", None, 30.0)
    events = [(25.0, lambda: processes[0].kill(silent=False)), (25.0, lambda: world.withdraw(new.place.host(0), "10.0.0.0"))]
    simulation.start([*processes, new], until=1000, events=events)
    assert not simulation.clusters([*processes, new])
    assert processes[1].refusal == "worker 0 was replaced after this worker was ready; the gang must restart"


def test_malformed_messages_harm_nobody() -> None:
    world = World()
    processes = gang(world, [0, 10], [0, 0], workers=2)
    nonsense: list[dict[str, object]] = [
        {},
        {"kind": "register"},
        {"kind": "register", "index": -1},
        {"kind": "register", "index": "1", "identity": {}},
        {"kind": "register", "index": 1, "identity": ["ns", "job", "u", "x"]},
        {"kind": "register", "index": 1, "identity": ["ns", "job", "u", 1], "nonce": [], "peer": {}},
        {"kind": "ready", "round": None},
    ]

    def bother() -> None:
        for message in nonsense:
            mine, theirs = simulation.Wire("10.6.6.6"), simulation.Wire("10.0.0.0")
            mine.other, theirs.other = theirs, mine
            processes[0].coordinator.hear(theirs, message, 5.0)

    simulation.start(processes, until=100, events=[(5.0, bother)])
    assert all(p.cluster for p in processes)


def test_the_known_recipe_is_caught_by_the_same_harness() -> None:
    """4 workers over 30 s: workers of one gang settle on different numbers, with and without DNS caches."""
    for keep in (0.0, simulation.CACHE):
        splits = 0
        for seed in range(200):
            dice = random.Random(seed)
            world = World(keep=keep, random=dice)
            processes = gang(world, [dice.uniform(0, 30) for _ in range(4)], [0.0] * 4, workers=None)
            simulation.start(processes, until=2 * TIMEOUT, recipe=True)
            splits += len(simulation.clusters(processes)) > 1
        assert splits > 0
