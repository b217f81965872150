"""Why a training job waits, as one of few words: metrics may not grow with what sentences say."""

from enum import StrEnum
from typing import Final

from edl.model import TrainingJob
from edl.planner import reasons
from edl.planner.plan import Held


class Cause(StrEnum):
    """What a job waits for; the sentence is in `kubectl edl status` and `explain`."""

    PAUSED = "paused"
    INCOMPLETE = "incomplete"
    PROBLEM = "problem"
    ROOM = "room"
    BUDGET = "budget"
    CEILING = "ceiling"
    TURN = "turn"
    TIME = "time"
    OTHER = "other"


_BEGINNINGS: Final[tuple[tuple[str, Cause], ...]] = (
    (reasons.PAUSED, Cause.PAUSED),
    ("waiting for role", Cause.INCOMPLETE),
    ("short of", Cause.ROOM),
    ("no node", Cause.ROOM),
    ("too large for the room", Cause.ROOM),
    ("it does not tolerate", Cause.ROOM),
    (reasons.STAYED_PENDING, Cause.ROOM),
    (reasons.GANG_PENDING, Cause.ROOM),
    (reasons.MINIMUM_PENDING, Cause.ROOM),
    ("load ceiling", Cause.CEILING),
    (reasons.MAKES_ROOM, Cause.TURN),
    (reasons.PLACED_FIRST, Cause.TURN),
    (reasons.PREVIOUS_PODS, Cause.TURN),
    (reasons.MOVING, Cause.TURN),
    (reasons.MINIMUM_FIRST, Cause.TURN),
    (reasons.NOT_NOW, Cause.TURN),
    ("grows when nothing was", Cause.TIME),
    *((reason, Cause.TIME) for reason in sorted(reasons.TIMED)),
    (reasons.REPLICAS_MISSING, Cause.TIME),
    (reasons.NEARLY_DONE, Cause.TIME),
    (reasons.LEFT_ALONE, Cause.TIME),
)
_ENDINGS: Final[tuple[tuple[str, Cause], ...]] = (
    ("has waited longest and starts first", Cause.TURN),
    ("for room that leaving pods will free", Cause.TURN),
)
_ALLOWS: Final = " allows "
"""In the middle of what every budget says (`str` of a Budget), and of nothing else."""


def cause(held: Held, job: TrainingJob | None) -> Cause:
    """The word for a held job; `job` is None when it went meanwhile."""
    if job is not None and job.blocker:
        return Cause.PROBLEM
    return of_reason(held.reason)


def of_reason(reason: str) -> Cause:
    """The word for a sentence of the planner."""
    for beginning, word in _BEGINNINGS:
        if reason.startswith(beginning):
            return word
    for ending, word in _ENDINGS:
        if reason.endswith(ending):
            return word
    return Cause.BUDGET if _ALLOWS in reason else Cause.OTHER
