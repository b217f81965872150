"""Messages about devices that a plan counts differently from how kube-scheduler allocates them."""

from collections.abc import Mapping
from typing import Final

from edl.model import Caveat, CaveatCode

_TEXTS: Final[Mapping[CaveatCode, str]] = {
    CaveatCode.CLASS_ONLY: "counted by DeviceClass only: kubectl-edl does not evaluate {}",
    CaveatCode.CONSTRAINTS: "the constraints of {} are not looked at",
    CaveatCode.FIRST_OF_SEVERAL: "of several alternatives, DeviceClass {} is planned with",
    CaveatCode.ALL_DEVICES: "all devices of DeviceClass {} on a node: the plan counts as many as "
    "the node with most has",
    CaveatCode.SHARED: "the devices of ResourceClaim {}, which its pods share, are not counted "
    "before it is allocated",
}


def caveat(caveat: Caveat) -> str:
    """How the plan's count differs from what kube-scheduler may allocate."""
    return _TEXTS[caveat.code].format(caveat.subject)
