"""A training job's history, from the annotations of its Jobs: one entry per operation."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import lru_cache
from heapq import merge
from operator import attrgetter
from typing import Final, NamedTuple

from msgspec import structs

from edl import reasons
from edl.annotations.job_history import HistoryEntry, Operation, OperationPhase, entries
from edl.job_state.phases import ending, phase
from edl.kube.state.clock_skew import AHEAD
from edl.messages import message
from edl.model import Code, JobEnd, Phase, Role, TrainingJob
from kubectl_edl.output.documents.shared_documents import RoleChangeDocument

_PHASES: Final[Mapping[Operation, OperationPhase]] = {
    Operation.STARTED: OperationPhase.RUNNING,
    Operation.RESTARTED: OperationPhase.RUNNING,
    Operation.RESUMED: OperationPhase.RUNNING,
    Operation.SCALED_UP: OperationPhase.SCALE_SUCCEEDED,
    Operation.SCALED_DOWN: OperationPhase.SCALE_SUCCEEDED,
    Operation.REMOVED: OperationPhase.SCALE_SUCCEEDED,
    Operation.FAILED: OperationPhase.SCALE_FAILED,
    Operation.SUSPENDED: OperationPhase.SUSPENDED,
}
_RESIZES: Final = frozenset({Operation.SCALED_UP, Operation.SCALED_DOWN, Operation.REMOVED})
_STARTS: Final = frozenset({Operation.STARTED, Operation.RESTARTED, Operation.RESUMED})
_GIVEN_BACK: Final = frozenset({Operation.SCALED_DOWN, Operation.FAILED})
_TOGETHER: Final = timedelta(seconds=30)
_ENDINGS: Final = {
    JobEnd.COMPLETE: OperationPhase.SUCCEEDED,
    JobEnd.FAILED: OperationPhase.FAILED,
}


_Kind = tuple[Operation, OperationPhase, Code | None]

cached_entries: Final = lru_cache(maxsize=4096)(entries)
"""Cached, because a watch parses the same histories repeatedly."""


class _RoleEntry(NamedTuple):
    """One role's entry, with its phase."""

    entry: HistoryEntry
    phase: OperationPhase
    role: str
    created_at: datetime | None
    """When the role's Job was created; an earlier operation is not its own."""

    @property
    def at(self) -> datetime:
        return self.entry.at

    @property
    def kind(self) -> _Kind:
        return self.entry.operation, self.phase, self.entry.code

    def joins(self, group: "Sequence[_RoleEntry]") -> bool:
        """Whether it belongs to the operation of these roles."""
        first, roles = group[0].at, {other.role for other in group}
        recreated = self.created_at is not None and first < self.created_at <= self.at
        return self.at - first <= _TOGETHER and self.role not in roles and not recreated


class ReplicasChange(NamedTuple):
    role: str
    before: int
    after: int

    @property
    def document(self) -> RoleChangeDocument:
        return {"name": self.role, "oldReplicas": self.before, "newReplicas": self.after}


@dataclass(frozen=True, slots=True)
class PastOperation:
    """One operation of one or several roles at once."""

    at: datetime
    operation: Operation
    phase: OperationPhase
    sizes: tuple[ReplicasChange, ...]
    code: Code | None
    message: str

    @property
    def text(self) -> str:
        """`chief=1,worker=2`, or `worker=2→4` for a change."""
        return ",".join(
            f"{role}={after}" if before == after else f"{role}={before}→{after}"
            for role, before, after in self.sizes
        )


def past(job: TrainingJob) -> tuple[PastOperation, ...]:
    """The operations, oldest first; one that is not finished has the phase of the job."""
    role_entries = merge(*map(_role_entries, job.roles), key=attrgetter("at"))
    groups = _together(role_entries)
    merged = [
        _merged(sorted(group, key=lambda entry: job.role_names.index(entry.role)))
        for group in groups
    ]
    return (*_current(job, merged), *_end(job))


def forgotten(job: TrainingJob) -> tuple[str, ...]:
    """Roles whose Job was deleted, and its history with it; it may exist again."""
    began = {role.name: _first_time(role) for role in job.roles}
    first = min(filter(None, began.values()), default=None)
    if first is None:
        return ()
    since = first + AHEAD  # the Jobs of a start whose clock was behind are not later ones
    again = (
        role.name
        for role in job.roles
        if role.created_at and since < role.created_at <= (began[role.name] or role.created_at)
    )
    return (*job.missing, *again)


def _first_time(role: Role) -> datetime | None:
    return next((entry.at for entry in cached_entries(role.record.history)), None)


def _role_entries(role: Role) -> Iterator[_RoleEntry]:
    history = cached_entries(role.record.history)
    for before, entry, later in zip((None, *history), history, (*history[1:], None), strict=False):
        if entry.operation is not Operation.ENDED:
            phase, reached = _phase(entry, later), _from_reached(entry, before)
            yield _RoleEntry(reached, phase, role.name, role.created_at)


def _from_reached(entry: HistoryEntry, before: HistoryEntry | None) -> HistoryEntry:
    """A revert at the deadline, from the size that the role had, not from the requested one."""
    reverted = entry.operation is Operation.FAILED and entry.code in (Code.SCALE_FAILED, None)
    if before is None or not reverted:
        return entry
    return structs.replace(entry, before=before.after)


def _together(entries: Iterable[_RoleEntry]) -> list[list[_RoleEntry]]:
    """Group entries of roles that started together, for one reason and within `_TOGETHER`."""
    groups: list[list[_RoleEntry]] = []
    last: dict[_Kind, list[_RoleEntry]] = {}
    for entry in entries:
        group = last.get(entry.kind)
        if group and entry.joins(group):
            group.append(entry)
        else:
            last[entry.kind] = [entry]
            groups.append(last[entry.kind])
    return groups


def _phase(entry: HistoryEntry, later: HistoryEntry | None) -> OperationPhase:
    """The phase; a scale-up that the role's next entry reverts has failed."""
    taken_back = later is not None and later.operation is Operation.FAILED
    if entry.operation is Operation.SCALED_UP and taken_back:
        return OperationPhase.SCALE_FAILED
    return _PHASES[entry.operation]


def _merged(group: Sequence[_RoleEntry]) -> PastOperation:
    entry = group[0].entry
    sizes = tuple(ReplicasChange(part.role, part.entry.before, part.entry.after) for part in group)
    return PastOperation(
        entry.at, entry.operation, group[0].phase, sizes, entry.code, entry.message
    )


def _current(job: TrainingJob, operations: list[PastOperation]) -> list[PastOperation]:
    """Mark the last operation, or a start followed only by scale-downs, as still in progress."""
    now = phase(job)
    if not operations:
        return operations
    if now is Phase.SCALING and operations[-1].operation in _RESIZES | {Operation.RESTARTED}:
        return [*operations[:-1], replace(operations[-1], phase=OperationPhase.SCALING)]
    last = len(operations) - 1
    while last and operations[last].operation in _GIVEN_BACK:
        last -= 1
    if now is Phase.STARTING and operations[last].operation in _STARTS:
        operations[last] = replace(operations[last], phase=OperationPhase.STARTING)
    return operations


def _end(job: TrainingJob) -> Iterable[PastOperation]:
    """The job's end, from its Jobs' status, because the history annotation does not store it."""
    end = ending(job)
    times = [
        role.status.end_condition.since
        for role in job.roles
        if role.status.end_condition and role.status.ending is end
    ]
    if end is None or not times:
        return
    sizes = tuple(
        ReplicasChange(role.name, role.status.size, role.status.size)
        for role in job.roles
        if role.status.size
    )
    why = reasons.ended(job, end)
    yield PastOperation(min(times), Operation.ENDED, _ENDINGS[end], sizes, why.code, message(why))
