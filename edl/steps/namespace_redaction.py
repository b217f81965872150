"""Replaces names of other namespaces' jobs and pods in reasons, before these are written.

Users of a namespace can read the annotations, histories and Events of its Jobs, so a reason names
only the other job's team. Later decisions identify the subject of a reason by the uid of one of its
Jobs.
"""

from collections.abc import Iterable
from typing import TypeVar

from msgspec.structs import replace

from edl.messages.foreign_names import NameRedaction
from edl.model import ClusterState
from edl.planner.plan import Admission, Drain, Plan, Resize, Suspension, WaitingJob

_Entry = TypeVar("_Entry", Admission, Drain, WaitingJob, Resize, Suspension)


def without_foreign_names(plan: Plan, state: ClusterState) -> Plan:
    """The plan, with only those reasons changed that name jobs or pods of another namespace."""
    uids = {job.key: job.roles[0].uid for job in state.jobs if job.roles}

    def redacted(entries: Iterable[_Entry]) -> tuple[_Entry, ...]:
        return tuple(map(entry_without, entries))

    def entry_without(entry: _Entry) -> _Entry:
        names = NameRedaction(entry.job.namespace, state.team_of, uids)
        reason = names.allowed(entry.reason)
        return entry if reason is entry.reason else replace(entry, reason=reason)

    return replace(
        plan,
        admissions=redacted(plan.admissions),
        resizes=redacted(plan.resizes),
        suspensions=redacted(plan.suspensions),
        drains=redacted(plan.drains),
        waiting=redacted(plan.waiting),
    )
