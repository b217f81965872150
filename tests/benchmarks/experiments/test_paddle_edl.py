"""The cases of `pkg/autoscaler_internal_test.go`, PaddlePaddle/edl at 310764e, as facts; then ours.

Theirs write one CPU as 1, memory in MiB or bytes; here thousandths and whole megabytes, rounded up
as theirs are.
"""

from dataclasses import replace
from typing import NamedTuple

import pytest

from benchmarks.experiments.paddle_edl.algorithm import (
    Idle,
    NeverEnds,
    Pods,
    Room,
    Trainers,
    decide,
    growth,
    in_order,
    plan,
    shrink,
)

MEGABYTES = 105
"""100 MiB."""
TEN = 11


def trainers(bounds: str, now: int, *, memory: int = MEGABYTES, gpus: int = 0) -> Trainers:
    least, most = map(int, bounds.split(".."))
    return Trainers("name", least, most, now, cpu=1000, memory=memory, gpus=gpus)


def idle(room: Room) -> Room:
    """With a node that has room for everything."""
    return replace(room, nodes=[Idle(99_999, 99_999)])


class Case(NamedTuple):
    """One of its tests of a single step: what is added at the first, the second, … time."""

    test: str
    room: Room
    job: Trainers
    grown: int | None = None
    shrunk: tuple[int, ...] = ()
    ceiling: float = 1.0


FULL = Room(cpu=1000, cpu_total=1000, memory=1000, memory_total=1000, gpus=10, gpu_total=10)
STEPS = (
    Case("Satisfied", Room(cpu_total=2000, memory_total=1000), trainers("1..2", 2), grown=0),
    Case(
        "MoreCPU",
        idle(Room(cpu=100, cpu_total=3000, memory=100, memory_total=1000)),
        trainers("1..3", 1),
        grown=1,
    ),
    Case(
        "NoMoreCPU",
        idle(Room(cpu=1000, cpu_total=1000, memory=100, memory_total=1000)),
        trainers("1..3", 1),
        grown=0,
    ),
    Case(
        "MoreGPU",
        idle(Room(cpu_total=2000, memory=100, memory_total=1000, gpu_total=10)),
        trainers("1..3", 1, memory=TEN, gpus=1),
        grown=1,
        shrunk=(0,),
    ),
    Case(
        "NoMoreGPU",
        idle(Room(cpu_total=2000, memory=100, memory_total=1000, gpus=10, gpu_total=10)),
        trainers("1..3", 1, memory=TEN, gpus=1),
        grown=0,
    ),
    Case(
        "ScaleDownMoreThanExpected",
        FULL,
        trainers("1..3", 6, memory=TEN),
        shrunk=(-1, -1, -1, 0),
    ),
    Case(
        "ScaleDownToMin",
        idle(replace(FULL, cpu=5000, cpu_total=3000)),
        trainers("1..3", 3, memory=TEN),
        shrunk=(-1, -1, 0),
    ),
    Case(
        "ScaleDownFullCluster",
        idle(replace(FULL, cpu=2000)),
        trainers("1..3", 3, memory=TEN),
        grown=0,
        shrunk=(-1,),
    ),
    Case("NoMem", idle(FULL), trainers("1..3", 1), grown=0),
)


@pytest.mark.parametrize("case", STEPS, ids=lambda case: case.test)
def test_scale_dry_run(case: Case) -> None:
    if case.grown is not None:
        assert growth(case.job, {"name": 0}, replace(case.room), case.ceiling) == case.grown
    for planned, wanted in enumerate(case.shrunk):
        # Theirs hand in 0, -1, -2 and the sums that the calls before have left.
        room = replace(case.room, cpu=case.room.cpu - planned * case.job.cpu)
        assert shrink(case.job, {"name": -planned}, room, case.ceiling) == wanted


class Whole(NamedTuple):
    """One of its tests of a whole plan."""

    test: str
    room: Room
    job: Trainers
    change: int
    ceiling: float = 1.0


PLANS = (
    Whole(
        "NoMem",
        idle(Room(cpu_total=1000, memory=1000, memory_total=1000, gpu_total=10)),
        trainers("1..3", 1, memory=1, gpus=1),
        0,
    ),
    Whole(
        "",
        idle(Room(cpu=1000, cpu_total=4000, memory=100, memory_total=1000, gpus=8, gpu_total=10)),
        trainers("1..3", 1),
        2,
    ),
    Whole(
        "NotFull",
        idle(Room(cpu=1000, cpu_total=3000, memory=100, memory_total=1000, gpu_total=10)),
        trainers("1..3", 1),
        1,
        ceiling=0.8,
    ),
    Whole(
        "DownNotFull",
        idle(Room(cpu=3000, cpu_total=3000, memory=100, memory_total=1000, gpu_total=10)),
        trainers("1..3", 3),
        -1,
        ceiling=0.8,
    ),
    Whole(
        "LessCPU",
        idle(Room(cpu=2000, cpu_total=3000, memory=100, memory_total=1000, gpus=8, gpu_total=10)),
        trainers("1..3", 1, memory=1, gpus=1),
        1,
    ),
    Whole(
        "LessGPU",
        idle(Room(cpu=990, cpu_total=2000, memory=100, memory_total=1000, gpus=9, gpu_total=10)),
        trainers("1..3", 1, memory=1, gpus=1),
        1,
    ),
)


@pytest.mark.parametrize("case", PLANS, ids=lambda case: f"ScaleAllDryRun{case.test}")
def test_scale_all_dry_run(case: Whole) -> None:
    assert plan([case.job], case.room, case.ceiling) == {"name": case.change}


def test_fulfillment() -> None:
    found = [trainers(bounds, now).fulfilment for bounds, now in (("1..2", 2), ("1..2", 1))]
    assert [*found, trainers("1..3", 2).fulfilment] == [1.0, 0.0, 0.5]


def named(name: str, bounds: str, now: int, **asked: int) -> Trainers:
    return replace(trainers(bounds, now, memory=1, gpus=1), name=name, **asked)


def test_sorted_jobs() -> None:
    """Its d, of one size, is no elastic job: plans leave it out."""
    jobs = [
        named("a", "1..2", 2),
        named("b", "1..20", 2),
        named("c", "1..10", 2),
        named("d", "1..1", 2),
    ]
    assert [job.name for job in in_order(job for job in jobs if job.elastic)] == ["b", "c", "a"]
    assert "d" not in plan(jobs, Room())


def test_sorted_jobs_with_tie() -> None:
    jobs = [
        named("a", "1..2", 1),
        named("b", "1..2", 1, gpus=0),
        named("c", "1..2", 1, gpus=0, cpu=10_000),
        named("d", "1..2", 1, gpus=0, memory=2),
    ]
    assert [job.name for job in in_order(jobs)] == ["b", "d", "c", "a"]


# Not in its tests: what its code does all the same.


def test_one_place_admits_any_number() -> None:
    room = Room(cpu_total=100_000, memory_total=100_000, nodes=[Idle(1000, MEGABYTES)])
    assert plan([trainers("1..60", 1)], room) == {"name": 59}


def test_gpus_between_the_ceiling_and_all_of_them_make_a_plan_endless() -> None:
    room = idle(Room(cpu_total=90_000, memory_total=90_000, gpus=62, gpu_total=64))
    with pytest.raises(NeverEnds):
        plan([trainers("1..8", 1, gpus=1)], room, 0.97)


def test_a_pending_pod_stops_growth_of_its_own_job_only() -> None:
    room = idle(Room(cpu=2000, cpu_total=100_000, memory_total=10_000))
    settled, waits = named("a", "1..3", 2, gpus=0), named("b", "1..3", 2, gpus=0)
    jobs = [(settled, Pods(2, 2, 0)), (waits, Pods(2, 1, 1))]
    assert decide(jobs, room) == {"a": 3}


def test_a_job_of_pending_pods_alone_makes_the_others_shrink() -> None:
    room = Room(cpu=100_000, cpu_total=100_000, memory_total=90_000)
    leaving, starved = named("a", "1..30", 20, gpus=0), named("b", "1..30", 1, gpus=0)
    jobs = [(leaving, Pods(21, 20, 0)), (starved, Pods(1, 0, 1))]
    assert decide(jobs, room) == {"a": 17}
    assert decide(jobs[:1], Room(cpu=100_000, cpu_total=100_000)) == {}
