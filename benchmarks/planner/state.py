"""What the reconciler knows of a large cluster: its memory, and the way from an event to a state.

`python -m benchmarks.planner.state [--nodes 10000] [--pods 100000] [--jobs 5000] [--runs 21]`

The objects come page by page, and then event by event, through the informers and stores that the
reconciler runs, from a cluster in memory that makes them when they are asked for.
"""

import argparse
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from queue import SimpleQueue
from statistics import median
from threading import Event
from time import monotonic, process_time
from typing import TYPE_CHECKING, Any, Final, cast

from benchmarks.planner.objects import Objects, Scale
from benchmarks.report.processor import forget_peak, memory_mib
from edl.errors import Gone
from edl.kube.cache.watched_kinds import Stores, informers
from edl.kube.cluster import ListOptions, RawEvent, RawList
from edl.kube.decode import object_facts
from edl.kube.decode.pod_shapes import ShapeInterner
from edl.kube.state.incremental_state import IncrementalState
from edl.model import ClusterState
from edl.planner.decide import decide
from edl.planner.decision_limits import Limits
from edl.planner.policies import POLICIES
from edl.steps.plan_steps import steps
from reconciler.manager import tune_garbage_collector

if TYPE_CHECKING:
    from edl.kube.cluster import Cluster
    from edl.kube.decode.object_facts import PodFacts

NOON: Final = datetime(2026, 1, 1, 12, tzinfo=UTC)
PAGE: Final = 500
PATIENCE: Final = 300.0


class Events:
    """A watch: yields the events that are put into it, and raises exceptions put into it."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[RawEvent | Exception | None] = SimpleQueue()

    def __iter__(self) -> Iterator[RawEvent]:
        while found := self._queue.get():
            if isinstance(found, Exception):
                raise found
            yield found

    def put(self, found: RawEvent | Exception) -> None:
        self._queue.put(found)

    def close(self) -> None:
        self._queue.put(None)


class Streamed:
    """The reading half of a `Cluster`; lists are generated while they are read."""

    def __init__(self, objects: Objects) -> None:
        self.objects = objects
        self.version = objects.version
        self.watches: dict[str, Events] = {}

    def pages(self, selection: ListOptions) -> Iterator[RawList]:
        page: list[bytes] = []
        for found in self.objects.of(selection.kind):
            page.append(found)
            if len(page) == PAGE:
                yield RawList(tuple(page), str(self.version))
                page.clear()
        yield RawList(tuple(page), str(self.version))

    def watch(self, selection: ListOptions, _version: str) -> Events:
        return self.watches.setdefault(selection.kind, Events())


class Reading:
    """The stores of a reconciler, fed by its informers."""

    def __init__(self, scale: Scale) -> None:
        self.rung = Event()
        self.cluster = Streamed(Objects(scale))
        self.stores = Stores(self.rung.set)
        self._incremental = IncrementalState(self.stores)
        self._version = self.cluster.objects.version
        self._informers = informers(cast("Cluster", self.cluster), self.stores)

    def start(self) -> None:
        for informer in self._informers:
            informer.start()
        _until(lambda: self.stores.synced)

    def stop(self) -> None:
        for informer in self._informers:
            informer.stop()

    def state(self) -> ClusterState:
        return self._incremental.state(NOON)

    def send(self, kind: str, make: Callable[..., bytes]) -> None:
        self._version += 1
        event = RawEvent("MODIFIED", make(VERSION=str(self._version)))
        self.cluster.watches[kind].put(event)

    def relist(self) -> None:
        """List all pods again, as after a watch whose version was too old."""
        self.cluster.version = self._version
        ended = self.cluster.watches.pop("Pod")
        ended.put(Gone("too old", 410))
        _until(lambda: "Pod" in self.cluster.watches)


def _until(met: Callable[[], bool]) -> None:
    limit = monotonic() + PATIENCE
    while not met():
        if monotonic() > limit:
            raise SystemExit("it did not come to pass")
        Event().wait(0.005)


def show(what: str, seconds: list[float], note: str = "") -> None:
    middle, most = median(seconds) * 1000, max(seconds) * 1000
    resident = f"{memory_mib():>8.0f}{memory_mib('VmHWM'):>8.0f}"
    print(f"{what:<46}{middle:>10.1f}{most:>9.1f}{resident}  {note}")
    forget_peak()


def timed(work: Callable[[], object]) -> float:
    """The processor time of all threads, which other load of the machine does not change much."""
    start = process_time()
    work()
    return process_time() - start


def event_to_state(reading: Reading, kind: str, make: Callable[..., bytes]) -> float:
    reading.rung.clear()
    start = process_time()
    reading.send(kind, make)
    if not reading.rung.wait(PATIENCE):
        raise SystemExit(f"the {kind} caused no wake-up within {PATIENCE} s")
    reading.state()
    return process_time() - start


def watch_events(reading: Reading, runs: int) -> None:
    objects = reading.cluster.objects
    flips: list[dict[str, Any]] = [{"READY": "False"}, {}]
    for what, kind, make in (
        ("a pod of ours is (not) ready", "Pod", partial(objects.pod, 3)),
        ("a pod of others is (not) there", "Pod", partial(objects.pod, objects.scale.pods - 1)),
        ("a Job is resized", "Job", partial(objects.job, 7)),
        ("a node gets another label", "Node", partial(objects.node, 11)),
    ):
        times = []
        for run in range(runs):
            change = {
                "a pod of ours is (not) ready": flips[run % 2],
                "a pod of others is (not) there": {"CPU": f"{101 + run}m"},
                "a Job is resized": {"SIZE": str(2 + run % 9)},
                "a node gets another label": {"ZONE": f"z{run}"},
            }[what]
            times.append(event_to_state(reading, kind, partial(make, **change)))
        show(f"event to state: {what}", times)


def read_placed(objects: Objects) -> None:
    """Read pods placed by plans, each with a node affinity of its own; print their memory."""
    shapes, before = ShapeInterner(), memory_mib()
    found: list[PodFacts] = []
    raw = (objects.placed(number) for number in range(objects.scale.pods))
    spent = timed(lambda: found.extend(object_facts.pod(one, shapes) for one in raw))
    different = len({id(one.shape) for one in found})
    note = f"its making included; {different} shapes, {memory_mib() - before:.0f} MiB more"
    show("every pod, all placed by plans", [spent], note)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=10_000)
    parser.add_argument("--pods", type=int, default=100_000)
    parser.add_argument("--jobs", type=int, default=5_000)
    parser.add_argument("--runs", type=int, default=21)
    options = parser.parse_args()
    print(
        f"{options.nodes} nodes, {options.pods} pods, {options.jobs} training jobs; memory in MiB"
    )
    print(f"{'':<46}{'median ms':>10}{'max ms':>9}{'RSS':>8}{'peak':>8}")
    reading = Reading(Scale(options.nodes, options.pods, options.jobs))
    show("imported", [0.0])
    show("the first list of everything", [timed(reading.start)], "its making included")
    tune_garbage_collector()
    show("the first state", [timed(reading.state)])
    show("the same state again", [timed(reading.state) for _ in range(options.runs)])
    watch_events(reading, options.runs)
    before = reading.state()
    show("every pod listed again", [timed(reading.relist)], "its making included")
    show("the state after it", [timed(reading.state)])
    after = reading.state()
    kept = sum(map(lambda one, other: one is other, before.jobs, after.jobs))
    print(f"of {len(after.jobs)} jobs {kept} are the same objects")
    state, policy = reading.state(), POLICIES["fair"]
    plan = decide(state, policy, Limits())
    show("one decision", [timed(lambda: decide(state, policy, Limits()))])
    show("its steps", [timed(lambda: steps(plan, state))])
    print(f"{len(plan.resizes)} resizes, {len(plan.waiting)} waiting")
    reading.stop()
    read_placed(reading.cluster.objects)


if __name__ == "__main__":
    main()
