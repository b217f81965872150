"""Changes of pod templates are offered only if a decision with them gives the job room."""

from msgspec.structs import replace

from edl.model import JobKey, Taint
from edl.model.nodes import Toleration
from edl.planner.explain.explanation import explain
from edl.planner.explain.template_remedies import TemplateRemedy
from edl.planner.explain.what_if_state import DecisionInput
from edl.planner.policies import POLICIES
from tests.edl.planner.plans import ALL
from tests.edl.planner.states import cluster, job, node, role, shape, worker

GPU = Taint("nvidia.com/gpu", "present", "NoSchedule")
TAINTED = node("g", 4, gpu=4, taints=(GPU,))


def remedy(*things: object) -> TemplateRemedy:
    given = DecisionInput(cluster(*things), POLICIES["fair"], ALL)  # type: ignore[arg-type]
    found = explain(given, JobKey("ns", "mnist"))
    assert found is not None
    return found.template


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


def test_a_selected_label_that_no_node_has_may_be_left_out() -> None:
    gpu, disk = ("gpu", "a100"), ("disk", "ssd")
    mine = worker("mnist", 1, 1, shape=shape(1, node_selector=(disk, gpu)))
    fast = node("a", 4, labels={"disk": "ssd"})
    assert remedy(fast, mine) == TemplateRemedy(("worker",), selector=(gpu,))
    assert remedy(replace(fast, cordoned=True), mine) == TemplateRemedy()
    assert remedy(fast, node("b", 4, labels={"gpu": "a100"}), mine) == TemplateRemedy()
