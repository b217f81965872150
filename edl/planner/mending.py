"""Several causes together: what they say as one, and how it would be without all of them."""

from collections.abc import Sequence

from msgspec.structs import replace

from edl.model import JobKey
from edl.planner.causes import Cause, Others, Until
from edl.planner.lacks import Kept, LoadCeiling, NoNode, Room, Spent, TooLarge
from edl.planner.situation import Situation


def mended(situation: Situation, key: JobKey, causes: Sequence[Cause]) -> Situation:
    """As it would be if none of these were in the way."""
    for cause in causes:
        situation = cause.mended(situation, key)
    return situation


def joined(causes: Sequence[Cause], more: Sequence[Cause]) -> tuple[Cause, ...]:
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


def _both(old: Cause, new: Cause) -> Cause | None:
    """What says as much as the two, None where they are about different things."""
    # Room that was put right and is lacking again, in the same words, went elsewhere: one more.
    if more := _more_room(old, new):
        return more
    return old if old == new else _more_leave(old, new)


def _more_room(old: Cause, new: Cause) -> Cause | None:
    match old, new:
        case Room(), Room() if old.role == new.role:
            fitting = old.fitting - new.pods
            return replace(
                old, wanted=max(old.wanted, old.wanted - fitting), fitting=max(fitting, 0)
            )
        case Kept(), Kept() if old.role == new.role:
            return replace(old, pods=old.pods + new.pods)
        case NoNode() | TooLarge(), Room() | NoNode() | TooLarge() if old.role == new.role:
            return replace(old, pods=old.pods + new.pods)
    return None


def _more_leave(old: Cause, new: Cause) -> Cause | None:
    match old, new:
        case LoadCeiling(), LoadCeiling() if old.resource == new.resource:
            return replace(old, enough=max(old.enough, new.enough))
        case Spent(), Spent() if old.budget.source == new.budget.source:
            return replace(old, lacks=old.lacks + new.lacks)
        case Others(), Others() if old.rule == new.rule:
            jobs = dict.fromkeys((*old.jobs, *new.jobs))
            pods = dict.fromkeys((*old.pods, *new.pods))
            roles = dict(new.roles) | dict(old.roles)
            return replace(old, jobs=tuple(jobs), pods=tuple(pods), roles=tuple(roles.items()))
        case Until(), Until():
            return max(old, new, key=lambda one: one.until)
    return None
