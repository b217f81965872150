"""One plan, and what a test asks it."""

from datetime import timedelta

from edl.messages import message
from edl.model import ClusterState, Reason
from edl.planner.decide import decide
from edl.planner.decision_limits import Limits
from edl.planner.plan import Plan
from edl.planner.policies import POLICIES

ALL = Limits(load_ceiling=1, queue_patience=timedelta(hours=9))
"""Every core may be used, and no job blocks others because it has waited long."""


def plan_for(state: ClusterState, limits: Limits = ALL) -> Plan:
    return decide(state, POLICIES["fair"], limits)


def started(plan: Plan) -> dict[str, dict[str, int]]:
    return {found.job.name: dict(found.sizes) for found in plan.admissions}


def sizes(plan: Plan) -> dict[str, int]:
    return {found.job.name: found.after for found in plan.resizes}


def wait_reasons(plan: Plan) -> dict[str, Reason]:
    return {found.job.name: found.reason for found in plan.waiting}


def told(plan: Plan) -> dict[str, str]:
    """What users read of those that wait."""
    return {found.job.name: message(found.reason) for found in plan.waiting}
