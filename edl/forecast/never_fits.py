"""Jobs that can never start on the present nodes: not even with all nodes and quotas empty."""

from msgspec.structs import replace

from edl import reasons
from edl.model import ClusterState, Node, Reason, TrainingJob
from edl.planner.decide import decide
from edl.planner.published_settings import Settings
from edl.quantities import Resources


def hopeless(state: ClusterState, settings: Settings, job: TrainingJob) -> Reason | None:
    """Why an empty cluster would not start a job either; None if it would, or if unknown.

    It is unknown for placement constraints and GPU shares, which depend on other pods.
    """
    if any(role.template.shape.constraints or role.template.shape.share for role in job.live):
        return None
    plan = decide(_emptied(state, job), settings.policy_to_apply(), settings.limits)
    # A job that waits for time alone may start later.
    if plan.admissions or plan.recheck_after is not None:
        return None
    return next((held.reason for held in plan.held), reasons.UNKNOWN)


def _emptied(state: ClusterState, job: TrainingJob) -> ClusterState:
    return replace(
        state,
        nodes=tuple(map(_empty, state.nodes)),
        jobs=(job,),
        demands=(),
        bare_jobs=(),
        quotas=tuple(replace(budget, others=0) for budget in state.quotas),
        foreign_pods=(),
    )


def _empty(node: Node) -> Node:
    return replace(node.restored, used=Resources(), releasing=Resources(), evictable_pods=0)
