"""The pods of training jobs."""

from datetime import datetime
from enum import StrEnum

import msgspec

from edl import contract
from edl.model.reason_codes import Reason


class PodPhase(StrEnum):
    """Kubernetes' pod phases."""

    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    UNKNOWN = "Unknown"


class Leaving(msgspec.Struct, frozen=True):
    """Workers that were taken off a launcher's host list, and end a few seconds later."""

    pods: frozenset[str]
    """By name: a pod that replaces one of them stays."""
    size: int
    """Of their role, when they have left."""
    reason: Reason
    since: datetime | None = None
    """When the list was written; on the pod that is `published_at`."""


class Pod(msgspec.Struct, frozen=True):
    """A pod of a training job. `node` is empty until it is bound; `index` is -1 without ranks."""

    name: str
    index: int
    node: str
    phase: PodPhase
    ready: bool
    terminating: bool
    gates: tuple[str, ...]
    """Its scheduling gates: with any, the scheduler does not look at it."""
    created_at: datetime
    version: str
    hosts: str | None = None
    """The host list that was published to this pod (a launcher), None before the first."""
    leaving: Leaving | None = None
    """The pods that were taken off that list."""
    published_at: datetime | None = None
    confirmed_at: datetime | None = None
    """The publication of which its kubelet was reminded."""
    ready_since: datetime | None = None
    """None while it is not ready."""
    restarted_at: datetime | None = None
    """When one of its containers was last started again in place."""
    finalizers: tuple[str, ...] = ()
    assigned: str = ""
    """The node that a plan has given it, empty before."""
    placed_at: datetime | None = None
    """When it was given that node."""
    node_affinity: str = "[]"
    """Its users' own as text (`edl.node_affinity.kept`), while it waits for a node of the plan."""
    devices: tuple[str, ...] = ()
    """The GPUs of which KubeShare gave it a share."""

    @property
    def gated(self) -> bool:
        return bool(self.gates)

    @property
    def unplaced(self) -> bool:
        """Whether it waits for a node of the plan."""
        return contract.PLACEMENT_GATE in self.gates

    @property
    def active(self) -> bool:
        """Whether it neither has ended nor is about to."""
        return not (self.ended or self.terminating)

    @property
    def ended(self) -> bool:
        return self.phase in (PodPhase.SUCCEEDED, PodPhase.FAILED)
