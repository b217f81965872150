"""The work of a decision grows about as fast as the cluster, whatever rule decides."""

from collections.abc import Callable

import pytest

from edl.model import ClusterState, TrainingJob
from edl.planner.decide import decide
from edl.planner.limits import Limits
from edl.planner.policies import POLICIES
from tests.edl.planner.states import cluster, job, node, role, shape
from tests.edl.planner.work import instructions

LIMITS = Limits()


def gangs_of_two_roles(size: int) -> ClusterState:
    """They fill the cluster, so that most of them start a moment later."""

    def one(number: int) -> TrainingJob:
        servers = role("ps", 2, 2, shape=shape(1), serves=True)
        return job(f"job-{number:04}", servers, role("worker", 2, 2, shape=shape(3)))

    return cluster(*(node(f"node-{n:04}", 8) for n in range(size)), *map(one, range(size)))


@pytest.mark.parametrize("state", [gangs_of_two_roles])
def test_eight_times_the_cluster_is_about_eight_times_the_work(
    state: Callable[[int], ClusterState],
) -> None:
    assert work(state(400)) < 10 * work(state(50))


def work(state: ClusterState) -> int:
    return instructions(lambda: decide(state, POLICIES["fair"], LIMITS))
