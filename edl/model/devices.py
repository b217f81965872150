"""Devices: GPUs that several pods share, and ResourceClaims of pods (DRA)."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, NamedTuple

import msgspec

from edl.quantities import Resources

_WHOLE: Final = 1000


class Share(NamedTuple):
    """A pod's request to KubeShare.

    `compute` in thousandths of a GPU: up to 1000 of one GPU, above it whole GPUs.
    """

    compute: int
    memory: int = 0
    """Bytes; 0 stands for the same fraction of the GPU's memory as of its compute."""
    model: str = ""
    """The GPU model; empty for any."""

    @property
    def gpus(self) -> int:
        """The number of GPUs that the share is spread over."""
        return max(1, -(-self.compute // _WHOLE))

    def part(self, memory: int) -> "GpuUsage":
        """The pod's usage of one GPU with this many bytes of memory (0: unknown)."""
        if self.compute > _WHOLE:
            return GpuUsage(_WHOLE, memory)
        amount = self.memory or self.compute * memory // _WHOLE
        return GpuUsage(self.compute, amount if memory else 0)


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

    def clamped(self) -> "GpuUsage":
        return GpuUsage(max(self.compute, 0), max(self.memory, 0))

    def covers(self, other: "GpuUsage") -> bool:
        return self.compute >= other.compute and self.memory >= other.memory


class Device(NamedTuple):
    """One GPU of a node. `used` is what bound pods hold; `releasing` the terminating part of it."""

    uuid: str = ""
    """Empty until a pod holds a share: the UUID is known from such pods only."""
    memory: int = 0
    """Bytes; 0 if unknown, and then only compute is counted."""
    used: GpuUsage = GpuUsage()
    releasing: GpuUsage = GpuUsage()

    @property
    def free(self) -> GpuUsage:
        return GpuUsage(_WHOLE - self.used.compute, self.memory - self.used.memory)


class ClaimRef(msgspec.Struct, frozen=True, gc=False, order=True):
    """A ResourceClaim that a pod names, or the ResourceClaimTemplate of its own claim."""

    namespace: str
    name: str
    template: bool = False


class ClaimedDevices(msgspec.Struct, frozen=True):
    """The devices of one node that are allocated by claims (DRA).

    A device counts in each resource that stands for a DeviceClass or a selector that chooses it.
    """

    kinds: tuple[tuple[str, ...], ...] = ()
    """The combinations of resources in which its devices count; sorted."""
    held: Mapping[tuple[str, str], Resources] = msgspec.field(default_factory=dict)
    """By namespace and name of a pod, what the devices of its own claims count as. Deleting the
    pod frees that. Devices that other pods hold as well are left out."""


class DeviceTemplate(msgspec.Struct, frozen=True):
    """A ResourceClaimTemplate for `count` devices of a class, made for a training job."""

    name: str
    device_class: str
    count: int


class CaveatCode(StrEnum):
    """Why kube-scheduler may allocate other devices than the plan has counted."""

    CLASS_ONLY = "ClassOnly"
    """The planner cannot evaluate a selector, and counts every device of the class."""
    CONSTRAINTS = "Constraints"
    """The planner ignores `constraints` on the attributes of several devices."""
    FIRST_OF_SEVERAL = "FirstOfSeveral"
    """The planner counts one of the alternatives of `firstAvailable`."""
    ALL_DEVICES = "AllDevices"
    """`allocationMode: All`: the planner counts the devices of the node that has most."""
    SHARED = "Shared"
    """Several pods share a claim; its devices are counted only once it is allocated."""


class Caveat(msgspec.Struct, frozen=True, gc=False, order=True):
    """`subject` is the selector, the claim or the DeviceClass that it is about."""

    code: CaveatCode
    subject: str
