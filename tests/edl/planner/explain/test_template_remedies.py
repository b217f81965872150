"""Changes of pod templates are offered only if a decision with them gives the job room."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from edl.model import JobKey, Node, Taint
from edl.model.nodes import Toleration
from edl.planner.explain.explanation import explain
from edl.planner.explain.template_remedies import TemplateRemedy
from edl.planner.explain.what_if_state import DecisionInput
from edl.planner.policies import POLICIES
from edl.quantities import Resources
from tests.edl.planner.plans import ALL
from tests.edl.planner.states import cluster, job, node, role, shape, worker

GPU = Taint("nvidia.com/gpu", "present", "NoSchedule")
TAINTED = node("g", 4, gpu=4, taints=(GPU,))


def remedy(*things: object) -> TemplateRemedy:
    given = DecisionInput(cluster(*things), POLICIES["fair"], ALL)  # type: ignore[arg-type]
    found = explain(given, JobKey("ns", "mnist"))
    assert found is not None
    return found.trials.template


def test_a_toleration_is_offered_for_the_role_that_needs_it() -> None:
    mine = job("mnist", role("ps", 1, 1), role("worker", 1, 2, shape=shape(1, gpu=1)))
    assert remedy(node("a", 4), TAINTED, mine) == TemplateRemedy(("worker",), taints=(GPU,))
    other = replace(TAINTED, name="f", taints=(GPU, Taint("team", "vision", "NoSchedule")))
    assert remedy(node("a", 4), other, TAINTED, mine).taints == (GPU,)
    both = TemplateRemedy(("worker",), taints=other.taints)
    assert remedy(node("a", 4), other, mine) == both


def test_a_toleration_that_gives_no_room_is_not_offered() -> None:
    tolerant = shape(1, gpu=4, tolerations=(Toleration("nvidia.com/gpu", "Exists"),))
    full = worker("other", 1, 1, on=["g"], shape=tolerant)
    mine = worker("mnist", 1, 1, shape=shape(1, gpu=1))
    assert remedy(TAINTED, mine) == TemplateRemedy(("worker",), taints=(GPU,))
    assert remedy(replace(TAINTED, used=tolerant.requests), full, mine) == TemplateRemedy()


def test_a_toleration_is_offered_where_the_nodes_without_the_taint_are_too_few() -> None:
    spot = Taint("pool", "spot", "NoSchedule")
    mine = worker("mnist", 4, 4, shape=shape(2))
    tainted = [node(name, 4, taints=(spot,)) for name in "bc"]
    assert remedy(node("a", 4), *tainted, mine) == TemplateRemedy(("worker",), taints=(spot,))
    assert remedy(node("a", 4), node("b", 2, taints=(spot,)), mine) == TemplateRemedy()
    assert remedy(node("a", 4), *(node(name, 4) for name in "bc"), mine) == TemplateRemedy()


def test_no_toleration_of_a_control_plane_is_offered_where_other_nodes_are_usable() -> None:
    mine = worker("mnist", 3, 3, shape=shape(2))
    own = node("b", 4, taints=(Taint("node-role.kubernetes.io/control-plane", "", "NoSchedule"),))
    assert remedy(node("a", 4), own, mine) == TemplateRemedy()


@pytest.mark.parametrize(
    "key",
    [
        "ToBeDeletedByClusterAutoscaler",
        "aws-node-termination-handler/spot-itn",
        "cloud.google.com/impending-node-termination",
        "karpenter.sh/disrupted",
        "karpenter.sh/unregistered",
        "node.cloudprovider.kubernetes.io/uninitialized",
        "node.kubernetes.io/disk-pressure",
        "node.kubernetes.io/network-unavailable",
        "node.kubernetes.io/not-ready",
        "startup-taint.cluster-autoscaler.kubernetes.io/agent",
    ],
)
def test_no_toleration_is_offered_of_what_a_node_says_of_its_state(key: str) -> None:
    """One of the other taints sorts before all of these, and one behind them."""
    ill, mine = Taint(key, "", "NoSchedule"), worker("mnist", 1, 1, shape=shape(1))
    assert remedy(node("a", 4, taints=(ill,)), mine) == TemplateRemedy()
    for fine in (Taint("A", "", "NoSchedule"), Taint("zz", "", "NoSchedule")):
        both = (node("a", 4, taints=(ill,)), node("b", 4, taints=(ill, fine)))
        assert remedy(*both, mine) == TemplateRemedy()
        assert remedy(*both, node("c", 4, taints=(fine,)), mine).taints == (fine,)


def _pools(*free: float) -> tuple[list[Node], list[Taint]]:
    """A node for each pool, with four CPU, this number of them free, and a taint of its own."""
    taints = [Taint("pool", f"{number:02}", "NoSchedule") for number in range(len(free))]
    used = [Resources.parse({"cpu": 4 - cpu, "pods": 1}) for cpu in free]
    named = zip(used, taints, strict=True)
    return [
        replace(node(f"n{at}", 4, taints=(taint,)), used=load)
        for at, (load, taint) in enumerate(named)
    ], taints


@pytest.mark.parametrize(
    ("free", "pods", "needed"),
    [
        ((0, 0, 0, 0, 4), 4, (4,)),
        ((1, 1, 1, 1, 4), 4, (4,)),
        ((0, 2, 0, 1, 0, 1), 4, (1, 3, 5)),
        ((0, 2, 0, 1, 0, 2), 4, (1, 5)),
        ((1, 1, 1, 1), 4, ()),
        ((0, 0, 0, 0), 1, ()),
    ],
)
def test_tolerations_are_as_few_as_possible_and_no_more_than_users_write(
    free: Sequence[float], pods: int, needed: Sequence[int]
) -> None:
    nodes, taints = _pools(*free)
    found = remedy(*nodes, worker("mnist", pods, pods, shape=shape(1)))
    assert set(found.taints) == {taints[at] for at in needed}


def test_the_taint_of_the_nodes_with_room_for_most_pods_is_offered() -> None:
    many, few = Taint("zz", "", "NoSchedule"), Taint("a", "", "NoSchedule")
    nodes = [node(name, 4, taints=(many,)) for name in "bc"]
    mine = worker("mnist", 1, 1, shape=shape(1))
    assert remedy(node("a", 4, taints=(few,)), *nodes, mine).taints == (many,)


def test_a_selected_label_that_no_node_has_may_be_left_out() -> None:
    gpu, disk = ("gpu", "a100"), ("disk", "ssd")
    mine = worker("mnist", 1, 1, shape=shape(1, node_selector=(disk, gpu)))
    fast = node("a", 4, labels={"disk": "ssd"})
    assert remedy(fast, mine) == TemplateRemedy(("worker",), selector=(gpu,))
    assert remedy(replace(fast, cordoned=True), mine) == TemplateRemedy()
    assert remedy(fast, node("b", 4, labels={"gpu": "a100"}), mine) == TemplateRemedy()
