"""A state after one event costs work by what the event changes, whatever the cluster's size."""

from functools import partial
from typing import Any

import pytest

from edl import contract
from edl.kube.state.incremental_state import IncrementalState
from edl.kube.state.observe import observe
from edl.writes import Json
from tests.edl.kube import manifests
from tests.edl.kube.state.test_incremental_state import NOW
from tests.edl.kube.world import AVOIDING, World, job
from tests.edl.planner.bytecode_count import instructions

SMALL, LARGE = 20, 160
EVENTS = ("nothing", "pod of ours", "pod of others", "Job", "new Job", "node", "new node")


class Cluster:
    """Nodes, as many training jobs of one pod each that avoid pods of others, and such pods."""

    def __init__(self, size: int) -> None:
        self.world = World()
        self.incremental = IncrementalState(self.world.stores)
        for number in range(size):
            self.tell("Node", manifests.node(f"n{number:04}"))
            self.tell("Job", _job(number))
            self.tell("Pod", _pod(number))
            self.tell("Pod", _other(number))
        self.incremental.state(NOW)

    def tell(self, kind: str, body: Json) -> None:
        self.world.tell(kind, self.world.write(kind, body))

    def send(self, event: str) -> None:
        """Something in the middle of the cluster changes."""
        match event:
            case "pod of ours":
                self.tell("Pod", _pod(7, phase="Failed"))
            case "pod of others":
                self.tell("Pod", _other(7, cpu="2"))
            case "Job":
                self.tell("Job", _job(7, parallelism=2, completions=2))
            case "new Job":
                self.tell("Job", _job(9999))
            case "node":
                self.tell("Node", manifests.node("n0007", ready=False))
            case "new node":
                self.tell("Node", manifests.node("n9999"))

    def cost(self, event: str) -> int:
        self.send(event)
        cost = instructions(partial(self.incremental.state, NOW))
        assert self.incremental.state(NOW) == observe(self.world.stores.facts(), NOW)
        return cost


def _job(number: int, **fields: Any) -> Json:  # noqa: ANN401
    running = {"suspend": False, "notes": {contract.STARTED_AT: manifests.CREATED}}
    return job(f"job-{number:04}", pod=AVOIDING, **{**running, **fields})


def _pod(number: int, phase: str = "Running") -> Json:
    at = {"node": f"n{number:04}", "phase": phase}
    return manifests.job_pod(f"job-{number:04}-0", 0, f"job-{number:04}", **at)


def _other(number: int, cpu: str = "1") -> Json:
    meta = {"labels": {"app": "web"}}
    at = {"node": f"n{number:04}", "phase": "Running"}
    return manifests.pod(f"web-{number:04}", cpu=cpu, metadata=meta, **at)


@pytest.mark.parametrize("event", EVENTS)
def test_a_state_after_one_event_costs_as_much_in_a_cluster_of_eight_times_the_size(
    event: str,
) -> None:
    small, large = Cluster(SMALL).cost(event), Cluster(LARGE).cost(event)
    assert large < 1.05 * small + 100
