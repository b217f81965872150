"""Ways to decide, under all of which the laws hold: every policy, weights, preemption."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from hypothesis import strategies as st
from msgspec.structs import replace

from edl.model import ClusterState, Code
from edl.planner.decide import decide
from edl.planner.decision_limits import GrowthMode, Limits
from edl.planner.plan import Plan
from edl.planner.policies import POLICIES, Policy, weighted
from tests.edl.planner.acting import act, quiet
from tests.edl.reached import Law, drawn

LIMITS = Limits()


@dataclass(frozen=True)
class Way:
    """A way to decide, for which all laws hold."""

    policy: Policy
    limits: Limits = LIMITS

    def plan(self, state: ClusterState) -> Plan:
        return decide(state, self.policy, self.limits)


WAYS = {name: Way(policy) for name, policy in POLICIES.items()}
WAYS["weighted"] = Way(weighted(POLICIES["fair"], {1: 3, 2: 0.5}))
WAYS["needed nodes"] = Way(POLICIES["fair"], replace(LIMITS, growth=GrowthMode.NEEDED_NODES))
WAYS["preempting"] = Way(POLICIES["fair"], replace(LIMITS, preempt=True))


def law(
    state: st.SearchStrategy[ClusterState],
    **strategies: Any,  # noqa: ANN401 - of any type
) -> Callable[[Law], Law]:
    """A law of `state`, under any way to decide (`way`)."""
    return drawn(way=st.sampled_from(list(WAYS.values())), state=state, **strategies)


def scheduled_otherwise(plans: list[Plan]) -> bool:
    """Two roles that must share nodes cannot be kept from taking each other's room there."""
    reasons_given = [found.reason.code for plan in plans for found in plan.suspensions]
    return reasons_given.count(Code.GANG_UNSCHEDULABLE) > 1


def wait(plan: Plan) -> timedelta:
    """The reconciler looks again when pods change, else when time may have changed the plan."""
    if not quiet(plan):
        return timedelta(seconds=2)
    return plan.recheck_after or timedelta(seconds=60)


def rests(plan: Plan) -> bool:
    """The plan changes nothing, and time alone will not change that."""
    return quiet(plan) and plan.recheck_after is None


def lived(
    way: Way,
    state: ClusterState,
    rounds: int,
    **acting: bool,
) -> tuple[list[Plan], ClusterState]:
    """The plans until one rests, at most so many, and the state after them."""
    plans: list[Plan] = []
    while len(plans) < rounds and not (plans and rests(plans[-1])):
        plans.append(way.plan(state))
        state = act(state, plans[-1], after=wait(plans[-1]), **acting)
    return plans, state


def last_sizes(plans: list[Plan]) -> list[tuple[str, int, int]]:
    """The last resizes, as what a law says where sizes go on changing."""
    return [(one.job.name, one.before, one.after) for plan in plans[-6:] for one in plan.resizes]
