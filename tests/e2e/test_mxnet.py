"""MXNet: every resize is a restart of all, and everybody goes on where the last checkpoint ended.

Workers that are told to leave agree on their last step and save it. Who is killed tells nobody:
then all go back to the last checkpoint, which is at most `STEPS_A_CHECKPOINT` of the example's
script old.
"""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

import pytest

from tests.e2e.support import ledger
from tests.e2e.support.containers import kill_container

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.e2e.support.ledger import Setback, Step
    from tests.e2e.support.stalls import Stalls
    from tests.e2e.support.training import Training

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(900)]

SCHEDULER, SERVER, WORKER = JOBS = ("digits-mx-scheduler", "digits-mx-server", "digits-mx-worker")
DATA = "mxnet-data"
STEPS_A_CHECKPOINT = 10


def steps_of(training: Training) -> list[Step]:
    return ledger.read(training.files(DATA, "ledger/*"))


def until_trained(training: Training, world: int, known: frozenset[str] = frozenset()) -> None:
    training.until_trained(DATA, world, known)


def until_done(training: Training) -> None:
    """The scheduler decides; who serves is ended."""
    for job in (SCHEDULER, WORKER, SERVER):
        training.until(partial(training.is_complete, job), f"{job} is complete")
    assert "Succeeded" in training.edl("status", "digits-mx")


def every_pod(training: Training) -> set[str]:
    return {uid for job in JOBS for uid in training.uids(job).values()}


def told(training: Training) -> set[str]:
    """DMLC_NUM_WORKER, as the programs of all pods see it."""
    pods = [pod["metadata"]["name"] for job in JOBS for pod in training.pods(job)]
    return {training.exec(name, "printenv", "DMLC_NUM_WORKER").strip() for name in pods}


def test_every_resize_restarts_all_from_the_checkpoint(training: Training, stalls: Stalls) -> None:
    training.example("mxnet", steps=200, held={WORKER: 1})
    until_trained(training, world=1)
    setbacks = []
    for size in (3, 2):
        before = every_pod(training)
        # Usually they agree on a last step and save it; at worst they are back at the checkpoint.
        setbacks.append(setback_of(training, partial(training.scale, WORKER, size), size))
        assert not every_pod(training) & before, "each pod is a new one"
        assert told(training) == {str(size)}
    assert {count for job in JOBS for count in training.restarts(job).values()} == {0}
    until_done(training)
    steps = steps_of(training)
    assert ledger.worlds(steps) == [1, 3, 2]
    assert ledger.absent(steps, last=200) == []
    assert ledger.unexplained(steps, setbacks) == []
    begin, end = ledger.mean_losses(steps)
    assert end < begin * 0.7
    note(stalls, ("1 → 3", "3 → 2"), steps, setbacks)
    leave_nothing_behind(training)


def leave_nothing_behind(training: Training) -> None:
    training.kubectl("delete", "jobs", "--all")
    training.until(lambda: not training.leftovers(), "nothing of ours is left")


@pytest.mark.variant
def test_a_lost_pod_takes_every_pod_back_to_the_checkpoint(
    training: Training, stalls: Stalls
) -> None:
    training.example("mxnet", steps=400, held={WORKER: 2})
    until_trained(training, world=2)
    cut_off = [
        setback_of(training, lambda: kill_container(training.pod(WORKER, 1)), 2),
        setback_of(training, lambda: training.delete_pod(SERVER, 0, at_once=False), 2),
        setback_of(training, training.delete_all_pods, 2),
    ]
    until_done(training)
    steps = steps_of(training)
    assert ledger.absent(steps, last=400) == []
    assert ledger.unexplained(steps, cut_off) == []
    events = ("a worker killed", "the server drained", "all pods deleted")
    note(stalls, events, steps, cut_off)
    leave_nothing_behind(training)


def note(
    stalls: Stalls, events: Sequence[str], steps: Sequence[Step], setbacks: Sequence[Setback]
) -> None:
    seconds = ledger.stalls(steps, [one.moment for one in setbacks])
    for event, stall in zip(events, seconds, strict=True):
        stalls.add("mxnet", event, stall)


def setback_of(training: Training, change: Callable[[], None], world: int) -> Setback:
    """No more is lost than was made since the last checkpoint."""
    known, moment = ledger.files(steps_of(training)), time.time()
    change()
    until_trained(training, world, known)
    found = ledger.setback(steps_of(training), moment)
    assert found.reached - STEPS_A_CHECKPOINT <= found.saved <= found.reached
    return found
