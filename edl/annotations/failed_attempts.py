"""Failed attempts of a training job, kept in annotations, and the back-off after each.

The back-off doubles with each failure. Other clients may write the annotation, so its values are
bounded.
"""

from datetime import datetime, timedelta
from typing import Final, TypeVar

import msgspec
from msgspec.structs import replace

from edl.annotations.json_text import read_json
from edl.backoff import Backoff
from edl.model import FailedAttempt, WriteRefusal
from edl.model.causes.reason_subjects import Usage
from edl.model.quotas import MAX_EXCEEDED_RESOURCES, Excess

MAX_ATTEMPTS: Final = 10**6
"""The largest count of attempts that is accepted."""
_LONGEST: Final = 65_536
"""Characters of refused writes that are read; longer annotations are invalid."""
_LONGEST_NAME: Final = 512
"""Characters of a quota's source or resource: `requests.`, a domain of 253, and a name of 63."""
MAX_MESSAGE_CHARACTERS: Final = 1024
"""Characters of a quoted message that are kept: as many as an Event holds."""
_failures: Final = msgspec.json.Decoder(FailedAttempt)
_refusals: Final = msgspec.json.Decoder(tuple[WriteRefusal, ...])
_Attempt = TypeVar("_Attempt", bound=FailedAttempt)


WRITES: Final = Backoff(timedelta(seconds=1), timedelta(minutes=1))
"""A quota on Services, an admission webhook or a missing permission that refuses one job's start or
new size says nothing about other jobs. Plans therefore leave out the start, or keep the size, until
a dry run of these writes succeeds."""
NODES: Final = Backoff(timedelta(minutes=1), timedelta(minutes=30))
"""As Kueue does with ProvisioningRequests (backoffBaseSeconds 60, backoffMaxSeconds 1800)."""


def failed(before: FailedAttempt | None, message: str, now: datetime) -> FailedAttempt:
    """One more failure, after those that `before` counts."""
    return FailedAttempt(now, before.attempts + 1 if before else 1, quoted(message))


def quoted(message: str) -> str:
    """A foreign message on one line, cut to `MAX_MESSAGE_CHARACTERS` characters."""
    shown = (char if char.isprintable() else " " for char in message[: 4 * MAX_MESSAGE_CHARACTERS])
    line = " ".join("".join(shown).split())
    return line if len(line) <= MAX_MESSAGE_CHARACTERS else f"{line[: MAX_MESSAGE_CHARACTERS - 1]}…"


def read_failure(annotation: str) -> FailedAttempt | None:
    """The failed request for nodes in an annotation; None if it is missing or invalid."""
    failure = read_json(annotation, _failures)
    return _checked(failure) if failure else None


def read_refusals(annotation: str) -> tuple[WriteRefusal, ...] | None:
    """The refused writes in an annotation, one of each kind; None if missing, empty if invalid."""
    if not annotation:
        return None
    read = read_json(annotation, _refusals) if len(annotation) <= _LONGEST else None
    refusals = {one.kind: _bounded(checked) for one in read or () if (checked := _checked(one))}
    return tuple(refusals.values()) if read and len(refusals) == len(read) else ()


def _bounded(entry: WriteRefusal) -> WriteRefusal:
    """The refusal, without a quota that Kubernetes does not have."""
    return entry if entry.usage is None or _is_valid(entry.usage) else replace(entry, usage=None)


def _is_valid(usage: Usage) -> bool:
    places = {(excess.budget.namespace, excess.budget.source) for excess in (usage, *usage.more)}
    few = len(usage.more) < MAX_EXCEEDED_RESOURCES and len(places) == 1
    return few and all(map(_has_names_and_amounts, (usage, *usage.more)))


def _has_names_and_amounts(excess: Excess) -> bool:
    names = (excess.budget.namespace, excess.budget.source, excess.budget.resource)
    named = all(0 < len(name) <= _LONGEST_NAME and quoted(name) == name for name in names)
    return named and excess.needs > 0 and min(excess.budget.hard, excess.used) >= 0


def _checked(attempt: _Attempt) -> _Attempt | None:
    if not attempt.at.tzinfo or not 0 < attempt.attempts <= MAX_ATTEMPTS:
        return None
    return replace(attempt, message=quoted(attempt.message))
