"""Removes blockers from the input of a decision, and merges blockers of one kind."""

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

from msgspec.structs import replace

from edl.feasibility.eligibility import NAME_FIELD
from edl.model import JobKey, Quota, Role, TrainingJob
from edl.model.causes.blockers import (
    OF_WORK,
    AtBound,
    Blocker,
    ConstraintsUnsatisfied,
    InsufficientResources,
    JobCondition,
    LackOfRoom,
    LoadCeiling,
    NoUsableNode,
    Outranked,
    OwnCondition,
    QuotaExceeded,
    SizeBound,
    TimedHold,
    TooLarge,
)
from edl.model.causes.scarcity import NodeRule
from edl.model.nodes import NEW, added_name, is_one_node
from edl.planner.explain.sufficient_ceiling import with_sufficient_ceiling
from edl.planner.explain.what_if_state import DecisionInput, node_for
from edl.quantities import Resources

_WITHOUT_NODES: Final = frozenset({NodeRule.TOPOLOGY_SPREAD, NodeRule.POD_AFFINITY})
"""Rules that labels or pods on the present nodes satisfy."""


def _without_problem(job: TrainingJob) -> TrainingJob:
    """The job without its problem, and with the first of several Jobs of one role alone."""
    roles = {role.name: role for role in reversed(job.roles)}
    first = tuple(role for role in job.roles if roles[role.name] is role)
    return replace(job, problem=None, refusals=(), roles=first)


_MENDED: Final[Mapping[JobCondition, Callable[[TrainingJob], TrainingJob]]] = {
    JobCondition.PAUSED: lambda job: replace(job, paused=False),
    JobCondition.PROBLEM: _without_problem,
    JobCondition.MISSING: lambda job: replace(job, missing=()),
}
"""Each clears one condition only, so that the next one is reported as well."""


def without_blockers(
    given: DecisionInput, key: JobKey, blockers: Sequence[Blocker]
) -> DecisionInput:
    """The input changed so that none of these blockers affects this training job."""
    for blocker in blockers:
        given = _mended(blocker, given, key)
    return given


def _mended(blocker: Blocker, given: DecisionInput, key: JobKey) -> DecisionInput:
    """The input without one blocker; unchanged if no change of the input removes it."""
    what_if = given
    match blocker:
        case AtBound():
            what_if = given.with_roles(key, partial(_raised, blocker), {blocker.role})
        case TimedHold():
            what_if = given.at(max(blocker.until, given.state.observed_at))
        case Outranked():
            what_if = _without_rivals(blocker, given, key)
        case OwnCondition() if right := _MENDED.get(blocker.what):
            what_if = given.with_job(key, right)
        case InsufficientResources() | TooLarge():
            what_if = _with_room(blocker, given, key)
        case NoUsableNode():
            what_if = _with_usable_nodes(blocker, given, key)
        case ConstraintsUnsatisfied():
            like = given.node(blocker.node)
            what_if = given.with_nodes(like, blocker.requests, blocker.pods) if like else given
        case LoadCeiling():
            enough = max(blocker.enough, given.limits.load_ceiling)
            what_if = replace(given, limits=replace(given.limits, load_ceiling=enough))
        case QuotaExceeded():
            what_if = _with_quota(blocker, given)
    return what_if


def _with_quota(blocker: QuotaExceeded, given: DecisionInput) -> DecisionInput:
    """The limit raised; a team that keeps capacity lends it, or the nodes have more."""
    quota, lacks = blocker.quota, blocker.lacks
    if quota.kept_by:
        return given.with_lending(quota.kept_by)
    if quota.lendable:
        node = next((node.name for node in given.state.nodes if node.schedulable), "")
        return given.with_more(node, Resources.of({quota.resource: lacks}))
    return given.with_quota(quota, lacks)


def _raised(blocker: AtBound, role: Role) -> Role:
    one_more = blocker.value + 1
    if blocker.bound in OF_WORK:
        return role.changed(remaining=(role.status.remaining or 0) + 1)
    if blocker.bound is SizeBound.MANUAL:
        return role.changed(replicas=one_more)
    return role.changed(max=one_more)


def _without_rivals(blocker: Outranked, given: DecisionInput, key: JobKey) -> DecisionInput:
    demands = (demand for demand in given.state.demands if demand.example not in blocker.pods)
    what_if = given.changed(demands=tuple(demands))
    for job in blocker.jobs:
        what_if = what_if.with_job(job, _content)
    for name, size in blocker.roles:
        what_if = what_if.with_roles(key, partial(_at_most, size), {name})
    return what_if


def _content(job: TrainingJob) -> TrainingJob | None:
    """The job fixed at its current sizes, so that it claims nothing; None if it has not started."""
    if all(role.status.suspended for role in job.live):
        return None
    roles = (
        role.changed(replicas=role.status.size, max=max(role.spec.max, role.status.size))
        for role in job.roles
    )
    return replace(job, roles=tuple(roles))


def _at_most(size: int, role: Role) -> Role:
    return role.changed(max=min(role.spec.max, max(size, role.spec.min)))


def _with_room(
    blocker: InsufficientResources | TooLarge, given: DecisionInput, key: JobKey
) -> DecisionInput:
    """Capacity on this node, if that helps one pod or only this node is eligible; else nodes."""
    like = given.node(blocker.node)
    freed = isinstance(blocker, InsufficientResources) and not blocker.needs_nodes
    if like is None or (freed and blocker.pods == 1) or _is_pinned(given, key, blocker):
        first = blocker.missing if isinstance(blocker, InsufficientResources) else blocker.requests
        return given.with_more(blocker.node, first + blocker.requests * (blocker.pods - 1))
    return given.with_nodes(like, blocker.requests, blocker.pods)


def _with_usable_nodes(blocker: NoUsableNode, given: DecisionInput, key: JobKey) -> DecisionInput:
    role, rule = _role(given, key, blocker.role), blocker.rule.rule
    if role is None:
        return given
    labels = {label: NEW for label, _ in blocker.rule.selector}
    if rule is NodeRule.TOPOLOGY_SPREAD:
        return given.with_labels(labels)
    if rule is NodeRule.POD_AFFINITY:
        return given.with_pods_everywhere(key.namespace, role.template.shape)
    node = node_for(role.template.shape, added_name("", 0))
    usual = dict(node.labels or {}) | {domain.label: domain.value for domain in blocker.domains}
    if rule is NodeRule.POD_ANTI_AFFINITY:
        usual |= dict.fromkeys(blocker.rule.names, NEW)
    if rule is NodeRule.TOPOLOGY:  # all new nodes are in one new domain per label
        usual |= labels
    return given.with_nodes(replace(node, labels=usual), blocker.requests, blocker.pods)


def _is_pinned(
    given: DecisionInput, key: JobKey, blocker: InsufficientResources | TooLarge
) -> bool:
    """Whether a role is restricted to nodes by name, so that new nodes would not help."""
    if is_one_node(blocker.domains, blocker.node):
        return True
    role = _role(given, key, blocker.role)
    terms = role.template.shape.affinity if role else ()
    return any(rule.key == NAME_FIELD for term in terms for rule in term)


def _role(given: DecisionInput, key: JobKey, name: str) -> Role | None:
    job = given.job(key)
    return job.role(name) if job else None


def least(
    blockers: Sequence[Blocker], suffices: Callable[[Sequence[Blocker]], bool]
) -> tuple[Blocker, ...]:
    """The first of these blockers, those needed beside it, and the fewest pods that suffice.

    `suffices`: whether removing blockers is enough; true for `blockers`.
    """
    needed, before = with_sufficient_ceiling(blockers, suffices), tuple[Blocker, ...]()
    while needed != before:  # without one that is not needed, another may not be needed either
        before = needed
        for blocker in reversed(before if _is_kept(before[0]) else before[1:]):
            others = tuple(other for other in needed if other is not blocker)
            needed = others if others and suffices(others) else needed
    for place, blocker in enumerate(needed):
        if isinstance(blocker, LackOfRoom):
            needed = _fewest(partial(_with_pods, needed, place), blocker.pods, suffices)
    return needed


def _is_kept(blocker: Blocker) -> bool:
    """Whether it is capacity that a team keeps: others may have to make room as well."""
    return isinstance(blocker, QuotaExceeded) and blocker.quota.lendable


def asks_again(blockers: Sequence[Blocker], new: Sequence[Blocker]) -> bool:
    """Whether a role lacks capacity although a known blocker has already added some for it."""
    had = {blocker.role for blocker in blockers if isinstance(blocker, LackOfRoom)}
    return any(isinstance(blocker, LackOfRoom) and blocker.role in had for blocker in new)


def as_found(blockers: Sequence[Blocker], seen: Sequence[Blocker]) -> tuple[Blocker, ...]:
    """The blockers of a search that failed: more room than each first asked for has not helped.

    `seen`: the blockers found, in order. More nodes have satisfied no constraint.
    """

    def first(blocker: Blocker) -> Blocker:
        if not isinstance(blocker, LackOfRoom):
            return blocker
        alike = (
            other for other in seen if type(other) is type(blocker) and other.role == blocker.role
        )
        pods = next(alike, blocker).pods
        if isinstance(blocker, ConstraintsUnsatisfied):
            return replace(blocker, pods=pods, node="")
        return replace(blocker, pods=pods)

    return tuple(map(first, blockers))


def _with_pods(blockers: Sequence[Blocker], place: int, pods: int) -> tuple[Blocker, ...]:
    """The blockers, with one that asks for room for this many pods."""
    return (*blockers[:place], replace(blockers[place], pods=pods), *blockers[place + 1 :])


def _fewest(
    ask: Callable[[int], tuple[Blocker, ...]],
    most: int,
    suffices: Callable[[Sequence[Blocker]], bool],
) -> tuple[Blocker, ...]:
    """What to ask for with the fewest of 1 to `most` pods; usually `most` is the fewest."""
    if most == 1 or not suffices(ask(most - 1)):
        return ask(most)
    pods = range(1, most - 1)
    return ask(1 + bisect_left(pods, x=True, key=lambda count: suffices(ask(count))))


def merged(blockers: Sequence[Blocker], more: Sequence[Blocker]) -> tuple[Blocker, ...]:
    """Both lists of blockers; those of one kind about the same thing become one."""
    combined = list(blockers)
    for new in more:
        for place, old in enumerate(combined):
            if (both := _both(old, new)) is not None:
                combined[place] = both
                break
        else:
            combined.append(new)
    return tuple(combined)


def _both(old: Blocker, new: Blocker) -> Blocker | None:
    """One blocker that covers both; None if they are about different things."""
    # An equal shortage found again, after capacity was added for the first, adds to it.
    if more := _more_room(old, new):
        return more
    return old if old == new else _more_leave(old, new)


def _more_room(old: Blocker, new: Blocker) -> Blocker | None:
    if not (isinstance(old, LackOfRoom) and isinstance(new, LackOfRoom) and old.role == new.role):
        return None
    if isinstance(old, NoUsableNode) and old.rule.rule in _WITHOUT_NODES:
        return None
    if isinstance(old, NoUsableNode | TooLarge):
        alike = not isinstance(new, ConstraintsUnsatisfied)
    else:
        alike = type(old) is type(new)
    return replace(old, pods=old.pods + new.pods) if alike else None


def _more_leave(old: Blocker, new: Blocker) -> Blocker | None:
    match old, new:
        case LoadCeiling(), LoadCeiling() if old.resource == new.resource:
            return replace(old, enough=max(old.enough, new.enough))
        case QuotaExceeded(), QuotaExceeded() if _is_same(old.quota, new.quota):
            return replace(old, lacks=old.lacks + new.lacks)
        case Outranked(), Outranked() if old.rule == new.rule:
            jobs = dict.fromkeys((*old.jobs, *new.jobs))
            pods = dict.fromkeys((*old.pods, *new.pods))
            roles = dict(new.roles) | dict(old.roles)
            return replace(old, jobs=tuple(jobs), pods=tuple(pods), roles=tuple(roles.items()))
        case TimedHold(), TimedHold():
            return max(old, new, key=lambda hold: hold.until)
    return None


def _is_same(old: Quota, new: Quota) -> bool:
    """Whether both are the same quota, whose hard limit may have been raised."""
    return replace(new, hard=old.hard) == old
