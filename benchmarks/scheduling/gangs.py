"""Gangs on a real kube-scheduler: `python -m benchmarks.scheduling.gangs [--clusters 40]`.

The clusters of `benchmarks.scheduling.placement`, one after another in one sandbox with simulated
nodes, with webhook and reconciler as users install them; a minute there is three seconds here. In
every second one other tenants' pods come and go. First the exact fit: forty gangs that fill forty
nodes.
"""

import argparse
import os
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from math import ceil
from pathlib import Path
from statistics import fmean
from threading import Event, Thread
from typing import Final, Protocol

from benchmarks.scheduling import scaled_scenario
from benchmarks.scheduling.clean_up import LONGEST, clear, until
from benchmarks.scheduling.placement import NamedScenario, clusters, exact_fit
from benchmarks.scheduling.watch import Gang, Stalls, Start, StartStage, Watch
from dev.installation import install
from edl import contract
from edl.errors import Conflict, NotFound
from edl.kube.api.client import ApiClient, connect
from edl.kube.cluster import ListOptions
from edl.model import ObjectRef
from edl.simulator import Training
from sandbox import Sandbox, temporary_sandbox

NAMESPACE: Final = "default"
THREADS: Final = 4
SOON: Final = 10.0
"""The seconds within which a started gang must run, and for which it may be half placed."""
STEP: Final = 2.0
"""The minimum seconds between two changes of a tenant's pods."""


@dataclass(slots=True)
class GangRun:
    """The results of the gangs of one cluster, or of several together."""

    gangs: list[Gang] = field(default_factory=list)
    began: float = 0.0
    took: float = 0.0
    stalled: float = 0.0
    """The longest time for which this process got no processor."""

    @property
    def starts(self) -> list[Start]:
        return [start for gang in self.gangs for start in gang.starts]


def played(
    sandbox: Sandbox, watch: Watch, scenario: NamedScenario, number: int, *, busy: bool
) -> GangRun:
    """Play one cluster from its nodes to the end of its last gang; `busy`: with other tenants."""
    api = connect(str(sandbox.kubeconfig))
    cluster, prefix = scenario.cluster, f"c{number:02}"
    nodes = [
        sandbox.add_nodes(scaled_scenario.group(node, f"{prefix}-{at:03}"))[0]
        for at, node in enumerate(cluster.nodes)
    ]
    found = GangRun([_gang(training, watch) for training in cluster.trainings], time.monotonic())
    try:
        with _tenants(sandbox, scenario, asked=busy):
            _arrive(api, cluster.trainings)
            until(lambda: all(gang.over for gang in found.gangs), LONGEST)
        found.took = time.monotonic() - found.began
        for kind in ("Job", "Pod"):
            listed = api.list(ListOptions(kind, NAMESPACE))
            until(partial(watch.has_read, kind, listed), LONGEST)
    finally:
        watch.forget()
        clear(api, NAMESPACE, nodes)
    return found


def _gang(training: Training, watch: Watch) -> Gang:
    gang = Gang(training.key.name, {role.job: role.spec.min for role in training.job.roles})
    watch.follow(gang)
    return gang


def _arrive(api: ApiClient, trainings: Sequence[Training]) -> None:
    begun = time.monotonic()
    with ThreadPoolExecutor(THREADS) as pool:
        for training in sorted(trainings, key=lambda one: one.at):
            time.sleep(max(begun + training.at / scaled_scenario.SPEED - time.monotonic(), 0))
            for job in scaled_scenario.jobs(training):
                target = ObjectRef("Job", NAMESPACE, job["metadata"]["name"])
                pool.submit(api.create, target, job).add_done_callback(lambda done: done.result())


@contextmanager
def _tenants(sandbox: Sandbox, scenario: NamedScenario, *, asked: bool) -> Iterator[None]:
    """Create and scale the pods of other tenants, until the block ends."""
    api, ended = connect(str(sandbox.kubeconfig)), Event()
    services = scenario.cluster.services if asked else ()
    steps = sorted(
        (at, service.name, pods)
        for service in services
        for at, pods in scaled_scenario.steps(service, STEP)
    )

    def play() -> None:
        begun = time.monotonic()
        for at, name, pods in steps:
            if ended.wait(max(begun + at - time.monotonic(), 0)):
                return
            with suppress(NotFound, Conflict):
                target = ObjectRef("Deployment", NAMESPACE, name)
                api.patch(target, {"spec": {"replicas": pods}})

    for service in services:
        api.create(
            ObjectRef("Deployment", NAMESPACE, service.name), scaled_scenario.deployment(service)
        )
    player = Thread(target=play)
    player.start()
    try:
        yield
    finally:
        ended.set()
        player.join()


# -- figures -----------------------------------------------------------------------------------

HEAD: Final = (
    f"{'':22}{'gangs':>6}{'starts':>8}{'never':>6}  runs after  50 %     90 %     99 %    100 %"
    f"    mean{'late':>6}{'stopped':>8}{'half':>6}{'longest':>9}{'took':>8}{'stall':>8}{'load':>6}"
)


def line(name: str, found: GangRun) -> str:
    """`late`: starts that did not run in time; `stopped`: those that could not; `half`: gangs."""
    took = sorted(start.ran - start.admitted for start in found.starts if start.ran is not None)
    parts = [took[ceil(part * len(took)) - 1] for part in (0.5, 0.9, 0.99, 1)] if took else []
    times = "".join(f"{seconds:7.2f} s" for seconds in (*parts, fmean(took) if took else 0.0))
    halves = [seconds for gang in found.gangs for seconds in gang.halves]
    never = sum(not any(start.ran for start in gang.starts) for gang in found.gangs)
    late, stopped = (sum(map(what, found.starts)) for what in (is_late, is_stopped))
    return (
        f"{name:22}{len(found.gangs):6}{len(found.starts):8}{never:6}{'':11}{times}{late:6}{stopped:8}"
        f"{sum(seconds > SOON for seconds in halves):6}{max(halves, default=0):7.1f} s"
        f"{found.took:6.0f} s{found.stalled:6.1f} s{os.getloadavg()[0]:6.1f}"
    )


def stages(found: GangRun) -> Iterator[str]:
    """The durations of each stage of a start, measured from the previous stage."""
    yield "the pods of a minimum, all of them, are            50 %     99 %    100 %"
    for stage in StartStage:
        lasted = (start.lasted(stage) for start in found.starts)
        took = sorted(seconds for seconds in lasted if seconds is not None)
        parts = [took[ceil(part * len(took)) - 1] for part in (0.5, 0.99, 1)] if took else []
        yield f"{stage.value:<46}" + "".join(f"{seconds:7.2f} s" for seconds in parts)


def is_late(start: Start) -> bool:
    """Whether an admitted gang had enough time to run, and did not run in time."""
    until = start.ran or start.stopped
    return until is None or until - start.admitted > SOON


def is_stopped(start: Start) -> bool:
    """Whether the plan suspended it again before it could run."""
    return start.ran is None and not is_late(start)


def traces(name: str, found: GangRun) -> Iterator[str]:
    """Everything that was observed of each gang that missed the target."""
    for gang in found.gangs:
        late = [start for start in gang.starts if is_late(start) or is_stopped(start)]
        if late or not gang.starts or any(seconds > SOON for seconds in gang.halves):
            yield f"{name}, {gang.name}: minimum {dict(gang.minimum)}; half placed {gang.halves}"
            for start in late:
                yield f"  late: {_ago(start.admitted, found)} to {_ago(start.ran, found)}"
            yield from (f"  {_ago(at, found)} {text}" for at, text in gang.trace)


def _ago(moment: float | None, found: GangRun) -> str:
    return "never" if moment is None else f"{moment - found.began:7.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clusters", type=int, default=40)
    parser.add_argument("--first", type=int, default=0, help="the number of the first of them")
    parser.add_argument("--each", action="store_true", help="a line for each cluster")
    parser.add_argument("--traces", type=Path, help="what was seen of gangs that were late")
    asked = parser.parse_args()
    with temporary_sandbox("gangs") as sandbox:
        install(sandbox, sandbox.folder / "edl")
        _prepare(connect(str(sandbox.kubeconfig)))
        _measure(sandbox, asked)


def _prepare(api: ApiClient) -> None:
    allowed = {"metadata": {"labels": {contract.KUBEXEC: contract.ENABLED}}}
    api.patch(ObjectRef("Namespace", "", NAMESPACE), allowed)
    for name, value in scaled_scenario.priorities().items():
        api.create(
            ObjectRef("PriorityClass", "", name), {"metadata": {"name": name}, "value": value}
        )


class _Play(Protocol):
    def __call__(self, scenario: NamedScenario, number: int, *, tenants: bool) -> GangRun: ...


def _measure(sandbox: Sandbox, asked: argparse.Namespace) -> None:
    watch = Watch(str(sandbox.kubeconfig), NAMESPACE)
    quiet, busy, stalls = GangRun(), GangRun(), Stalls()
    print(HEAD, flush=True)
    trace_file = asked.traces.open("a") if asked.traces else None

    def play(scenario: NamedScenario, number: int, *, tenants: bool) -> GangRun:
        stalls.longest()
        found = played(sandbox, watch, scenario, number, busy=tenants)
        found.stalled = stalls.longest()
        if trace_file:
            print(*traces(scenario.name, found), sep="\n", file=trace_file, flush=True)
        return found

    exact = play(exact_fit(gated=True), 99, tenants=False)
    print(line("exact fit", exact), *stages(exact), sep="\n", flush=True)
    with suppress(KeyboardInterrupt):  # report the results so far
        _each(play, quiet, busy, asked)
    print(line("clusters of their own", quiet))
    print(line("with other tenants", busy))
    print(*stages(GangRun([*quiet.gangs, *busy.gangs])), sep="\n")


def _each(play: "_Play", quiet: GangRun, busy: GangRun, asked: argparse.Namespace) -> None:
    for number, scenario in enumerate(clusters(asked.clusters, gated=True)):
        if number < asked.first:
            continue
        total = busy if number % 2 else quiet
        found = play(scenario, number, tenants=bool(number % 2))
        total.gangs += found.gangs
        total.took += found.took
        total.stalled = max(total.stalled, found.stalled)
        print(line(scenario.name, found), file=sys.stdout if asked.each else sys.stderr, flush=True)


if __name__ == "__main__":
    main()
