"""The first thing that is in the way of a start, or of one more replica: from sentence to value."""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Final

from msgspec.structs import replace

from edl import phases, reasons
from edl.model import Code, JobKey, Reason, Role, TrainingJob
from edl.model.blockers import (
    Bound,
    Bounds,
    Cause,
    Hindrance,
    Itself,
    Others,
    Promised,
    Room,
    Until,
)
from edl.model.reason_codes import Minimum, Other, PendingPods
from edl.planner.decide import outcome
from edl.planner.explain import shortage
from edl.planner.explain.what_if_state import Situation
from edl.planner.passes.admission.gang import gang, returns
from edl.planner.passes.decision import Decision
from edl.planner.snapshot.role_allocation import MOVING, Standing, target

_KEEPING: Final = frozenset({Code.PODS_SUCCEEDED, Code.NEARLY_DONE})
Subject = tuple[JobKey, str]
"""A role of a training job."""
Read = Callable[[Decision], Reason | None]
"""What keeps it, as the plan says; None if nothing does."""


def to_start(now: Situation, found: Decision, key: JobKey) -> Sequence[Cause]:
    """What keeps a waiting training job from starting."""
    job = now.job(key)
    if job is None:
        return ()
    if itself := _itself(job):
        return [itself]
    if key in found.ledger.suspended:
        return [Itself(Hindrance.RULE, found.ledger.suspended[key])]
    reason = found.ledger.held.get(key)
    if reason and (said := _said(reason)):
        return [said]
    board = found.board
    wanted = gang(board, job, returns=returns(board, job))
    rooms = (
        () if reason and reason.code in reasons.TIMED else tuple(shortage.of_gang(board, wanted))
    )
    return rooms or [_timed(now, found, lambda later: later.ledger.held.get(key))]


def to_grow(now: Situation, found: Decision, standing: Standing) -> Sequence[Cause]:
    """What keeps a role that is started, or starts in this plan, from one more replica."""
    if itself := _itself(standing.job) or _fixed(standing):
        return [itself]
    if standing.after >= standing.cap:
        return [_bound(standing.role)]
    if reason := standing.reason or standing.held:
        key, name = standing.job.key, standing.role.name
        return [_said(reason) or _timed(now, found, lambda later: _held(later, key, name))]
    if standing.promised:
        return [Promised(found.why_no_more(standing))]
    return [_lack(found, standing)]


def _lack(found: Decision, standing: Standing) -> Cause:
    """What there is too little of for one more, or that there is enough and it is not given."""
    lack = shortage.of_growth(found.board, found.ceiling, standing)
    if not isinstance(lack, Room) or lack.missing:
        return lack
    if standing.starts:
        return Promised(reasons.MINIMUM_FIRST)
    return Itself(Hindrance.RULE, reasons.NOT_NOW)


def standing_of(found: Decision, key: JobKey, role: str) -> Standing | None:
    """A role that is started, or starts in this plan."""
    standings = (one for one in found.board.standings if one.job.key == key)
    return next((one for one in standings if one.role.name == role), None)


def _itself(job: TrainingJob) -> Itself | None:
    if job.paused:
        return Itself(Hindrance.PAUSED, reasons.PAUSED)
    if job.blocker:
        return Itself(Hindrance.PROBLEM, phases.blocked(job))
    if job.missing:
        return Itself(Hindrance.MISSING, reasons.incomplete(job.missing))
    return None


def _fixed(standing: Standing) -> Itself | None:
    role = standing.role
    if role.resizing not in MOVING:
        return Itself(Hindrance.FIXED, reasons.fixed(role))
    if standing.held and standing.held.code in _KEEPING:
        return Itself(Hindrance.NEARLY_DONE, standing.held)
    return None


def _bound(role: Role) -> Bound:
    """Which of its bounds a role has reached: the smallest."""
    manual = target(role)
    bounds = [
        (role.remaining, Bounds.ITEMS),
        (manual, Bounds.MANUAL if manual != role.max else Bounds.MAX),
        (role.max, Bounds.MAX),
    ]
    known = [(value, bound) for value, bound in bounds if value is not None]
    value, bound = min(known, key=lambda pair: pair[0])
    return Bound(role.name, bound, value)


def _said(reason: Reason) -> Cause | None:
    """What a reason of the plan stands for, where it names somebody or promises something."""
    if reasons.promises(reason):
        return Promised(reason)
    match reason.about:
        case Other(job):
            return Others(reason.code, (job,))
        case Minimum(job) if reason.code is Code.RECLAIMED:
            return Others(Code.MINIMUM_FIRST, (job,))
        case PendingPods(example, _):
            return Others(reason.code, (), (example,))
    return None


def _timed(now: Situation, found: Decision, read: Read) -> Cause:
    """A rule that time ends, with the moment; a rule of the plan where time does not."""
    known = read(found)
    wakes = sorted(set(found.board.wake))

    def past(wait: timedelta) -> bool:
        later = replace(now.state, observed_at=now.state.observed_at + wait)
        return read(outcome(later, now.policy, now.limits)) != known

    place = bisect_left(wakes, x=True, key=past)
    reason = known or reasons.NOT_NOW
    if place == len(wakes):
        return Itself(Hindrance.RULE, reason)
    return Until(reason, now.state.observed_at + wakes[place])


def _held(found: Decision, key: JobKey, role: str) -> Reason | None:
    standing = standing_of(found, key, role)
    return standing.reason or standing.held if standing else None
