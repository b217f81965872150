"""What the reconciler, the Job controller and the scheduler make of a plan, at once.

Removed pods are gone, or leave while they hold their nodes for one more round (`lingering`); new
ones are bound where they fit (fullest node first), others stay pending.
"""

from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import TypeAlias

from msgspec.structs import replace

from edl import reasons
from edl.annotations import cleared_nodes, unneeded_nodes
from edl.contract import PLACEMENT_GATE
from edl.feasibility.eligibility import Eligibility
from edl.job_state.lost_pods import delayed_until, has_lost_any, missing_pods, recorded_delay
from edl.model import (
    Assignment,
    ClusterState,
    Demand,
    JobKey,
    Node,
    Pod,
    PodPhase,
    Restart,
    Role,
    Shape,
    TrainingJob,
)
from edl.model.pods import SchedulingStatus
from edl.planner.plan import NodeAssignment, Plan, Resize
from edl.quantities import Resources
from tests.roles import changed_pod

Choose: TypeAlias = Callable[[Shape, str], str]
"""A node for a pod, or the one that it was given; its room is taken. Empty where none has it."""


def act(  # noqa: PLR0913
    state: ClusterState,
    plan: Plan,
    *,
    after: timedelta,
    lingering: bool = False,
    spreading: bool = False,
    backing_off: bool = False,
) -> ClusterState:
    """The state `after` the plan was done.

    The scheduler takes the fullest node, or the emptiest one if it is `spreading`. The Job
    controller creates no pod of a role that lost any while it is `backing_off`.
    """
    now = state.observed_at
    jobs = tuple(_job(found, plan, now, lingering) for found in state.jobs)
    nodes = _emptied(state.nodes, state.jobs, jobs)
    free = {found.name: found.allocatable - found.used for found in nodes}
    choose = partial(
        _choose, nodes=nodes, free=free, eligible=Eligibility(nodes), spreading=spreading
    )

    def creates(part: Role) -> bool:
        return not (backing_off and has_lost_any(part))

    demands = tuple(_bind_demand(found, choose) for found in state.demands)
    bound = tuple(
        replace(one, roles=tuple(_bind(part, now, choose, creates) for part in one.roles))
        for one in sorted(jobs, key=lambda one: (-one.priority, one.queued_at, one.key))
    )
    evictable_pods = _evictable_pods(state, bound)
    filled = tuple(
        replace(one, used=one.allocatable - free[one.name], evictable_pods=evictable_pods[one.name])
        for one in nodes
    )
    kept = tuple(found for found in demands if found.count)
    since = unneeded_nodes.noted(state.unneeded_since, plan.unneeded, now)
    return replace(
        state, observed_at=now + after, nodes=filled, jobs=bound, demands=kept, unneeded_since=since
    )


def _evictable_pods(before: ClusterState, after: tuple[TrainingJob, ...]) -> dict[str, int]:
    """Pods that keep each node: of others as many as before, and ours as they are now."""
    was, now = _active(before.jobs), _active(after)
    return {one.name: one.evictable_pods - was[one.name] + now[one.name] for one in before.nodes}


def _active(jobs: tuple[TrainingJob, ...]) -> Counter[str]:
    return Counter(
        each.node
        for one in jobs
        for part in one.roles
        for each in part.status.pods
        if each.node and each.active
    )


def _job(found: TrainingJob, plan: Plan, now: datetime, lingering: bool) -> TrainingJob:  # noqa: FBT001
    start = next((one for one in plan.admissions if one.job == found.key), None)
    sizes = dict(start.sizes) if start else {}
    named = {one.role: one.pods for one in plan.drains if one.job == found.key}
    clears = {one.role: one.cleared_nodes for one in plan.drains if one.job == found.key}
    nodes = {name: on for one in plan.admissions if one.job == found.key for name, on in one.nodes}
    placed = {one.role: one for one in plan.node_assignments if one.job == found.key}
    resizes = {one.role: one for one in plan.resizes if one.job == found.key}
    stopped = [one for one in plan.suspensions if one.job == found.key]
    restart = next((one.reason for one in resizes.values() if one.restart), None)
    roles = []
    for part in found.roles:
        changed = part
        if restart is not None:
            size = resizes[part.name].after if part.name in resizes else part.status.size
            why = reasons.restart(restart)
            changed = part.changed(
                size=size, suspended=True, suspended_at=now, resized_at=now, last=why
            )
            changed = changed.changed(delayed_until=_delay(part, now))
            if part.name in resizes and resizes[part.name].nodes:
                changed = changed.changed(assigned=Assignment(0, resizes[part.name].nodes))
        elif stopped:
            timed = stopped[0].reason.restart is Restart.STOPPED
            at = now if timed else part.record.resized_at
            changed = part.changed(suspended=True, suspended_at=now)
            changed = changed.changed(resized_at=at, last=stopped[0].reason)
            changed = changed.changed(delayed_until=_delay(part, now))
        elif start and part.name in sizes:
            delay = part.record.delayed_until
            changed = part.changed(size=sizes[part.name], suspended=False, resized_at=now)
            changed = changed.changed(failures_at_start=part.status.failures)
            changed = changed.changed(delayed_until=delay if delay and delay > now else None)
            changed = changed.changed(last=start.reason)
            changed = changed.changed(assigned=Assignment(0, nodes.get(part.name, ())))
        elif part.name in resizes:
            one = resizes[part.name]
            changed = _resized(part, one, now)
        if nodes_cleared := clears.get(part.name):
            changed = changed.changed(cleared=cleared_nodes.cleared(part, nodes_cleared, now))
        if given := placed.get(part.name):
            changed = _placed(changed, given, now)
        kept = _kept(changed, frozenset(named.get(part.name, ())))
        gone = _lingering(part, kept) if lingering else ()
        waits = (found.key, part.name) in plan.growth_waits
        since = (part.growth_awaited_since or now) if waits else None
        changed = changed.changed(growth_awaited_since=since)
        roles.append(changed.changed(pods=(*_numbered(changed, kept), *gone)))
    return replace(found, roles=tuple(roles), started_at=now if sizes else found.started_at)


def _resized(part: Role, one: Resize, now: datetime) -> Role:
    assert one.before == part.status.size
    changed = part.changed(size=one.after, resized_at=now, last=one.reason)
    if one.after < one.before:
        changed = changed.changed(delayed_until=_delay(part, now))
    elif not (missing_pods(part) or recorded_delay(part, now)):
        changed = changed.changed(failures_at_start=part.status.failures, delayed_until=None)
    return changed.changed(assigned=Assignment(one.before, one.nodes)) if one.nodes else changed


def _delay(part: Role, now: datetime) -> datetime | None:
    return delayed_until(part, now) or recorded_delay(part, now)


def _placed(part: Role, given: NodeAssignment, now: datetime) -> Role:
    """Its pods as the plan's nodes are written on them; without those that lost theirs."""
    nodes = dict(given.nodes)
    pods = tuple(
        changed_pod(one, gates=(), assigned=nodes[one.name], placed_at=now)
        if one.name in nodes
        else one
        for one in part.status.pods
        if one.name not in given.replaced_pods
    )
    return part.changed(pods=pods)


def _kept(part: Role, named: frozenset[str]) -> tuple[Pod, ...]:
    pods = [one for one in part.status.pods if not one.terminating and one.name not in named]
    if part.status.suspended:
        return ()
    if part.spec.indexed:
        return tuple(one for one in pods if one.index < part.status.size)
    ranked = sorted(pods, key=lambda one: (not one.node, not one.ready, one.created_at, one.index))
    return tuple(ranked[: part.status.size])


def _numbered(part: Role, kept: tuple[Pod, ...]) -> tuple[Pod, ...]:
    """Without ranks, those that stay are numbered from 0, whichever a plan has named to leave."""
    if part.spec.indexed:
        return kept
    return tuple(
        replace(one, index=number, name=f"pod-{number}") for number, one in enumerate(kept)
    )


def _lingering(part: Role, kept: tuple[Pod, ...]) -> tuple[Pod, ...]:
    """Those that leave hold their nodes until the next round."""
    gone = [one for one in part.status.pods if one not in kept and not one.terminating]
    return tuple(replace(one, terminating=True, ready=False) for one in gone if one.node)


def _emptied(
    nodes: tuple[Node, ...], before: tuple[TrainingJob, ...], after: tuple[TrainingJob, ...]
) -> tuple[Node, ...]:
    """Without the pods that left, and without what was leaving."""
    change: dict[str, Counter[str]] = {one.name: Counter() for one in nodes}
    going: dict[str, Counter[str]] = {one.name: Counter() for one in nodes}
    _count_use(change, before, -1)
    _count_use(change, after, 1)
    _count_use(going, after, 1, leaving=True)
    return tuple(
        replace(
            one,
            used=one.used + Resources.of(change[one.name]),
            releasing=Resources.of(going[one.name]),
        )
        for one in nodes
    )


def _count_use(
    into: dict[str, Counter[str]],
    jobs: tuple[TrainingJob, ...],
    times: int,
    *,
    leaving: bool = False,
) -> None:
    for one in jobs:
        for part in one.roles:
            on = Counter(
                each.node
                for each in part.status.pods
                if each.node and not each.ended and (each.terminating or not leaving)
            )
            for name, pods in on.items():
                for resource, amount in part.template.shape.requests if name in into else ():
                    into[name][resource] += times * pods * amount


def _bind(part: Role, now: datetime, choose: Choose, creates: Callable[[Role], bool]) -> Role:
    if part.status.suspended or part.status.ending is not None:
        return part
    have = {one.index: one for one in part.status.pods if not one.terminating}
    pods = [one for one in part.status.pods if one.terminating]
    for index in range(part.status.size):
        if index not in have and not creates(part):
            continue
        one = have.get(index) or _new(index, now, part.template.gated)
        if not (one.node or one.ended or one.gated):
            on = choose(part.template.shape, one.planned.node)
            one = replace(one, node=on, ready=bool(on))
        pods.append(one)
    return part.changed(pods=tuple(pods))


def _new(index: int, now: datetime, gated: bool) -> Pod:  # noqa: FBT001
    scheduling = SchedulingStatus((PLACEMENT_GATE,) if gated else ())
    pod = Pod(f"pod-{index}", index, "", PodPhase.PENDING, False, False, now, "1")  # noqa: FBT003
    return replace(pod, scheduling=scheduling)


def _bind_demand(found: Demand, choose: Choose) -> Demand:
    left = found.count
    while left and choose(found.shape, ""):
        left -= 1
    return replace(found, count=left)


def _choose(  # noqa: PLR0913
    wanted: Shape,
    only: str,
    *,
    nodes: tuple[Node, ...],
    free: dict[str, Resources],
    eligible: Eligibility,
    spreading: bool,
) -> str:
    mask = eligible.mask(wanted)
    fitting = [
        (free[one.name].get("cpu") * (-1 if spreading else 1), one.name)
        for one, may in zip(nodes, mask, strict=True)
        if may
        and only in ("", one.name)
        and all(free[one.name].get(name) >= amount for name, amount in wanted.requests)
    ]
    if not fitting:
        return ""
    _, name = min(fitting)
    free[name] -= wanted.requests
    return name


def quiet(plan: Plan) -> bool:
    """The plan changes nothing."""
    moved = plan.admissions or plan.resizes or plan.suspensions or plan.drains
    return not (moved or plan.node_assignments)


def key(name: str) -> JobKey:
    return JobKey("ns", name)
