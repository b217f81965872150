"""Devices: GPUs that several pods share, and ResourceClaims of pods (DRA)."""

from enum import StrEnum
from typing import Final, NamedTuple

import msgspec

_WHOLE: Final = 1000


class Share(NamedTuple):
    """What a pod asks of KubeShare.

    `compute` in thousandths of a GPU: up to 1000 of one GPU, above it whole GPUs.
    """

    compute: int
    memory: int = 0
    """Bytes; 0 for as large a part of the GPU's memory as of its compute."""
    model: str = ""
    """Empty for any."""

    @property
    def gpus(self) -> int:
        """How many GPUs it has a part of."""
        return max(1, -(-self.compute // _WHOLE))

    def part(self, memory: int) -> "GpuUsage":
        """What its pod holds of a GPU with this many bytes of memory (0: unknown)."""
        if self.compute > _WHOLE:
            return GpuUsage(_WHOLE, memory)
        own = self.memory or self.compute * memory // _WHOLE
        return GpuUsage(self.compute, own if memory else 0)


class GpuUsage(NamedTuple):
    """A part of one GPU: compute in thousandths, memory in bytes."""

    compute: int = 0
    memory: int = 0

    def plus(self, other: "GpuUsage") -> "GpuUsage":
        return GpuUsage(self.compute + other.compute, self.memory + other.memory)

    def minus(self, other: "GpuUsage") -> "GpuUsage":
        return GpuUsage(self.compute - other.compute, self.memory - other.memory)

    def times(self, count: int) -> "GpuUsage":
        return GpuUsage(self.compute * count, self.memory * count)

    def at_least(self, other: "GpuUsage") -> "GpuUsage":
        return GpuUsage(max(self.compute, other.compute), max(self.memory, other.memory))

    def covers(self, other: "GpuUsage") -> bool:
        return self.compute >= other.compute and self.memory >= other.memory


class Device(NamedTuple):
    """One GPU of a node. `used` is what bound pods hold; `releasing` the terminating part of it."""

    uuid: str = ""
    """Empty while no pod has a share of it: only pods that hold one tell it."""
    memory: int = 0
    """Bytes; 0 where it is unknown: then only compute counts."""
    used: GpuUsage = GpuUsage()
    releasing: GpuUsage = GpuUsage()

    @property
    def free(self) -> GpuUsage:
        return GpuUsage(_WHOLE - self.used.compute, self.memory - self.used.memory)


class ClaimRef(msgspec.Struct, frozen=True, gc=False, order=True):
    """A claim that a pod names, or the template that one is made from for each pod."""

    namespace: str
    name: str
    template: bool = False


class DeviceTemplate(msgspec.Struct, frozen=True):
    """A ResourceClaimTemplate for `count` devices of a class, made for a training job."""

    name: str
    device_class: str
    count: int


class CaveatCode(StrEnum):
    """Where the devices that a plan counts may not be those that kube-scheduler allocates."""

    CLASS_ONLY = "ClassOnly"
    """A selector that is not evaluated: every device that may match is counted."""
    CONSTRAINTS = "Constraints"
    """Devices must have an attribute in common: not looked at."""
    FIRST_OF_SEVERAL = "FirstOfSeveral"
    """The plan counts one of several alternatives."""
    ALL_DEVICES = "AllDevices"
    """All devices of a node: as many as the largest node has are planned with."""
    SHARED = "Shared"
    """A claim of several pods: none of its devices is counted before it is allocated."""


class Caveat(msgspec.Struct, frozen=True, gc=False, order=True):
    """`subject` is the selector, the claim or the DeviceClass that it is about."""

    code: CaveatCode
    subject: str
