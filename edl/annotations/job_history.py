"""The history of a training job, kept on its Jobs: Events expire after an hour.

An operation is one line of an annotation. The patch that performs the operation also writes the
line, so it needs no write of its own and is never lost or recorded twice.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

import msgspec

from edl.annotations.role_record import recorded
from edl.model import Code, Role
from edl.model.causes.reason_codes import code_of
from edl.parsing.yaml_values import timestamp, whole

MAX_LINES: Final = 50
LONGEST: Final = 4096
"""Characters of a Job's whole history; the oldest entries are dropped first."""
_LONGEST_MESSAGE: Final = 200


class Operation(StrEnum):
    """The kind of an operation on a role, in the words of an Event's `action`."""

    STARTED = "Started"
    RESTARTED = "Restarted"
    RESUMED = "Resumed"
    """Started again, after a pause or after a return to the queue."""
    SCALED_UP = "ScaledUp"
    SCALED_DOWN = "ScaledDown"
    REMOVED = "PodsRemoved"
    """Pods were removed by name."""
    FAILED = "ScaleFailed"
    """A scale-up that was not ready in time and was reverted, or whose pods never ran."""
    SUSPENDED = "Suspended"
    ENDED = "Ended"


_OPERATIONS: Final[Mapping[str, Operation]] = {one.value: one for one in Operation}


class OperationPhase(StrEnum):
    """The phase of an operation, in et-operator's words."""

    STARTING = "Starting"
    RUNNING = "Running"
    SCALING = "Scaling"
    SCALE_SUCCEEDED = "ScaleSucceeded"
    SCALE_FAILED = "ScaleFailed"
    SUSPENDED = "Suspended"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"


class HistoryEntry(msgspec.Struct, frozen=True):
    """One operation: the role's size before and after it, and why.

    `code` is None in a line that an unknown release wrote.
    """

    at: datetime
    operation: Operation
    before: int
    after: int
    code: Code | None
    message: str


def annotation(role: Role, entries: Sequence[HistoryEntry]) -> dict[str, str | None]:
    """The annotation with the role's history and these new entries; empty without new entries."""
    if not entries:
        return {}
    lines = [*role.record.history.splitlines(), *map(_line, entries)][-MAX_LINES:]
    while len(lines) > 1 and sum(len(line) + 1 for line in lines) > LONGEST:
        del lines[0]
    return recorded(history="\n".join(lines))


def entries(history: str) -> tuple[HistoryEntry, ...]:
    """The entries of a history, the oldest first. Invalid lines are left out."""
    parsed = (_entry(line) for line in history.splitlines())
    return tuple(entry for entry in parsed if entry)


def _line(entry: HistoryEntry) -> str:
    message = " ".join(entry.message.split())
    if len(message) > _LONGEST_MESSAGE:
        message = message[: _LONGEST_MESSAGE - 1] + "…"
    # Milliseconds keep the order of operations on different roles within one second.
    time = entry.at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    code = f" {entry.code}" if entry.code else ""
    return f"{time} {entry.operation} {entry.before} {entry.after}{code} {message}".rstrip()


def _entry(line: str) -> HistoryEntry | None:
    time, operation, before, after, rest = [*line.split(" ", 4), *[""] * 5][:5]
    word, _, message = rest.partition(" ")
    code = code_of(word)
    shown_message = message if code else rest
    moment, old, new = timestamp(time), whole(before), whole(after)
    kind = _OPERATIONS.get(operation)
    if moment is None or kind is None or old is None or new is None:
        return None
    return HistoryEntry(moment, kind, old, new, code, shown_message)
