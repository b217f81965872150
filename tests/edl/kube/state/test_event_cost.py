"""A state after one event costs work by what the event changes, whatever the cluster's size."""

from functools import partial
from typing import Any

import pytest

from edl import contract
from edl.kube.state.incremental_state import IncrementalState
from edl.model import Team, Teams
from edl.writes import Json
from tests.edl.kube import manifests
from tests.edl.kube.state.test_incremental_state import NOW
from tests.edl.kube.whole_state import whole_state
from tests.edl.kube.world import AVOIDING, World, claim, job, with_claim
from tests.edl.planner.bytecode_count import instructions

SMALL, LARGE = 20, 160
EVENTS = (
    *("nothing", "pod of ours", "pod of others", "Job", "new Job", "node", "new node"),
    *("quota", "other claim", "named claim", "service"),
)
TEAMS = Teams.of([Team("even", namespaces=("ns-*0", "ns-*2")), Team("b", namespaces=("w*",))])


class Cluster:
    """Training jobs of one pod each that avoid others' pods, which have a namespace each.

    There are as many nodes, namespaces and quotas, in two teams and the default one.
    """

    def __init__(self, size: int) -> None:
        self.world = World()
        self.incremental = IncrementalState(self.world.stores, lambda: TEAMS)
        for number in range(size):
            self.tell("Node", manifests.node(f"n{number:04}"))
            self.tell("Job", _job(number))
            self.tell("Pod", _pod(number))
            self.tell("Namespace", {"metadata": manifests.metadata(_namespace(number))})
            self.tell("ResourceQuota", _quota(number))
            self.tell("Pod", _other(number))
        self.incremental.state(NOW)

        self.tell("Job", _job(size, pod=with_claim("named")))
        for name in ("named", "other"):
            self.tell("PersistentVolumeClaim", claim(name))
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
            case "quota":
                self.tell("ResourceQuota", _quota(7, used="3"))
            case "other claim" | "named claim":
                self.tell("PersistentVolumeClaim", claim(event.partition(" ")[0], "Lost"))
            case "service":
                self.tell("Service", {"metadata": manifests.metadata("job-0007", "web")})
            case "new node":
                self.tell("Node", manifests.node("n9999"))

    def cost(self, event: str) -> int:
        self.send(event)
        cost = instructions(partial(self.incremental.state, NOW))
        assert self.incremental.state(NOW) == whole_state(self.world.stores, NOW, TEAMS)
        return cost


def _job(number: int, **fields: Any) -> Json:  # noqa: ANN401
    running = {"suspend": False, "notes": {contract.STARTED_AT: manifests.CREATED}}
    return job(f"job-{number:04}", **{"pod": AVOIDING, **running, **fields})


def _pod(number: int, phase: str = "Running") -> Json:
    at = {"node": f"n{number:04}", "phase": phase}
    return manifests.job_pod(f"job-{number:04}-0", 0, f"job-{number:04}", **at)


def _other(number: int, cpu: str = "1") -> Json:
    meta = {"labels": {"app": "web"}}
    at = {"node": f"n{number:04}", "phase": "Running"}
    found = manifests.pod(f"web-{number:04}", cpu=cpu, metadata=meta, **at)
    found["metadata"]["namespace"] = _namespace(number)
    return found


def _quota(number: int, used: str = "1") -> Json:
    status = {"hard": {"requests.cpu": "9"}, "used": {"requests.cpu": used}}
    meta = manifests.metadata(f"q-{number:04}", _namespace(number))
    return {"metadata": meta, "spec": status, "status": status}


def _namespace(number: int) -> str:
    return f"ns-{number:04}"


@pytest.mark.parametrize("event", EVENTS)
def test_a_state_after_one_event_costs_as_much_in_a_cluster_of_eight_times_the_size(
    event: str,
) -> None:
    small, large = Cluster(SMALL).cost(event), Cluster(LARGE).cost(event)
    assert large < 1.05 * small + 100
