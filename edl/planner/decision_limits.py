"""Limits that hold under every policy."""

import re
import reprlib
from datetime import timedelta
from enum import StrEnum
from typing import Final

import msgspec

IMAGE_NAME: Final = r"[a-zA-Z0-9][-a-zA-Z0-9._:/@]{0,511}"
CLASS_NAME: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
LONGEST_CLASS_NAME: Final = 253
ATOMIC_CLASS: Final = "best-effort-atomic-scale-up.autoscaling.x-k8s.io"
_PARAMETER: Final = r"[-a-zA-Z0-9._/]+=[^,=\s]*"
PARAMETERS: Final = rf"({_PARAMETER}(,{_PARAMETER})*)?"
LONGEST_PARAMETERS: Final = 4096
"""Counts inside the pattern would be too many for Helm's regular expressions."""


class Autoscaler(StrEnum):
    """Whether something adds nodes for pending pods."""

    DETECT = "detect"
    """Where the API server serves what an autoscaler brings along."""
    PRESENT = "present"
    NONE = "none"


class Provisioner(StrEnum):
    """By what queued gangs ask an autoscaler for nodes."""

    PODS = "provisional-pods"
    """By pods that run nothing: any autoscaler makes nodes for them."""
    REQUEST = "provisioning-request"
    """By a ProvisioningRequest: cluster-autoscaler makes all nodes or none."""


class GrowthMode(StrEnum):
    """On which nodes replicas above the minimum run."""

    AUTOSCALER = "autoscaler"
    """On needed nodes where there is an autoscaler (`Limits.autoscaler`), else on any."""
    NEEDED_NODES = "needed-nodes"
    """On those that minimums or pods of other owners need anyway: extras keep no node alive."""
    ANY_NODE = "any-node"


class ProvisionerSettings(msgspec.Struct, frozen=True):
    """How queued gangs ask an autoscaler for nodes."""

    provisioner: Provisioner = Provisioner.PODS
    provisioning_class: str = ATOMIC_CLASS
    """The class of ProvisioningRequests."""
    provisioning_parameters: str = ""
    """What that class takes besides, as `NAME=VALUE,NAME=VALUE`."""
    provisional_image: str = "rancher/mirrored-pause:3.10"
    """Image of provisional pods. They are deleted once bound, so it need not start."""

    def __post_init__(self) -> None:
        if not re.fullmatch(IMAGE_NAME, self.provisional_image):
            given = reprlib.repr(self.provisional_image)
            raise ValueError(f"provisional_image: {given}; the name of an image")
        known = re.fullmatch(CLASS_NAME, self.provisioning_class)
        if not known or len(self.provisioning_class) > LONGEST_CLASS_NAME:
            given = reprlib.repr(self.provisioning_class)
            raise ValueError(f"provisioning_class: {given}; a name in small letters with dots")
        parameters = self.provisioning_parameters
        if len(parameters) > LONGEST_PARAMETERS or not re.fullmatch(PARAMETERS, parameters):
            given = reprlib.repr(self.provisioning_parameters)
            raise ValueError(f"provisioning_parameters: {given}; NAME=VALUE,NAME=VALUE")


class Limits(msgspec.Struct, frozen=True):
    """Limits on growth and waiting times under every policy.

    `load_ceiling` bounds growth beyond the minimum only: a minimum or a gang's start may use the
    last core. It counts cpu and memory over all schedulable nodes (Fluid's `max_load_desired`);
    GPUs and other extended resources may be used to the last one.
    """

    load_ceiling: float = 0.97
    growth_cooldown: timedelta = timedelta(seconds=10)
    """Growth after a start or resize waits so long, and so does giving for an equal share.
    Shrinks that make room for others never wait."""
    restart_cooldown: timedelta = timedelta(minutes=5)
    """The same for those who take a new size by a restart: each one costs them work."""
    loss_patience: timedelta = timedelta(seconds=30)
    """A start lasts so long at least before a lost pod restarts them all: crashes do not spin."""
    queue_patience: timedelta = timedelta(minutes=5)
    """Once the head of the queue has waited this long, no job behind it starts before it."""
    pending_limit: timedelta = timedelta(seconds=30)
    """Extras that stay unbound for so long are given back, and not asked for again for twice it;
    by roles that restart for a new size, for six of their cooldowns, and longer each time."""
    gang_limit: timedelta = timedelta(seconds=120)
    """A started gang whose minimum stays unbound for so long is suspended again."""

    nearly_done: float = 0.9
    """From this part of its work on a job keeps its size, but for minimums, others' pods and
    higher priorities. Above 1: never."""
    preempt: bool = False
    """Whether whole gangs of a lower priority are suspended for a job without room."""

    autoscaler: Autoscaler = Autoscaler.DETECT
    provisioning_timeout: timedelta = timedelta(minutes=10)
    """Nodes that a gang asks for must come so soon; cluster-autoscaler waits 15 min for a node
    (`--max-node-provision-time`), Karpenter as long for its registration."""
    provisioning_parallelism: int = 5
    """The most queued gangs that ask for nodes at once, the first of the queue."""
    asks: ProvisionerSettings = ProvisionerSettings()
    growth: GrowthMode = GrowthMode.AUTOSCALER
    idle_node_after: timedelta = timedelta(minutes=10)
    """Extras leave a node that they alone keep so long; cluster-autoscaler's default for nodes that
    it finds unneeded."""

    def __post_init__(self) -> None:
        if self.provisioning_parallelism < 1:
            raise ValueError(f"provisioning_parallelism: {self.provisioning_parallelism}; from 1")
        if not self.nearly_done > 0:
            raise ValueError(f"nearly_done: {self.nearly_done}; a number above 0, 0.9 is 90 %")
        if not 0 < self.load_ceiling <= 1:
            raise ValueError(f"load_ceiling: {self.load_ceiling}; a number above 0, at most 1")
