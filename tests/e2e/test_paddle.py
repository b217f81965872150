"""Paddle's launchers, elastic: every world goes on where the last checkpoint ended.

A trainer that leaves takes its key from the master's etcd first. So all launchers end their scripts
by themselves, nobody fails, and nobody's container starts again.
"""

from __future__ import annotations

import json
import time
from functools import partial
from typing import TYPE_CHECKING

import pytest

from edl import contract
from tests.e2e.support import ledger
from tests.e2e.support.install import load_image

if TYPE_CHECKING:
    from collections.abc import Callable

    from edl.writes import Json
    from tests.e2e.support.ledger import Setback, Step
    from tests.e2e.support.stalls import Stalls
    from tests.e2e.support.training import Training

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(900)]

COLLECTIVE, COLLECTIVE_DATA = "digits-collective", "paddle-collective-data"
MASTER, TRAINER = "digits-paddle-master", "digits-paddle-trainer"
DATA = "paddle-data"
STEPS_A_CHECKPOINT = 10
LAST = 400
"""Steps: one trainer goes on alone for as long as another one takes to start."""
IMAGE = "edl-examples/paddle:1"
ALL_ROLES = "master=1,pserver=2,trainer=1..2"
MEET = """
import json, os, ssl, time, urllib.request
folder = "/var/run/secrets/kubernetes.io/serviceaccount"
token, trust = open(f"{folder}/token").read(), ssl.create_default_context(cafile=f"{folder}/ca.crt")
job, space = os.environ["PADDLE_JOB_NAME"], os.environ["NAMESPACE"]

def running(label):
    url = f"https://kubernetes.default.svc/api/v1/namespaces/{space}/pods"
    request = urllib.request.Request(f"{url}?labelSelector={label}%3D{job}")
    request.add_header("Authorization", f"Bearer {token}")
    found = json.load(urllib.request.urlopen(request, context=trust))["items"]
    return [pod["status"]["podIP"] for pod in found if pod["status"]["phase"] == "Running"]

def wait(label, count):
    while len(running(label)) != count:
        time.sleep(0.5)
    return running(label)

wait("paddle-job-pserver", int(os.environ["PSERVERS"]))
while os.environ["POD_IP"] not in running("paddle-job"):
    time.sleep(0.5)
(master,) = wait("paddle-job-master", 1)
print(urllib.request.urlopen(f"http://{master}:2379/health").read().decode())
"""
"""What `paddle_k8s start_new_trainer` and its `k8s_tools.py` do before they train."""


def start(training: Training, steps: int, size: int) -> None:
    """The example, held at a size at once."""
    training.example("paddle", steps, held={TRAINER: size})
    until_trained(training, size)


def steps_of(training: Training, claim: str = DATA) -> list[Step]:
    return ledger.read(training.files(claim, "ledger/*"))


def until_trained(
    training: Training, world: int, known: frozenset[str] = frozenset(), claim: str = DATA
) -> None:
    """Until a world of this size has made 20 steps in ledgers that are not known yet."""

    def trained() -> bool:
        found = [step for step in steps_of(training, claim) if step.world == world]
        return sum(step.file not in known for step in found) >= 20

    training.until(trained, f"20 more steps by {world} trainers")


def until_trained_after(
    training: Training, change: Callable[[], None], world: int, claim: str = DATA
) -> float:
    """Until a new world has trained, whose ledgers are new too: when it changed (Unix seconds)."""
    known = ledger.files(steps_of(training, claim))
    moment = time.time()
    change()
    until_trained(training, world, known, claim)
    return moment


def until_ended(training: Training) -> None:
    training.until(lambda: training.is_complete(TRAINER), "the training is complete")
    training.until(lambda: training.is_complete(MASTER), "the master has been ended")


def test_trainers_come_and_go_while_it_trains(training: Training, stalls: Stalls) -> None:
    start(training, steps=LAST, size=1)
    master = training.uids(MASTER)
    moments = [
        until_trained_after(training, partial(training.scale, TRAINER, size), size)
        for size in (3, 2)
    ]
    first, second = (training.uids(TRAINER)[index] for index in "01")
    leave = partial(training.delete_pod, TRAINER, 0, at_once=False)
    moments.append(until_trained_after(training, leave, 2))
    assert training.uids(TRAINER)["0"] != first, "it is another pod"
    assert training.uids(TRAINER)["1"] == second, "and the other one is not"
    assert training.uids(MASTER) == master
    assert set(training.restarts(TRAINER).values()) == {0}, "nobody has failed"
    until_ended(training)
    steps = steps_of(training)
    assert "1 3 2" in " ".join(map(str, ledger.worlds(steps))), "each world came at once"
    assert [step.step for step in steps] == [*range(1, LAST + 1)], "none is lost, none is repeated"
    begin, end = ledger.mean_losses(steps)
    assert end < begin / 2
    assert not [event for event in training.all("Event") if event["reason"] == "FailedPreStopHook"]
    events = ("1 → 3", "3 → 2", "first trainer replaced")
    for event, seconds in zip(events, ledger.stalls(steps, moments), strict=True):
        stalls.add("paddle", event, seconds)
    training.kubectl("delete", "jobs", "--all")
    training.until(lambda: not training.leftovers(), "nothing of ours is left")


@pytest.mark.variant
def test_a_killed_pod_comes_back_and_the_training_completes(
    training: Training, stalls: Stalls
) -> None:
    start(training, steps=300, size=2)
    cut_off = [
        losing_a_world(training, lambda: training.kill_process(TRAINER, 1, "train.py")),
        losing_a_world(training, lambda: training.delete_pod(TRAINER, 1)),
        losing_a_world(training, lambda: training.delete_pod(MASTER, 0, at_once=False)),
    ]
    assert not training.is_complete(MASTER), "an etcd that is drained has not succeeded"
    until_ended(training)
    steps = steps_of(training)
    assert ledger.absent(steps, last=300) == []
    assert ledger.unexplained(steps, cut_off) == []
    events = ("a trainer's process killed", "a trainer lost", "the master drained")
    seconds = ledger.stalls(steps, [one.moment for one in cut_off])
    for event, stall in zip(events, seconds, strict=True):
        stalls.add("paddle", event, stall)


@pytest.mark.variant
def test_collective_trainers_start_again_together_at_each_size(
    training: Training, stalls: Stalls
) -> None:
    training.example("paddle", steps=200, file="collective.yaml", held={COLLECTIVE: 2})
    until_trained(training, 2, claim=COLLECTIVE_DATA)
    grow = partial(training.scale, COLLECTIVE, 3)
    moment = until_trained_after(training, grow, 3, claim=COLLECTIVE_DATA)
    training.until(lambda: training.is_complete(COLLECTIVE), "the training is complete")
    steps = steps_of(training, COLLECTIVE_DATA)
    assert [step.step for step in steps] == [*range(1, 201)], "none is lost, none is repeated"
    assert ledger.worlds(steps) == [2, 3]
    (seconds,) = ledger.stalls(steps, [moment])
    stalls.add("paddle", "collective 2 → 3", seconds)


def test_images_of_the_old_controller_find_their_peers(training: Training) -> None:
    load_image(training.cluster, "paddle")
    commands = {"master": ["sleep", "3600"], "pserver": ["sleep", "3600"]}
    roles = ("master", "pserver", "trainer")
    training.apply(*(cloud(role, commands.get(role, ["python3", "-c", MEET])) for role in roles))
    training.until(lambda: training.is_complete("ctr-trainer"), "trainers have met their peers")
    said = training.kubectl("logs", "job/ctr-trainer", "-c", "main")
    assert json.loads(said)["health"] in ("true", True)
    training.until(
        lambda: training.is_complete("ctr-master") and training.is_complete("ctr-pserver"),
        "master and pservers have been ended",
    )


def cloud(role: str, command: list[str]) -> Json:
    """A Job of the training job `ctr`, as v1 ran it; the etcd is the image's own."""
    notes = {"roles": ALL_ROLES, "mode": "cloud", "etcd-image": IMAGE}
    labels = {"framework": "paddle", "job": "ctr", "role": role}
    container = {"name": "main", "image": IMAGE, "command": command}
    pod = {"restartPolicy": "OnFailure", "terminationGracePeriodSeconds": 1}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": f"ctr-{role}",
            "labels": {contract.PREFIX + name: text for name, text in labels.items()},
            "annotations": {contract.PREFIX + name: text for name, text in notes.items()},
        },
        "spec": {
            "parallelism": 2 if role == "pserver" else 1,
            "template": {"spec": pod | {"containers": [container]}},
        },
    }


def losing_a_world(training: Training, lose: Callable[[], None]) -> Setback:
    """No more is lost than was made since the last checkpoint."""
    moment = until_trained_after(training, lose, 2)
    found = ledger.setback(steps_of(training), moment)
    assert found.reached - STEPS_A_CHECKPOINT <= found.saved <= found.reached
    return found
