"""Causes put right, so that an explanation can be tried; and several of them said as one."""

from collections.abc import Sequence
from functools import partial, singledispatch

from msgspec.structs import replace

from edl.feasibility.eligibility import NAME_FIELD
from edl.model import JobKey, Quota, Role, TrainingJob
from edl.model.blockers import (
    AtBound,
    Blocker,
    ConstraintsUnsatisfied,
    InsufficientResources,
    JobCondition,
    LoadCeiling,
    NoUsableNode,
    Outranked,
    OwnCondition,
    QuotaExceeded,
    SizeBound,
    TimedHold,
    TooLarge,
)
from edl.model.scarcity import NodeRule
from edl.model.topology_domains import is_one_node
from edl.planner.explain.what_if_state import DecisionInput, node_for

_MENDABLE = frozenset({JobCondition.PAUSED, JobCondition.PROBLEM, JobCondition.MISSING})


def without_blockers(
    situation: DecisionInput, key: JobKey, causes: Sequence[Blocker]
) -> DecisionInput:
    """As it would be if none of these were in the way of this training job."""
    for cause in causes:
        situation = _mended(cause, situation, key)
    return situation


@singledispatch
def _mended(_cause: Blocker, situation: DecisionInput, _key: JobKey) -> DecisionInput:
    """Without one cause. The same situation where nothing can be put right."""
    return situation


@_mended.register
def _(cause: AtBound, situation: DecisionInput, key: JobKey) -> DecisionInput:
    def raised(role: Role) -> Role:
        one_more = cause.value + 1
        if cause.bound is SizeBound.ITEMS:
            return replace(role, remaining=(role.remaining or 0) + 1)
        if cause.bound is SizeBound.MANUAL:
            return replace(role, wanted=one_more)
        return replace(role, max=one_more)

    return situation.with_role(key, cause.role, raised)


@_mended.register
def _(cause: TimedHold, situation: DecisionInput, _key: JobKey) -> DecisionInput:
    later = max(cause.until, situation.state.observed_at)
    return replace(situation, state=replace(situation.state, observed_at=later))


@_mended.register
def _(cause: Outranked, situation: DecisionInput, key: JobKey) -> DecisionInput:
    found = situation.without_demands(frozenset(cause.pods))
    for job in cause.jobs:
        found = found.with_job(job, _content)
    for name, size in cause.roles:
        found = found.with_role(key, name, partial(_at_most, size))
    return found


def _content(job: TrainingJob) -> TrainingJob | None:
    """A training job that asks for nothing: it keeps what it has; gone if it has nothing."""
    if all(role.suspended for role in job.live):
        return None
    kept = (replace(role, wanted=role.size, max=max(role.max, role.size)) for role in job.roles)
    return replace(job, roles=tuple(kept))


def _at_most(size: int, role: Role) -> Role:
    return replace(role, max=min(role.max, max(size, role.min)))


@_mended.register
def _(cause: OwnCondition, situation: DecisionInput, key: JobKey) -> DecisionInput:
    def right(job: TrainingJob) -> TrainingJob:
        return replace(job, paused=False, problem="", refusal=None, missing=())

    return situation.with_job(key, right) if cause.what in _MENDABLE else situation


@_mended.register
def _(cause: InsufficientResources, situation: DecisionInput, key: JobKey) -> DecisionInput:
    like = situation.node(cause.node)
    if like is None or cause.pods == 1 or _is_pinned(situation, key, cause):
        more = cause.missing + cause.requests * (cause.pods - 1)
        return situation.with_more(cause.node, more)
    return situation.with_nodes(like, cause.requests, cause.pods)


@_mended.register
def _(cause: TooLarge, situation: DecisionInput, key: JobKey) -> DecisionInput:
    like = situation.node(cause.node)
    if like is None or _is_pinned(situation, key, cause):
        return situation.with_more(cause.node, cause.requests * cause.pods)
    return situation.with_nodes(like, cause.requests, cause.pods)


@_mended.register
def _(cause: NoUsableNode, situation: DecisionInput, key: JobKey) -> DecisionInput:
    role = _role(situation, key, cause.role)
    if role is None:
        return situation
    node = node_for(role.shape, "node")
    labels = dict(node.labels or {}) | {one.label: one.value for one in cause.domains}
    if cause.rule.rule is NodeRule.TOPOLOGY:  # all of them in one new domain of each label
        labels |= {label: "new" for label, _ in cause.rule.selector}
    return situation.with_nodes(replace(node, labels=labels), cause.requests, cause.pods)


@_mended.register
def _(cause: ConstraintsUnsatisfied, situation: DecisionInput, _key: JobKey) -> DecisionInput:
    like = situation.node(cause.node)
    return situation.with_nodes(like, cause.requests, cause.pods) if like else situation


@_mended.register
def _(cause: LoadCeiling, situation: DecisionInput, _key: JobKey) -> DecisionInput:
    enough = max(cause.enough, situation.limits.load_ceiling)
    return situation.with_limits(replace(situation.limits, load_ceiling=enough))


@_mended.register
def _(cause: QuotaExceeded, situation: DecisionInput, _key: JobKey) -> DecisionInput:
    return situation.with_quota(cause.quota, cause.lacks)


def _is_pinned(
    situation: DecisionInput, key: JobKey, cause: InsufficientResources | TooLarge
) -> bool:
    """Whether a role is kept to nodes by their names: no other would do."""
    if is_one_node(cause.domains, cause.node):
        return True
    role = _role(situation, key, cause.role)
    terms = role.shape.affinity if role else ()
    return any(rule.key == NAME_FIELD for term in terms for rule in term)


def _role(situation: DecisionInput, key: JobKey, name: str) -> Role | None:
    job = situation.job(key)
    return next((role for role in job.roles if role.name == name), None) if job else None


def merged(causes: Sequence[Blocker], more: Sequence[Blocker]) -> tuple[Blocker, ...]:
    """These and those, one of each kind for the same thing."""
    found = list(causes)
    for new in more:
        for place, old in enumerate(found):
            if (both := _both(old, new)) is not None:
                found[place] = both
                break
        else:
            found.append(new)
    return tuple(found)


def _both(old: Blocker, new: Blocker) -> Blocker | None:
    """What says as much as the two, None where they are about different things."""
    # Room that was put right and is lacking again, in the same words, went elsewhere: one more.
    if more := _more_room(old, new):
        return more
    return old if old == new else _more_leave(old, new)


def _more_room(old: Blocker, new: Blocker) -> Blocker | None:
    match old, new:
        case InsufficientResources(), InsufficientResources() if old.role == new.role:
            fitting = old.fitting - new.pods
            return replace(
                old, wanted=max(old.wanted, old.wanted - fitting), fitting=max(fitting, 0)
            )
        case ConstraintsUnsatisfied(), ConstraintsUnsatisfied() if old.role == new.role:
            return replace(old, pods=old.pods + new.pods)
        case NoUsableNode() | TooLarge(), InsufficientResources() | NoUsableNode() | TooLarge() if (
            old.role == new.role
        ):
            return replace(old, pods=old.pods + new.pods)
    return None


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
            return max(old, new, key=lambda one: one.until)
    return None


def _is_same(old: Quota, new: Quota) -> bool:
    """Whether both limit one resource of one source; what was put right has another limit."""
    return replace(new, hard=old.hard) == old
