"""PyTorch under torchrun: every world goes on where the last checkpoint ended.

A world that is told to end agrees on its last step and saves it. One that is cut off goes back to
its last checkpoint, which is at most `STEPS_A_CHECKPOINT` of the example's script old.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from tests.e2e.support import ledger

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.e2e.support.ledger import Setback, Step
    from tests.e2e.support.stalls import Stalls
    from tests.e2e.support.training import Training

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(900)]

RENDEZVOUS, WORKER = "digits-torch-rendezvous", "digits-torch-worker"
DATA = "pytorch-data"
STEPS_A_CHECKPOINT = 10
CLOSE = """
import os
from torch.distributed.elastic.rendezvous import RendezvousParameters, registry
where, name = os.environ["PET_RDZV_ENDPOINT"], os.environ["PET_RDZV_ID"]
parameters = RendezvousParameters("c10d", where, name, 2, 4, is_host="0")
registry.get_rendezvous_handler(parameters).set_closed()
"""


def start(training: Training, steps: int) -> None:
    """The example with two workers, before more of them have met."""
    training.example("pytorch", steps, held={WORKER: 2})
    until_trained(training, world=2)


def steps_of(training: Training) -> list[Step]:
    return ledger.read(training.files(DATA, "ledger/*"))


def until_trained(training: Training, world: int, known: frozenset[str] = frozenset()) -> None:
    training.until_trained(DATA, world, known)


def test_workers_come_and_go_while_it_trains(training: Training, stalls: Stalls) -> None:
    start(training, steps=320)
    store = training.uids(RENDEZVOUS)
    moments = []
    for size in (4, 2):
        moments.append(time.time())
        training.scale(WORKER, size)
        until_trained(training, world=size)
    moments.append(time.time())
    first, second = (training.uids(WORKER)[index] for index in "01")
    known = ledger.files(steps_of(training))
    training.delete_pod(WORKER, 0, at_once=False)
    until_trained(training, 2, known)
    assert training.uids(WORKER)["0"] != first, "it is another pod"
    assert training.uids(WORKER)["1"] == second, "and the other one is not"
    assert training.uids(RENDEZVOUS) == store
    assert set(training.restarts(WORKER).values()) == {0}
    training.until(lambda: training.is_complete(WORKER), "the training is complete")
    training.until(lambda: training.is_complete(RENDEZVOUS), "the rendezvous has been ended")
    steps = steps_of(training)
    assert ledger.worlds(steps) == [2, 4, 2]
    assert [step.step for step in steps] == [*range(1, 321)], "none is lost, none is repeated"
    begin, end = ledger.mean_losses(steps)
    assert end < begin / 2
    events = ("2 → 4", "4 → 2", "first worker replaced")
    for event, seconds in zip(events, ledger.stalls(steps, moments), strict=True):
        stalls.add("pytorch", event, seconds)
    training.kubectl("delete", "jobs", "--all")
    training.until(lambda: not training.leftovers(), "nothing of ours is left")


@pytest.mark.variant
def test_a_killed_pod_comes_back_and_the_training_completes(
    training: Training, stalls: Stalls
) -> None:
    start(training, steps=200)
    cut_off = [
        losing_a_world(training, lambda: training.kill_process(WORKER, 1, "train.py")),
        losing_a_world(training, lambda: fail_an_agent(training)),
        losing_a_world(training, training.delete_all_pods),
    ]
    training.until(lambda: training.is_complete(WORKER), "the training is complete")
    training.until(lambda: training.is_complete(RENDEZVOUS), "the rendezvous has been ended")
    steps = steps_of(training)
    assert ledger.absent(steps, last=200) == []
    assert ledger.unexplained(steps, cut_off) == []
    events = ("a worker's process killed", "an agent failed", "all pods deleted")
    seconds = ledger.stalls(steps, [one.moment for one in cut_off])
    for event, stall in zip(events, seconds, strict=True):
        stalls.add("pytorch", event, stall)


def fail_an_agent(training: Training) -> None:
    """An agent that fails closes the rendezvous for everybody, itself included."""
    training.exec(training.pod_name(WORKER, 1), "python3", "-c", CLOSE)
    training.kill_process(WORKER, 1, "train.py")


def losing_a_world(training: Training, lose: Callable[[], None]) -> Setback:
    """No more is lost than was made since the last checkpoint."""
    known, moment = ledger.files(steps_of(training)), time.time()
    lose()
    until_trained(training, 2, known)
    found = ledger.setback(steps_of(training), moment)
    assert found.reached - STEPS_A_CHECKPOINT <= found.saved <= found.reached
    return found
