"""A plan is recalled only for what it was made from."""

from msgspec.structs import replace

from edl.planner.decide import decide
from edl.planner.plan_cache import PlanCache
from edl.planner.policies import POLICIES
from tests.edl.planner.plans import ALL, sizes
from tests.edl.planner.states import cluster, node, worker


def test_a_job_that_asks_for_another_size_is_decided_anew() -> None:
    memory, mine = PlanCache(), worker("mnist", 1, 4, on=["a"])
    for wanted, found in ((1, {}), (3, {"mnist": 3})):
        held_to = replace(mine, roles=(mine.roles[0].changed(replicas=wanted),))
        plan = decide(cluster(node("a", 8), held_to), POLICIES["fair"], ALL, memory)
        assert sizes(plan) == found
