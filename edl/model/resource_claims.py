"""ResourceClaims of pods (dynamic resource allocation), and what a plan does not know of them."""

from enum import StrEnum

import msgspec


class ClaimRef(msgspec.Struct, frozen=True, gc=False, order=True):
    """A claim that a pod names, or the template that one is made from for each pod."""

    namespace: str
    name: str
    template: bool = False


class DeviceTemplate(msgspec.Struct, frozen=True):
    """A ResourceClaimTemplate for so many devices of a class, made for a training job."""

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
    """Of several alternatives, one is planned with."""
    ALL_DEVICES = "AllDevices"
    """All devices of a node: as many as the largest node has are planned with."""
    SHARED = "Shared"
    """A claim of several pods: none of its devices is counted before it is allocated."""


class Caveat(msgspec.Struct, frozen=True, gc=False, order=True):
    """`subject` is the selector, the claim or the DeviceClass that it is about."""

    code: CaveatCode
    subject: str
