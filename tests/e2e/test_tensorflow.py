"""TensorFlow with a parameter server: workers come, go and die, and no step is lost or repeated.

Every trainer takes its step's number from one counter on the parameter server, which only goes back
when that server is lost, and then to the last checkpoint.
"""

from __future__ import annotations

import re
import time
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from tests.e2e.support import ledger
from tests.e2e.support.containers import kill_container

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.e2e.support.ledger import Step
    from tests.e2e.support.stalls import Stalls
    from tests.e2e.support.training import Training

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(900)]

JOBS = ("digits-chief", "digits-ps", "digits-worker")
LASTING = ("digits-chief", "digits-ps")
DATA = "tensorflow-data"


def steps_of(training: Training) -> list[Step]:
    return ledger.read(training.files(DATA, "ledger/*"))


def until_trained(training: Training, count: int, who: Sequence[str] = ()) -> None:
    """Until so many further steps are made, and each of `who` has made one of them."""
    begin = time.time()

    def trained() -> bool:
        new = [step for step in steps_of(training) if step.time > begin]
        return len(new) >= count and set(who) <= ledger.workers(new)

    training.until(trained, f"{count} more steps, also by {', '.join(who) or 'anybody'}")


def until_complete(training: Training) -> None:
    training.until(lambda: all(map(training.is_complete, JOBS)), "every Job is complete")


def lasting(training: Training) -> dict[str, dict[str, str]]:
    """The pods that no resize may touch."""
    return {job: training.uids(job) for job in LASTING}


def test_workers_come_and_go_while_it_trains(training: Training, stalls: Stalls) -> None:
    training.example("tensorflow", steps=360, pace=0.2, held={"digits-worker": 1})
    until_trained(training, 20, ["digits-worker-0"])
    pods = lasting(training)
    moments = []
    for size in (3, 2):
        moments.append(time.time())
        training.scale("digits-worker", size)
        until_trained(training, 20, [f"digits-worker-{index}" for index in range(size)])
    assert lasting(training) == pods
    assert [training.restarts(job).popitem()[1] for job in LASTING] == [0, 0]
    until_complete(training)
    steps = steps_of(training)
    assert [step.step for step in sorted(steps, key=lambda step: step.step)] == [*range(1, 361)]
    begin, end = ledger.mean_losses(steps)
    assert end < begin / 2
    for (before, after), seconds in zip(
        pairwise((1, 3, 2)), ledger.stalls(steps, moments), strict=True
    ):
        stalls.add("tensorflow", f"{before} → {after}", seconds)
    leave_nothing_behind(training)


@pytest.mark.variant
def test_a_killed_pod_comes_back_and_the_training_completes(
    training: Training, stalls: Stalls
) -> None:
    training.example("tensorflow", steps=1200, pace=0.2, held={"digits-worker": 2})
    until_trained(training, 50, ["digits-chief-0", "digits-worker-0", "digits-worker-1"])
    killed = ["digits-worker-0", "digits-worker-1", "digits-chief-0"]
    kill_container(training.pod("digits-worker", 0))
    training.delete_pod("digits-worker", 1)
    until_trained(training, 50, killed[:2])
    kill_container(training.pod("digits-chief", 0))
    until_trained(training, 50, killed[2:])
    lost = [
        losing_the_variables(training, lambda: kill_container(training.pod("digits-ps", 0))),
        losing_the_variables(training, training.delete_all_pods),
    ]
    until_complete(training)
    steps = steps_of(training)
    absent = ledger.absent(steps, last=1200)
    assert len(absent) <= len(killed), "each may have counted one step that it did not write down"
    assert all(
        times <= 1 + sum(saved < step <= reached for saved, reached, _ in lost)
        for step, times in ledger.repeated(steps).items()
    )
    seconds = ledger.stalls(steps, [moment for _, _, moment in lost])
    stalls.add("tensorflow", "ps killed", seconds[0])
    stalls.add("tensorflow", "all pods deleted", seconds[1])
    leave_nothing_behind(training)


def leave_nothing_behind(training: Training) -> None:
    training.kubectl("delete", "jobs", "--all")
    training.until(lambda: not training.leftovers(), "nothing of ours is left")


def losing_the_variables(training: Training, lose: Callable[[], None]) -> tuple[int, int, float]:
    """The checkpoint's step, the last step that was made, and when they were lost.

    Returns when the training goes on; it does so at the checkpoint's step.
    """
    saved, server = checkpoint(training), training.restarts("digits-ps")
    moment = time.time()
    lose()
    training.until(
        lambda: training.restarts("digits-ps") not in (server, {}), "the parameter server is back"
    )
    until_trained(training, 50)
    before, after = ledger.standstill(steps_of(training), moment)
    reached = max(step.step for step in before)
    resumed = min(step.step for step in after)
    assert saved < resumed <= reached + 1
    return saved, reached, moment


def checkpoint(training: Training) -> int:
    """The step of the newest checkpoint."""
    (text,) = training.files(DATA, "checkpoints/checkpoint").values()
    found = re.search(r'model_checkpoint_path: ".*-(\d+)"', text)
    assert found, text
    return int(found[1])
