"""Ways to decide, under all of which the laws hold: every policy, weights, preemption."""

from dataclasses import dataclass
from datetime import timedelta

from msgspec.structs import replace

from edl.model import ClusterState, Code
from edl.planner.decide import decide
from edl.planner.decision_limits import GrowthMode, Limits
from edl.planner.plan import Plan
from edl.planner.policies import POLICIES, Policy, weighted
from tests.edl.planner.acting import quiet

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


def scheduled_otherwise(plans: list[Plan]) -> bool:
    """Two roles that must share nodes cannot be kept from taking each other's room there."""
    reasons_given = [found.reason.code for plan in plans for found in plan.suspensions]
    return reasons_given.count(Code.GANG_UNSCHEDULABLE) > 1


def wait(plan: Plan) -> timedelta:
    """The reconciler looks again when pods change, else when time may have changed the plan."""
    if not quiet(plan):
        return timedelta(seconds=2)
    return plan.recheck_after or timedelta(seconds=60)
