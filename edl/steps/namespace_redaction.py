"""Replaces names of other namespaces' jobs and pods in reasons, before these are written.

Users of a namespace can read the annotations, histories and Events of its Jobs, so a reason names
only the other job's team. Later decisions identify the subject of a reason by the uid of one of its
Jobs.
"""

from collections.abc import Iterable, Mapping
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from edl import reasons
from edl.messages.foreign_names import NameRedaction
from edl.model import ClusterState, JobKey, Reason
from edl.model.causes.reason_subjects import Minimum, Other
from edl.planner.plan import Admission, Drain, Held, Plan, Resize, Suspension

_Entry = TypeVar("_Entry", Admission, Drain, Held, Resize, Suspension)


def without_foreign_names(plan: Plan, state: ClusterState) -> Plan:
    """The plan, with only those reasons changed that name jobs or pods of another namespace."""
    names = _Names(state, {job.key: job.roles[0].uid for job in state.jobs if job.roles})
    return replace(
        plan,
        admissions=names.redacted(plan.admissions),
        resizes=names.redacted(plan.resizes),
        suspensions=names.redacted(plan.suspensions),
        drains=names.redacted(plan.drains),
        held=names.redacted(plan.held),
    )


class _Names(msgspec.Struct, frozen=True):
    """Looks up the teams of jobs. `uids`: the uid of one Job of each training job."""

    state: ClusterState
    uids: Mapping[JobKey, str]

    def redacted(self, entries: Iterable[_Entry]) -> tuple[_Entry, ...]:
        return tuple(self._entry(entry) for entry in entries)

    def _entry(self, entry: _Entry) -> _Entry:
        reason = self._reason(entry.reason, entry.job.namespace)
        return entry if reason is entry.reason else replace(entry, reason=reason)

    def _reason(self, reason: Reason, namespace: str) -> Reason:
        match reason.about:
            case None:
                return reason
            case Other(job) | Minimum(job) if job.namespace != namespace:
                team = self.state.team_of(job.namespace)
                return reasons.of_foreign_job(reason, self.uids.get(job, ""), team)
        about = NameRedaction(namespace, self.state.team_of).allowed(reason.about)
        return reason if about is reason.about else replace(reason, about=about)
