"""The result of `decide`: what to do, and a reason for each job that waits."""

from datetime import datetime, timedelta

import msgspec

from edl.model import JobKey, Reason


class Admission(msgspec.Struct, frozen=True):
    """Start these roles of a queued training job, all in this plan, at these sizes."""

    job: JobKey
    sizes: tuple[tuple[str, int], ...]
    """(role, replicas) of each role that is to be started."""
    reason: Reason
    grown: tuple[Reason, ...] = ()
    """The reasons of roles that start above their minimum."""
    nodes: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """(role, nodes) of gated roles: the node of each replica, in the order of their indexes."""


class Resize(msgspec.Struct, frozen=True):
    """Move one role from `before` to `after` replicas.

    `restart`: by suspending the whole training job, which the next plans start again.
    """

    job: JobKey
    role: str
    before: int
    after: int
    reason: Reason
    restart: bool = False
    nodes: tuple[str, ...] = ()
    """The nodes of the new replicas of a gated role, in the order of their indexes."""


class Suspension(msgspec.Struct, frozen=True):
    """Take a started training job off the nodes, back into the queue (or to rest, if paused)."""

    job: JobKey
    reason: Reason


class Drain(msgspec.Struct, frozen=True):
    """Pods of one role that leave their nodes; the Job makes their indexes again elsewhere."""

    job: JobKey
    role: str
    pods: tuple[str, ...]
    reason: Reason
    cleared_nodes: tuple[str, ...] = ()
    """The nodes that they are moved off for a pod that may use few nodes."""


class NodeAssignment(msgspec.Struct, frozen=True):
    """The nodes of pods that wait behind the gate `edl.dev/placement`, all of one role."""

    job: JobKey
    role: str
    nodes: tuple[tuple[str, str], ...]
    """(pod, node); "" where kube-scheduler binds the pod once an autoscaler has made a node."""
    replaced_pods: tuple[str, ...] = ()
    """Pods that were given a node and cannot be bound to it: they are ended, and made again."""


class RequestClass(msgspec.Struct, frozen=True):
    """What a ProvisioningRequest says besides its pods."""

    name: str
    parameters: tuple[tuple[str, str], ...] = ()
    """Sorted by name."""


class ProvisioningRequest(msgspec.Struct, frozen=True):
    """The pods of which a queued training job asks nodes for, by role."""

    job: JobKey
    pods: tuple[tuple[str, int], ...]
    """(role, pods), with those that are there already. A role that is not named has none."""
    image: str = ""
    timeout: timedelta = timedelta(minutes=10)
    """Within which nodes are to come."""
    by_request: RequestClass | None = None
    """It asks by one ProvisioningRequest of this class; None: by provisional pods."""


class Held(msgspec.Struct, frozen=True):
    """A training job that gets less than it could use, and why.

    `position` counts from 1 in the queue and is 0 for a running job that may not grow, and where
    `never`. `reason` carries no clock readings: the same situation always has the same.
    """

    job: JobKey
    reason: Reason
    position: int = 0
    ahead: tuple[JobKey, ...] = ()
    """The first of those who come before it in the queue, at most eight."""
    until: datetime | None = None
    """The end of a cooldown or back-off, where `reason` is one."""
    never: bool = False
    """It is queued and cannot start, whichever job ends: no job waits behind it."""


class Plan(msgspec.Struct, frozen=True):
    """One decision about the whole cluster. `recheck_after`: when time alone may change it."""

    admissions: tuple[Admission, ...] = ()
    resizes: tuple[Resize, ...] = ()
    suspensions: tuple[Suspension, ...] = ()
    held: tuple[Held, ...] = ()
    recheck_after: timedelta | None = None
    drains: tuple[Drain, ...] = ()
    node_assignments: tuple[NodeAssignment, ...] = ()
    requests: tuple[ProvisioningRequest, ...] = ()
    """All that ask for nodes: what is there of jobs that are not named goes."""
    unprovisioned: tuple[JobKey, ...] = ()
    """Jobs whose nodes were not provisioned in time."""
    unneeded: tuple[str, ...] = ()
    """Nodes that an autoscaler could remove, if replicas above the minimum left them."""
