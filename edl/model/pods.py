"""The pods of training jobs."""

from datetime import datetime
from enum import StrEnum

import msgspec


class PodPhase(StrEnum):
    """Kubernetes' pod phases."""

    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    UNKNOWN = "Unknown"


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
    published_at: datetime | None = None
    confirmed_at: datetime | None = None
    """The publication of which its kubelet was reminded."""
    ready_since: datetime | None = None
    """None while it is not ready."""
    restarted_at: datetime | None = None
    """When one of its containers was last started again in place."""
    finalizers: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    """The GPUs of which KubeShare gave it a share."""

    @property
    def gated(self) -> bool:
        return bool(self.gates)

    @property
    def ended(self) -> bool:
        return self.phase in (PodPhase.SUCCEEDED, PodPhase.FAILED)
