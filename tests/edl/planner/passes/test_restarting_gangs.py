"""Jobs that were stopped to resize start again on the nodes that their stop has freed."""

from typing import Any

from msgspec.structs import replace

from edl import reasons
from edl.model import Assignment, Reason, ResizePolicy, Taint, TrainingJob
from edl.model.nodes import CORDONED
from tests.edl.planner.plans import plan_for, started
from tests.edl.planner.states import at, cluster, node, shape, worker

IN_A: dict[str, Any] = {"node_selector": (("zone", "a"),)}


def stopped(name: str, why: Reason, *nodes: str, **fields: Any) -> TrainingJob:  # noqa: ANN401
    """It is to start on these nodes."""
    given: dict[str, Any] = {
        "resizing": ResizePolicy.RESTART,
        "size": len(nodes),
        "assigned": Assignment(0, nodes),
        "last": reasons.restart(why),
        "resized_at": at(-5),
    }
    return worker(name, 1, 4, **(given | fields))


def test_one_that_is_packed_anew_takes_no_nodes_on_which_another_is_to_start() -> None:
    state = cluster(
        node("a", 2, labels={"zone": "a"}),
        node("b", 3),
        stopped("anew", reasons.grown(2, 4), "b", "b", priority=1),
        stopped("other", reasons.MANUAL_SIZE, "a", "a", shape=shape(1, **IN_A)),
        worker("gang", 4, 4, priority=1),
    )
    plan = plan_for(state)
    assert started(plan) == {"anew": {"worker": 2}, "other": {"worker": 2}}


def test_pods_that_leave_cordoned_nodes_do_not_take_them() -> None:
    moves = replace(worker("moves", 2, 3, on=["b", "b"], priority=1), framework="pytorch")
    cordon = node("b", 2, cordoned=True, taints=(Taint(CORDONED, "", "NoSchedule"),))
    again = stopped("again", reasons.grown(2, 4), "a", "a")
    plan = plan_for(cluster(node("a", 2), cordon, moves, again))
    assert started(plan) == {"again": {"worker": 2}}
