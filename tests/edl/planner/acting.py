"""What the reconciler, the Job controller and the scheduler make of a plan, at once.

Removed pods are gone, new ones bound where they fit (fullest node first), others stay pending.
"""

from dataclasses import replace
from datetime import datetime, timedelta

from edl.model import (
    ClusterState,
    Demand,
    JobKey,
    Node,
    Pod,
    PodPhase,
    Requirement,
    Role,
    Shape,
    TrainingJob,
)
from edl.planner import reasons
from edl.planner.eligibility import NAME_FIELD, Eligibility
from edl.planner.plan import Plan
from edl.resources import Resources


def act(state: ClusterState, plan: Plan, *, after: timedelta) -> ClusterState:
    """The state `after` the plan was done."""
    now = state.observed_at
    jobs = tuple(_job(found, plan, now) for found in state.jobs)
    nodes = _emptied(state.nodes, state.jobs, jobs)
    free = {found.name: found.allocatable - found.used for found in nodes}
    eligible = Eligibility(nodes)
    demands = tuple(_bind_demand(found, nodes, free, eligible) for found in state.demands)
    bound = tuple(
        replace(one, roles=tuple(_bind(part, nodes, free, eligible, now) for part in one.roles))
        for one in sorted(jobs, key=lambda one: (-one.priority, one.queued_at, one.key))
    )
    filled = tuple(replace(one, used=one.allocatable - free[one.name]) for one in nodes)
    kept = tuple(found for found in demands if found.count)
    return ClusterState(now + after, filled, bound, kept)


def _job(found: TrainingJob, plan: Plan, now: datetime) -> TrainingJob:
    sizes = {
        name: size for one in plan.admissions if one.job == found.key for name, size in one.sizes
    }
    nodes = {name: on for one in plan.admissions if one.job == found.key for name, on in one.nodes}
    resizes = {one.role: one for one in plan.resizes if one.job == found.key}
    stopped = [one for one in plan.suspensions if one.job == found.key]
    restart = next((one.reason for one in resizes.values() if one.restart), None)
    roles = []
    for part in found.roles:
        changed = part
        if restart is not None:
            size = resizes[part.name].after if part.name in resizes else part.size
            why = reasons.restart(restart)
            changed = replace(part, size=size, suspended=True, resized_at=now, reason=why)
            changed = replace(changed, pods=())
        elif stopped:
            changed = replace(part, suspended=True, pods=(), reason=stopped[0].reason)
        elif part.name in sizes:
            changed = replace(part, suspended=False, size=sizes[part.name], pods=(), reason="")
            changed = replace(changed, shape=_pinned(part.shape, nodes.get(part.name, ())))
        elif part.name in resizes:
            one = resizes[part.name]
            assert one.before == part.size
            changed = replace(part, size=one.after, resized_at=now, reason=one.reason)
        roles.append(replace(changed, pods=_kept(changed)))
    return replace(found, roles=tuple(roles), started_at=now if sizes else found.started_at)


def _pinned(wanted: Shape, nodes: tuple[str, ...]) -> Shape:
    """What the reconciler writes into the template of a gang that starts again."""
    if not nodes:
        return wanted
    return replace(wanted, affinity=((Requirement(NAME_FIELD, "In", nodes),),))


def _kept(part: Role) -> tuple[Pod, ...]:
    if part.tandem:
        return tuple(one for one in part.pods if one.index < part.size and not one.terminating)
    ranked = sorted(part.pods, key=lambda one: (not one.node, not one.ready, one.index))
    return tuple(ranked[: part.size])


def _emptied(
    nodes: tuple[Node, ...], before: tuple[TrainingJob, ...], after: tuple[TrainingJob, ...]
) -> tuple[Node, ...]:
    """Without the pods that left, and without what was leaving."""
    was, still = _use(before), _use(after)
    return tuple(
        replace(
            one,
            used=one.used - was.get(one.name, Resources()) + still.get(one.name, Resources()),
            leaving=Resources(),
        )
        for one in nodes
    )


def _use(jobs: tuple[TrainingJob, ...]) -> dict[str, Resources]:
    found: dict[str, Resources] = {}
    for one in jobs:
        for part in one.roles:
            for each in part.pods:
                if each.node and not each.ended:
                    found[each.node] = found.get(each.node, Resources()) + part.shape.requests
    return found


def _bind(
    part: Role,
    nodes: tuple[Node, ...],
    free: dict[str, Resources],
    eligible: Eligibility,
    now: datetime,
) -> Role:
    if part.suspended or part.ending is not None:
        return part
    have = {one.index: one for one in part.pods}
    pods = []
    for index in range(part.size):
        one = have.get(index) or _new(index, now)
        if not one.node and not one.ended:
            on = _choose(part.shape, nodes, free, eligible)
            one = replace(one, node=on, ready=bool(on))
        pods.append(one)
    return replace(part, pods=tuple(pods))


def _new(index: int, now: datetime) -> Pod:
    return Pod(f"pod-{index}", index, "", PodPhase.PENDING, False, False, (), now, "1")  # noqa: FBT003


def _bind_demand(
    found: Demand, nodes: tuple[Node, ...], free: dict[str, Resources], eligible: Eligibility
) -> Demand:
    left = found.count
    while left and _choose(found.shape, nodes, free, eligible):
        left -= 1
    return replace(found, count=left)


def _choose(
    wanted: Shape, nodes: tuple[Node, ...], free: dict[str, Resources], eligible: Eligibility
) -> str:
    mask = eligible.mask(wanted)
    fitting = [
        (free[one.name].get("cpu"), one.name)
        for one, may in zip(nodes, mask, strict=True)
        if may and all(free[one.name].get(name) >= amount for name, amount in wanted.requests)
    ]
    if not fitting:
        return ""
    _, name = min(fitting)
    free[name] -= wanted.requests
    return name


def quiet(plan: Plan) -> bool:
    """The plan changes nothing."""
    return not (plan.admissions or plan.resizes or plan.suspensions)


def key(name: str) -> JobKey:
    return JobKey("ns", name)
