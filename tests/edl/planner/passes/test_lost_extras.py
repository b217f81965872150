"""Jobs that lost extras, beside claims: they yield like others, and keep room for what stays."""

from typing import Any

import pytest
from msgspec.structs import replace

from edl.model import Node, ResizePolicy, Taint, TrainingJob
from edl.planner.decision_limits import Limits
from edl.planner.plan import Plan
from tests.edl.planner.plans import plan_for, sizes, started
from tests.edl.planner.states import busy, cluster, node, pod, room, worker

CORES = 4
NODES = tuple(node(f"n{number:02}", CORES) for number in range(20))
SLOTS = tuple(one.name for one in NODES for _ in range(CORES))
"""A node for each CPU."""
ITEMS = {"resizing": ResizePolicy.ITEMS, "indexed": False}
BOTH = pytest.mark.parametrize(
    "kind", [ITEMS, {"resizing": ResizePolicy.LIVE}], ids=["items", "live"]
)


def missing(name: str, on: tuple[str, ...], *lost: int, **fields: Any) -> TrainingJob:  # noqa: ANN401
    """A job of a pod per node of `on`, without those at the `lost` positions."""
    pods = tuple(pod(index, there) for index, there in enumerate(on) if index not in lost)
    usual = {"suspended": False, "size": len(on), "pods": pods, "failures": len(lost)}
    return worker(name, 2, len(on), **(usual | fields))


def restarting(**fields: Any) -> TrainingJob:  # noqa: ANN401 - of a role
    """Six pods of a job that restarts for a new size."""
    usual = {"on": SLOTS[:6], "resizing": ResizePolicy.RESTART}
    return worker("restarts", 2, 6, **(usual | fields))


def urgent(pods: int) -> TrainingJob:
    return worker("urgent", pods, pods, priority=1000)


def plan(*things: Node | TrainingJob) -> Plan:
    return plan_for(cluster(*things), Limits())


@BOTH
@pytest.mark.parametrize("priority", [0, 1000])
def test_a_role_whose_last_pods_have_no_room_yields_what_it_has(
    kind: dict[str, Any], priority: int
) -> None:
    """Other pods have taken the node of its lost ones."""
    nodes = (node("a"), busy(node("b"), room(4)), node("c"), busy(node("d"), room(2)))
    lost = missing("lost", (*"aaaabb",), 4, 5, **kind)
    whole = missing("whole", (*"ccccdd",), **kind)
    claim = worker("claim", 4, 4, priority=priority)
    assert sizes(plan(*nodes, lost, whole, claim)) == {"lost": 3, "whole": 3}


@pytest.mark.parametrize("lost", [(), (28, 29)], ids=["whole", "lost"])
def test_a_higher_priority_takes_as_much_from_a_job_that_lost_extras(lost: tuple[int, ...]) -> None:
    other, same = (
        missing("other", SLOTS[30:60], **ITEMS),
        missing("same", SLOTS[:30], *lost, **ITEMS),
    )
    assert sizes(plan(*NODES, other, same, urgent(40))) == {"other": 20, "same": 20}


@pytest.mark.parametrize("lost", [(), (58, 59)], ids=str)
def test_what_stays_of_a_job_that_lost_extras_has_room_beside_a_higher_priority(
    lost: tuple[int, ...],
) -> None:
    """Otherwise its new pods would take the nodes of the job that restarts."""
    live = missing("live", SLOTS[6:66], *lost)
    after = sizes(plan(*NODES, restarting(), live, urgent(18)))
    assert after == {"live": 57, "restarts": 5}


def rebooting(**fields: Any) -> TrainingJob:  # noqa: ANN401 - of a job
    """Five pods run on node a; the five on node b were lost with it."""
    return missing("live", (*"aaaaabbbbb",), *range(5, 10), **fields)


NOT_READY = (Taint("node.kubernetes.io/not-ready", "", "NoExecute"),)


def test_a_job_keeps_its_lost_extras_while_a_claim_only_waits_for_terminating_pods() -> None:
    leaving = replace(node("c", 4), used=room(4), releasing=room(4))
    gang = worker("gang", 4, 4, priority=5)
    nodes = (node("a", 5), node("b", 5, taints=NOT_READY), leaving)
    assert sizes(plan(*nodes, rebooting(), gang)) == {}


def test_a_job_that_alone_yields_to_a_claim_gives_up_no_more() -> None:
    live, claim = missing("live", (*"aaaaabbbbb",), 3, 4), worker("claim", 1, 1, priority=5)
    assert sizes(plan(node("a", 3), node("b", 5), live, claim)) == {"live": 9}


def test_a_higher_priority_that_fits_beside_running_pods_starts_at_once() -> None:
    live = missing("live", SLOTS[6:66], 58, 59)
    found = plan(*NODES, restarting(), live, urgent(16))
    assert (started(found), sizes(found)) == ({"urgent": {"worker": 16}}, {})


@BOTH
def test_a_running_extra_that_stands_in_for_a_lost_minimum_stays(kind: dict[str, Any]) -> None:
    """Although its job comes first to yield, as it has a lower priority than the other."""
    nodes = (node("a", 1), node("b", 2, taints=NOT_READY), node("c", 3))
    lost = worker("lost", 1, 3, suspended=False, size=3, pods=(pod(1, "a"),), failures=2, **kind)
    other = worker("other", 1, 3, on=["c"] * 3, priority=5)
    assert sizes(plan(*nodes, lost, other, urgent(2))) == {"other": 1}
