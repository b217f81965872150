"""Facts about a role's last resize, read from its recorded reason."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final, TypeAlias

from edl.model import Code, JobKey, Restart, Role
from edl.model.causes.reason_subjects import (
    About,
    Attempt,
    Attempted,
    ForeignJob,
    LostPods,
    Minimum,
    Other,
    Size,
)

JobReference: TypeAlias = JobKey | str
"""A training job, by its key or by the uid of one of its Jobs."""
_PREEMPTING: Final = (Code.PREEMPTED, Code.GUARANTEE_RECLAIMED)
_YIELDING: Final = (Code.RECLAIMED, *_PREEMPTING)


def stopped_to_resize(role: Role) -> bool:
    """Whether the role is stopped and will restart at its current size."""
    return role.restart is Restart.STOPPED


def _code(role: Role) -> Code | None:
    return role.record.last.code if role.record.last else None


def _about(role: Role) -> About | None:
    return role.record.last.about if role.record.last else None


def grew(role: Role) -> bool:
    """Whether the last change was growth into idle capacity, or a start with extras; no move."""
    code = Code.IDLE_CAPACITY
    return _code(role) is code and role.record.reason in (None, code)


def removed_pending_extras(role: Role) -> bool:
    """Whether the last change removed pending extras: it asked for no pod, not even by a move."""
    return was_unschedulable(role) and role.record.reason in (None, Code.UNSCHEDULABLE)


def gang_was_unschedulable(role: Role) -> bool:
    """Whether the last start failed because kube-scheduler did not place the whole gang."""
    return _code(role) is Code.GANG_UNSCHEDULABLE and not isinstance(_about(role), LostPods)


def nodes_were_taken(role: Role) -> bool:
    """Whether the last start failed because other owners' pods took the planned nodes first."""
    return _about(role) == Attempt(Attempted.PLACEMENT)


def pods_were_not_created(role: Role) -> bool:
    """Whether the last start failed because the API server refused its pods."""
    return _about(role) == Attempt(Attempted.CREATION)


def was_unschedulable(role: Role) -> bool:
    """Whether the last resize removed unschedulable replicas, with or without a restart."""
    return _code(role) is Code.UNSCHEDULABLE


def growth_failed(key: JobKey, role: Role) -> bool:
    """Whether a restart undid growth: it was unschedulable, or took capacity of its own minimum."""
    about, code = _about(role), _code(role)
    in_its_way = isinstance(about, Minimum) and about.job == key
    undone = code is Code.GROWTH_UNSCHEDULABLE or (code is Code.RECLAIMED and in_its_way)
    return undone and role.restart is not Restart.NONE


def left_unneeded_nodes(role: Role) -> bool:
    """Whether the last change was a restart by which its extras left unneeded nodes."""
    return role.restart is not Restart.NONE and _code(role) is Code.NODE_UNNEEDED


def stopped_for_manual_size(role: Role) -> bool:
    """Whether the role is stopped to restart at a size that its user requested."""
    return stopped_to_resize(role) and _code(role) is Code.MANUAL_SIZE


def reached_part_of(wanted: int | None, role: Role) -> bool:
    """Whether the role last restarted for a part of this manual size."""
    about = _about(role)
    return _code(role) is Code.MANUAL_SIZE and isinstance(about, Size) and about.max == wanted


def was_reclaimed(role: Role) -> bool:
    """Whether the role restarted smaller because a claim needed its capacity."""
    return role.restart is Restart.STARTED and _code(role) is Code.RECLAIMED


def preempted_for(role: Role) -> JobReference | None:
    """The job for which the role's whole training job was preempted."""
    return given_to(role) if _code(role) in _PREEMPTING else None


def latest_yields(roles: Iterable[Role]) -> Mapping[JobReference, datetime]:
    """By claiming job, when one of these roles last yielded replicas, or its whole job, to it."""
    latest: dict[JobReference, datetime] = {}
    for role in roles:
        claimant = given_to(role) if _code(role) in _YIELDING else None
        for yielded_at in (role.record.resized_at, role.status.suspended_at) if claimant else ():
            if claimant and yielded_at:
                latest[claimant] = max(yielded_at, latest.get(claimant, yielded_at))
    return latest


def reclaimed_for(rebalance_code: Code, role: Role) -> JobReference | None:
    """The job for which the role restarted smaller: for its claim, or by rebalancing."""
    yielded = role.restart is Restart.STARTED and _code(role) in (Code.RECLAIMED, rebalance_code)
    return given_to(role) if yielded else None


def given_to(role: Role) -> JobReference | None:
    """The job that its last change is about."""
    match _about(role):
        case Other(job) | Minimum(job):
            return job
        case ForeignJob(uid):
            return uid
    return None


def stopped_to_grow(role: Role) -> bool:
    """Whether the role is stopped to restart with more replicas on idle capacity."""
    return stopped_to_resize(role) and grew(role)


def gave_replica(rebalance_code: Code, role: Role) -> bool:
    """Whether the role last donated a replica to rebalancing, without a restart."""
    return role.restart is Restart.NONE and _code(role) is rebalance_code
