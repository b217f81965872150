"""How often a training job is resized at most, in a sentence."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

import msgspec

from edl import contract
from edl.cooldowns import cooldown
from edl.model import Resizing
from kubectl_edl.printers.age import duration

if TYPE_CHECKING:
    from edl.model import TrainingJob

_LONGEST: Final = 3650 * 24 * 3600.0


class Pacing(msgspec.Struct, frozen=True):
    """The reconciler's cooldowns in seconds, None where they are not known."""

    growth_cooldown: float | None = None
    restart_cooldown: float | None = None


class _Settings(msgspec.Struct, frozen=True):
    limits: Pacing = Pacing()


def published(settings: str | None) -> Pacing:
    """From the annotation of the reconciler's Lease; what it does not say is not known."""
    try:
        found = msgspec.json.decode(settings or "{}", type=_Settings).limits
    except msgspec.DecodeError:
        return Pacing()
    known = (found.growth_cooldown or 0, found.restart_cooldown or 0)
    return found if all(0 <= seconds <= _LONGEST for seconds in known) else Pacing()


def pacing(job: TrainingJob, usual: Pacing) -> str:
    """`resizes at most every 60s (torchrun's default)`; empty if never, and if that is unknown."""
    ways = {role.resizing for role in job.live} - {Resizing.FIXED}
    if not ways:
        return ""
    restarts = Resizing.RESTART in ways
    seconds = usual.restart_cooldown if restarts else usual.growth_cooldown
    found = cooldown(job, timedelta(seconds=seconds or 0))
    if not found.source and seconds is None:
        return ""
    default = f"{found.source or 'the reconciler'}'s default"
    whose = found.source if found.source == contract.COOLDOWN else default
    return f"resizes at most every {duration(found.least)} ({whose})"
