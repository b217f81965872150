"""Jobs that can never start on the present nodes: not even with all nodes and quotas empty."""

from collections.abc import Iterator, Mapping
from typing import Final

from msgspec.structs import replace

from edl import reasons
from edl.contract import Provision
from edl.model import ClusterState, Code, JobKey, Node, Reason, TrainingJob
from edl.model.causes.scarcity import NodePoolLimit, NoEligibleNode, Shortage
from edl.model.nodes import NODES
from edl.planner.decide import decide
from edl.planner.decision_limits import Autoscaler
from edl.planner.plan import Plan, WaitingJob
from edl.planner.published_settings import Settings
from edl.quantities import Resources

_TRIED: Final = 50
"""Most jobs that are each tried in an empty cluster, at a decision each."""


def unstartable(state: ClusterState, settings: Settings, plan: Plan) -> Mapping[JobKey, Reason]:
    """Why queued jobs of `plan` cannot start even if no other training job ran.

    Also those for which no node is schedulable, whichever an administrator may uncordon.
    With an autoscaler, only those that the limits of its NodePools exclude, those whose requested
    nodes it did not add, and those that request none: the nodes of others may still come.
    """
    limits = settings.limits
    if not limits.expects_autoscaler(detected=state.autoscaled):
        return {
            entry.job: entry.reason
            for entry in plan.waiting
            if entry.never or _lacks_nodes(entry.reason)
        }
    without = replace(limits, autoscaler=Autoscaler.NONE)
    present = decide(state, settings.policy_to_apply(), without)
    short = {entry.job for entry in present.waiting if entry.never or _lacks_nodes(entry.reason)}
    waiting = [entry for entry in plan.waiting if entry.job in short]
    return dict(_without_their_nodes(state, settings, waiting))


def _without_their_nodes(
    state: ClusterState, settings: Settings, short: list[WaitingJob]
) -> Iterator[tuple[JobKey, Reason]]:
    """`short`: those that the present nodes cannot hold."""
    jobs, tried = {job.key: job for job in state.jobs}, 0
    for entry in short:
        job, reason = jobs[entry.job], entry.reason
        above = isinstance(reason.about, NodePoolLimit)
        requests = job.provisioning.provision is not Provision.NEVER
        if above or entry.never or not requests or awaits_turn(reason):
            tried += 1
            alone = _reason_alone(state, settings, job) if tried <= _TRIED else None
            limit = alone.about if alone else None
            if isinstance(limit, NodePoolLimit):
                if _is_above(state, job, limit):
                    yield job.key, reasons.above_pool_limits(limit)
            elif alone and not above and alone.code is not Code.WAITING_FOR_NODES:
                yield job.key, reason
        elif (failure := job.provisioning.failure) and not job.provisioning.bound:
            yield job.key, reasons.not_provisioned(failure.message)


def awaits_turn(reason: Reason) -> bool:
    """Whether nodes are requested for other jobs first."""
    return reason.code is Code.QUEUE_ORDER and isinstance(reason.about, Shortage | None)


def _lacks_nodes(reason: Reason) -> bool:
    """Whether no node that may run it is schedulable at present, or exists."""
    return isinstance(reason.about, NoEligibleNode)


def _reason_alone(state: ClusterState, settings: Settings, job: TrainingJob) -> Reason | None:
    """Why an empty cluster would not start it at once."""
    plan = decide(_emptied(state, job), settings.policy_to_apply(), settings.limits)
    return next((entry.reason for entry in plan.waiting), None)


def _is_above(state: ClusterState, job: TrainingJob, limit: NodePoolLimit) -> bool:
    """Whether nodes that are on their way for other jobs do not suffice for it, either."""
    return limit.needs > limit.add + _coming(state, job, limit.resource)


def _coming(state: ClusterState, job: TrainingJob, resource: str) -> int:
    """What nodes that are on their way for other jobs will have, at least.

    They count in the usage of NodePools already. Requests that have failed before do not count.
    """
    others = (other.provisioning for other in state.jobs if other.key != job.key)
    asked = (
        pod for provisioning in others if provisioning.failure is None for pod in provisioning.pods
    )
    awaited = (pod for pod in asked if not (pod.node or pod.gone))
    return sum(resource == NODES or pod.requests.get(resource) for pod in awaited)


def hopeless(state: ClusterState, settings: Settings, job: TrainingJob) -> Reason | None:
    """Why an empty cluster would not start a job either; None if it would, or if unknown.

    It is unknown for placement constraints and GPU shares, which depend on other pods, and for a
    job that would request nodes.
    """
    if any(role.template.shape.constraints or role.template.shape.share for role in job.live):
        return None
    plan = decide(_emptied(state, job), settings.policy_to_apply(), settings.limits)
    if plan.admissions or plan.requests:
        return None
    reason = next((entry.reason for entry in plan.waiting), reasons.UNKNOWN)
    if isinstance(reason.about, NodePoolLimit):
        return reason if _is_above(state, job, reason.about) else None
    # A job that waits for time alone may start later.
    return reason if plan.recheck_after is None else None


def _emptied(state: ClusterState, job: TrainingJob) -> ClusterState:
    return replace(
        state,
        nodes=tuple(map(_empty, state.nodes)),
        jobs=(job,),
        demands=(),
        unplanned_jobs=(),
        quotas=tuple(replace(budget, others=0) for budget in state.quotas),
        foreign_pods=(),
    )


def _empty(node: Node) -> Node:
    return replace(node.restored, used=Resources(), releasing=Resources(), evictable_pods=0)
