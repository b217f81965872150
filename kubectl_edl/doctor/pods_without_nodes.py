"""Pods that no node can hold: pending ones of other owners, and those of queued jobs."""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from msgspec.structs import replace

from edl.contract.pod_limits import PodCount
from edl.errors import Forbidden
from edl.model import ClusterState, Code, Demand, JobKey, Reason, TrainingJob
from edl.model.causes.reason_subjects import NodesAsked
from edl.model.causes.scarcity import NodePoolLimit
from edl.planner.plan import Plan
from edl.planner.published_settings import Settings
from kubectl_edl.cli.suggested_commands import FixCommand
from kubectl_edl.client.autoscaler_messages import autoscaler_message
from kubectl_edl.doctor.checks.check import SHOWN, CheckContext, CheckResult, warning
from kubectl_edl.job_views.training_job_view import JobView


def pool_remedy(
    state: ClusterState, settings: Settings, job: TrainingJob, limit: NodePoolLimit
) -> FixCommand:
    """What would give a queued job nodes that the limits of NodePools do not allow."""
    from edl.planner.explain.start_remedies import within_pool_limits
    from edl.planner.explain.what_if_state import DecisionInput
    from kubectl_edl.explain.blocker_documents import higher_pool_limit, smaller_min

    given = DecisionInput(state, settings.policy_to_apply(), settings.limits)
    remedy = within_pool_limits(given, job, limit)
    ways = [f"raise {higher_pool_limit(remedy)}"]
    if remedy.min:
        ways.append(f"or {smaller_min(remedy, f'{job.key.name} -n {job.key.namespace}')}")
    return FixCommand("; ".join(ways))


def with_plan(context: CheckContext, views: Sequence[JobView]) -> Iterator[JobView]:
    """The views; of jobs below raised minimums, with why the nodes for these do not come.

    The words of the autoscaler take a request for each job: only the first ones have them.
    """
    plan, asking = _readable_plan(context, views), 0
    for shown in views:
        planned = shown.planned(plan) if plan and _is_below(shown) else shown
        asked = planned.without_nodes
        if asked and isinstance(asked.about, NodesAsked) and asking < SHOWN:
            asking += 1
            text = autoscaler_message(context.cluster, shown.job)
            asked = replace(asked, about=replace(asked.about, message=text))
        yield replace(planned, without_nodes=asked)


def _is_below(shown: JobView) -> bool:
    return shown.why.reason is Code.BELOW_MIN


def _readable_plan(context: CheckContext, views: Sequence[JobView]) -> Plan | None:
    """The next plan, if it is needed and may be made."""
    try:
        return context.next_plan[2] if any(map(_is_below, views)) else None
    except Forbidden:
        return None


def higher_limit(context: CheckContext, shown: JobView) -> FixCommand | None:
    """What would give a job the nodes of its raised minimum; None if no limit keeps them away."""
    about = shown.without_nodes.about if shown.without_nodes else None
    if not isinstance(about, NodePoolLimit):
        return None
    state, settings, _ = context.next_plan
    return pool_remedy(state, settings, shown.job, about)


def without_success(reasons: Mapping[JobKey, Reason]) -> AbstractSet[JobKey]:
    """Jobs whose requested nodes did not come: `stuck` reports them."""
    return {key for key, reason in reasons.items() if isinstance(reason.about, NodesAsked)}


def unplaceable(state: ClusterState, settings: Settings, named: str) -> Iterator[CheckResult]:
    """Pending pods of other owners for which no job scales down, as that would not help."""
    from edl.feasibility.horizon import Horizon
    from edl.planner.decide import observed_snapshot

    yield from _ignored(state, named)
    if state.autoscaled or not state.demands:
        return
    snapshot = observed_snapshot(state, settings.policy_to_apply(), settings.limits)
    room = snapshot.capacity_without_training_jobs
    for demand in snapshot.state.demands:
        pod_class = snapshot.pod_class(demand.shape)
        pods = _pods(demand, named)
        if pods and not pod_class.pods_per_node(room, Horizon.EMPTY).any():
            yield warning(
                f"the pending pod {pods[0]} fits no node, even if no training job ran: no job "
                "scales down for it",
                _description(pods[0]),
            )


def _ignored(state: ClusterState, named: str) -> Iterator[CheckResult]:
    """Pending pods of other owners with too many rules: plans do not read them."""
    for demand in state.demands:
        pods = _pods(demand, named)
        if pods and demand.excess:
            yield warning(
                f"the pending pod {pods[0]} has {_text(demand.excess)}: no job scales down for it",
                _description(pods[0]),
            )


def _text(excess: PodCount) -> str:
    count = f"{excess.number} {excess.kind} in {excess.path}"
    if excess.of_all:
        return f"{count}, and all pending pods together have more than plans follow"
    return f"{count}, of which plans follow at most {excess.most}"


def _description(pod: str) -> FixCommand:
    namespace, _, name = pod.partition("/")
    return FixCommand(f"kubectl describe pod {name} -n {namespace}")


def _pods(demand: Demand, named: str) -> tuple[str, ...]:
    """The first of its pods in each namespace, or in this one."""
    examples = (demand.example, *demand.elsewhere)
    return tuple(pod for pod in examples if named in ("", pod.partition("/")[0]))
