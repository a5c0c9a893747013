"""tfrun's agreement on a simulated clock and network: thousands of starts of a gang in seconds.

The code under test is the real one (tfrun.Coordinator, Member, attend, conduct); only the event loop's clock, the
connections and DNS are simulated. DNS behaves like CoreDNS in a kubeadm cluster: an answer, also a negative one, is
kept for 30 s per name and type. The known recipe (probe index 0, 1, 2 … until the first gap) runs in the same world.
"""

from __future__ import annotations

import asyncio
import random
import selectors
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from tests.training.subject import tfrun

CACHE = 30.0  # seconds, positive and negative
FLIGHT = 0.01  # seconds that a message takes


class _Instant(selectors.BaseSelector):
    """A selector that never waits: it moves the clock of its loop instead."""

    def __init__(self) -> None:
        self.now = 0.0
        self.files: dict[Any, selectors.SelectorKey] = {}

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        key = self.files[fileobj] = selectors.SelectorKey(fileobj, 0, events, data)
        return key

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self.files.pop(fileobj)

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout is None:
            raise RuntimeError("the simulation waits for something that will never come")
        self.now += max(timeout, 0.0)
        return []

    def get_map(self) -> Any:
        return self.files


def _without_the_killed(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """A process that is killed in the very tick in which it was refused leaves nobody to hear of it."""
    if not isinstance(context.get("exception"), tfrun.NoAgreement):
        loop.default_exception_handler(context)


def run(main: Coroutine[Any, Any, None]) -> None:
    """Run to the end on simulated time."""
    selector = _Instant()
    loop = asyncio.SelectorEventLoop(selector)
    loop.time = lambda: selector.now  # type: ignore[method-assign]
    loop.set_exception_handler(_without_the_killed)
    try:
        loop.run_until_complete(main)
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
    finally:
        loop.close()


class Wire:
    """One end of a simulated connection."""

    def __init__(self, local: str) -> None:
        self.local = local
        self.inbox: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self.other: Wire | None = None
        self.open = True
        self.mute = False  # messages vanish without an error: a node that is gone

    def send(self, message: dict[str, Any]) -> None:
        if self.open and self.other and not self.mute and not self.other.mute:
            asyncio.get_running_loop().call_later(FLIGHT, self.other.inbox.put_nowait, message)

    async def receive(self) -> dict[str, Any] | None:
        return await self.inbox.get()

    def close(self) -> None:
        if self.open and self.other:
            self.open = False
            self.inbox.put_nowait(None)
            if not self.mute and not self.other.mute:
                asyncio.get_running_loop().call_later(FLIGHT, self.other.inbox.put_nowait, None)


@dataclass
class World:
    """Names, addresses, listeners and caches."""

    records: dict[str, set[str]] = field(default_factory=dict)
    listeners: dict[str, Any] = field(default_factory=dict)  # address -> tfrun.Coordinator
    cache: dict[tuple[int, str], tuple[float, set[str]]] = field(default_factory=dict)
    outages: list[tuple[float, float]] = field(default_factory=list)  # DNS does not answer
    keep: float = CACHE
    replicas: int = 2  # CoreDNS pods of a kubeadm cluster: each query meets the cache of one of them
    random: random.Random = field(default_factory=lambda: random.Random(0))
    probing: bool = True  # False: a DNS server for which an unusual type tells nothing
    wires: list[tuple[str, Wire, Wire]] = field(default_factory=list)  # address of the caller, its end, the other end
    background: list[asyncio.Future[None]] = field(default_factory=list)
    negative: int = 0  # negative answers for an address, from the cache or new

    def publish(self, name: str, address: str) -> None:
        self.records.setdefault(name, set()).add(address)

    def withdraw(self, name: str, address: str) -> None:
        self.records.get(name, set()).discard(address)

    def answers(self, now: float) -> bool:
        return not any(begin <= now < end for begin, end in self.outages)


@dataclass
class Host:
    """The network as one pod sees it."""

    world: World
    address: str
    silent: int = 0

    async def exists(self, name: str) -> bool:
        now = asyncio.get_running_loop().time()
        await asyncio.sleep(FLIGHT)
        if not self.world.answers(now):
            await asyncio.sleep(2)
            self.silent += 1
            return self.silent > tfrun.SILENCE
        self.silent = 0
        if not self.world.probing:
            return True
        return bool(self.world.records.get(name))

    async def lookup(self, name: str) -> set[str]:
        await asyncio.sleep(FLIGHT)
        now = asyncio.get_running_loop().time()
        replica = self.world.random.randrange(self.world.replicas)
        until, kept = self.world.cache.get((replica, name), (0.0, set()))
        if now >= until:
            if not self.world.answers(now):
                return set()
            kept = set(self.world.records.get(name, set()))
            self.world.cache[replica, name] = (now + self.world.keep, kept)
        self.world.negative += not kept
        return kept

    async def connect(self, addresses: set[str]) -> Wire:
        for address in sorted(addresses):
            coordinator = self.world.listeners.get(address)
            if coordinator is not None:
                await asyncio.sleep(FLIGHT)
                mine, theirs = Wire(self.address), Wire(address)
                mine.other, theirs.other = theirs, mine
                self.world.wires.append((self.address, mine, theirs))
                self.world.background.append(asyncio.ensure_future(tfrun.attend(coordinator, theirs)))
                return mine
        await asyncio.sleep(FLIGHT)
        raise OSError("connection refused")


@dataclass
class Process:
    """One tfrun in one pod; afterwards it holds what became of it."""

    world: World
    index: int
    address: str
    workers: int | None
    begin: float
    published: float = 0.0  # seconds from begin until its name is in DNS
    timeout: float = 300.0
    job: str = "job"
    uid: str = "u"
    attempt: int = 1
    nonce: str = ""
    cluster: list[str] | None = None  # what it started with
    at: float = -1.0  # when it started or ended
    refusal: str = ""
    hosts: bool = True  # its own name is in its /etc/hosts
    task: asyncio.Task[None] | None = None
    coordinator: Any = None

    @property
    def place(self) -> Any:
        return tfrun.Place(
            job=self.job,
            index=self.index,
            subdomain="job",
            namespace="ns",
            domain="cluster.local",
            port=12345,
            uid=self.uid,
            attempt=self.attempt,
        )

    async def live(self) -> None:
        """From the pod's start to the training's start, or the end."""
        loop = asyncio.get_running_loop()
        await asyncio.sleep(self.begin)
        loop.call_later(self.published, self.world.publish, self.place.host(self.index), self.address)
        host = Host(self.world, self.address)
        self.nonce = self.nonce or f"{self.address}-{self.begin}"
        member = tfrun.Member(host, self.place, self.workers, self.nonce, self.timeout, lambda _line: None)
        if self.index == 0:
            deadline = loop.time() + tfrun.worker_0_deadline(self.timeout)
            self.coordinator = tfrun.Coordinator(self.place, self.workers, "c" + self.nonce, deadline)
            self.world.listeners[self.address] = self.coordinator
            self.world.background.append(asyncio.ensure_future(tfrun.conduct(self.coordinator)))
            member.at = {self.address}
        try:
            self.cluster = await member.join()
        except tfrun.NoAgreement as error:
            self.refusal = str(error)
            if self.index == 0:  # its process ends, and with it the listener
                self.world.listeners.pop(self.address, None)
        self.at = loop.time()

    def kill(self, *, silent: bool) -> None:
        """The pod is gone: its connections end, or (silent) nobody hears of it."""
        assert self.task is not None
        self.world.listeners.pop(self.address, None)
        for address, mine, theirs in self.world.wires:
            if address == self.address:
                mine.mute = silent
                mine.close()
            elif theirs.local == self.address:
                theirs.mute = silent
                theirs.close()
        self.task.cancel()

    async def follow_recipe(self) -> None:
        """The known recipe: count names until the first gap every 5 s, accept two equal results of at least 2."""
        loop = asyncio.get_running_loop()
        await asyncio.sleep(self.begin)
        loop.call_later(self.published, self.world.publish, self.place.host(self.index), self.address)
        host, last = Host(self.world, self.address), 0
        while loop.time() < self.begin + self.timeout:
            count = 0
            while await host.lookup(self.place.host(count)):
                count += 1
            if count >= 2 and count == last:
                self.cluster, self.at = [self.place.peer(i) for i in range(count)], loop.time()
                return
            last = count
            await asyncio.sleep(5)


def start(
    processes: list[Process],
    *,
    until: float,
    events: list[tuple[float, Callable[[], None]]] | None = None,
    recipe: bool = False,
) -> None:
    """Let the processes live, with the events at their times, until the given second."""

    async def main() -> None:
        loop = asyncio.get_running_loop()
        for process in processes:
            process.task = asyncio.ensure_future(process.follow_recipe() if recipe else process.live())
        for when, what in events or []:
            loop.call_at(when, what)
        await asyncio.wait([p.task for p in processes if p.task], timeout=until)

    run(main())


def clusters(processes: list[Process]) -> set[tuple[str, ...]]:
    """The different clusters that were started."""
    return {tuple(p.cluster) for p in processes if p.cluster}
