"""The limit on how often a training job is resized, as a sentence and for documents."""

from datetime import timedelta
from typing import Final

import msgspec

from edl import contract
from edl.frameworks.base import Cooldown
from edl.job_state.cooldowns import cooldown
from edl.model import ResizePolicy, TrainingJob
from kubectl_edl.output.age import duration
from kubectl_edl.output.documents.shared_documents import CooldownDocument

_RECONCILER: Final = "reconciler"
_LONGEST_COOLDOWN: Final = 3650 * 24 * 3600.0


class ReconcilerCooldowns(msgspec.Struct, frozen=True):
    """The reconciler's cooldowns in seconds; None if unknown."""

    growth_cooldown: float | None = None
    restart_cooldown: float | None = None


class _Settings(msgspec.Struct, frozen=True):
    limits: ReconcilerCooldowns = ReconcilerCooldowns()


_decoder: Final = msgspec.json.Decoder(_Settings)


def published(settings: str | None) -> ReconcilerCooldowns:
    """Cooldowns from the annotation of the reconciler's Lease."""
    try:
        limits = _decoder.decode(settings or "{}").limits
    except msgspec.DecodeError:
        return ReconcilerCooldowns()
    periods = (limits.growth_cooldown or 0, limits.restart_cooldown or 0)
    is_valid = all(0 <= seconds <= _LONGEST_COOLDOWN for seconds in periods)
    return limits if is_valid else ReconcilerCooldowns()


class Pace(Cooldown, frozen=True):
    """A job's cooldown between resizes, and its source.

    `after_start`: the time from its start to its first resize; None if unknown.
    """

    after_start: timedelta | None = None


def pace(job: TrainingJob, usual: ReconcilerCooldowns) -> Pace | None:
    """The job's cooldown and its source; None if it is never resized, or if that is unknown."""
    ways = {role.spec.resizing for role in job.live} - {ResizePolicy.FIXED}
    seconds = usual.restart_cooldown if ResizePolicy.RESTART in ways else usual.growth_cooldown
    limit = cooldown(job, timedelta(seconds=seconds or 0))
    if not ways or (not limit.source and seconds is None):
        return None
    first = None if seconds is None else min(limit.least, timedelta(seconds=seconds))
    return Pace(limit.least, limit.source or _RECONCILER, limit.after_growth, first)


def text(pace: Pace | None) -> str:
    """`60s after a resize (torchrun's default), 10s after a start`; empty for None."""
    if pace is None:
        return ""
    source, by_user = pace.source, pace.source == contract.COOLDOWN
    whose = source if by_user else f"{'the ' * (source == _RECONCILER)}{source}'s default"
    first = pace.after_start or pace.least
    sooner = f", {duration(first)} after a start" if first < pace.least else ""
    again = f", {duration(pace.after_growth)} between scale-ups" if pace.after_growth else ""
    return f"{duration(pace.least)} after a resize{again} ({whose}){sooner}"


def document(pace: Pace | None) -> CooldownDocument | None:
    if pace is None:
        return None
    return {"periodSeconds": pace.least.total_seconds(), "source": pace.source}
