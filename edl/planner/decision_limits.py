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
_SCHEDULER: Final = r"[^,\s]{1,253}"
"""Kubernetes gives the names of schedulers no format: `gke.io/default-scheduler`."""
SCHEDULERS: Final = rf"({_SCHEDULER}(,{_SCHEDULER})*)?"
LONGEST_PARAMETERS: Final = 4096
"""A separate length, because a bounded repeat this large exceeds Helm's regular expressions."""


class Autoscaler(StrEnum):
    """Whether something adds nodes for pending pods."""

    DETECT = "detect"
    """Yes if the API server serves resources that an autoscaler installs."""
    PRESENT = "present"
    NONE = "none"


class Provisioner(StrEnum):
    """The kind of object by which queued gangs request nodes from an autoscaler."""

    PODS = "provisional-pods"
    """Placeholder pods that run nothing; any autoscaler adds nodes for them."""
    REQUEST = "provisioning-request"
    """A ProvisioningRequest; cluster-autoscaler adds all of its nodes or none."""


class GrowthMode(StrEnum):
    """The nodes on which replicas above the minimum may run."""

    AUTOSCALER = "autoscaler"
    """Needed nodes if the cluster has an autoscaler (`Limits.autoscaler`), else any node."""
    NEEDED_NODES = "needed-nodes"
    """Nodes that run minimums or other owners' pods anyway, so that extras keep no node alive."""
    ANY_NODE = "any-node"


class ProvisionerSettings(msgspec.Struct, frozen=True):
    """How queued gangs request nodes from an autoscaler."""

    provisioner: Provisioner = Provisioner.PODS
    provisioning_class: str = ATOMIC_CLASS
    """The class of ProvisioningRequests."""
    provisioning_parameters: str = ""
    """Parameters of that class, as `NAME=VALUE,NAME=VALUE`."""
    provisional_image: str = "registry.k8s.io/pause:3.10"
    """Image of provisional pods. They are deleted once bound, so it need not start."""
    provisioning_parallelism: int = 5
    """The most gangs, from the head of the queue, that request nodes at the same time."""
    provisioning_timeout: timedelta = timedelta(minutes=10)
    """How long requested nodes may take to join. cluster-autoscaler waits 15 min for a node
    (`--max-node-provision-time`), Karpenter as long for its registration."""

    def __post_init__(self) -> None:
        if self.provisioning_parallelism < 1:
            raise ValueError(f"provisioning_parallelism: {self.provisioning_parallelism}; from 1")
        for name, pattern, longest, expected in (
            ("provisional_image", IMAGE_NAME, LONGEST_PARAMETERS, "the name of an image"),
            (
                "provisioning_class",
                CLASS_NAME,
                LONGEST_CLASS_NAME,
                "a name in small letters with dots",
            ),
            ("provisioning_parameters", PARAMETERS, LONGEST_PARAMETERS, "NAME=VALUE,NAME=VALUE"),
        ):
            given = getattr(self, name)
            if len(given) > longest or not re.fullmatch(pattern, given):
                raise ValueError(f"{name}: {reprlib.repr(given)}; {expected}")


class Limits(msgspec.Struct, frozen=True):
    """Limits on growth, and waiting times, under every policy.

    `load_ceiling` bounds growth beyond the minimum only: a minimum or a gang's start may use the
    last core. It is a fraction of the CPU and memory of all schedulable nodes (Fluid's
    `max_load_desired`); GPUs and other extended resources may be used completely.
    """

    load_ceiling: float = 0.97
    growth_cooldown: timedelta = timedelta(seconds=10)
    """How long after its start or last resize a role neither grows nor donates a replica to
    rebalancing. Scale-downs that free capacity for claims do not wait; growth after growth waits
    less where a scale-up stalls no replica (`edl.cooldowns.after_growth`)."""
    restart_cooldown: timedelta = timedelta(minutes=5)
    """The same for roles that restart to resize: each restart costs them work."""
    loss_patience: timedelta = timedelta(seconds=30)
    """Least time from a start until a lost pod restarts the whole job: limits crash loops."""
    queue_patience: timedelta = timedelta(minutes=5)
    """Once the head of the queue has waited this long, no job behind it starts before it."""
    pending_limit: timedelta = timedelta(seconds=30)
    """Extras that stay unbound for this long are removed, and their role does not grow again for
    twice this time. A role that restarts to resize waits six of its cooldowns, doubled after each
    further failure."""
    gang_limit: timedelta = timedelta(seconds=120)
    """A started gang whose minimum stays unbound for this long is suspended again."""

    nearly_done: float = 0.9
    """A job that has done this fraction of its work keeps its size; only minimums, other owners'
    pods and higher priorities still take its replicas. Above 1: never."""
    preempt: bool = False
    """Whether gangs of lower priority are suspended for a queued job that does not fit."""

    autoscaler: Autoscaler = Autoscaler.DETECT
    provisioning: ProvisionerSettings = ProvisionerSettings()
    growth: GrowthMode = GrowthMode.AUTOSCALER
    idle_node_after: timedelta = timedelta(minutes=10)
    """How long extras alone may keep a node before they are moved off it: cluster-autoscaler's
    default for unneeded nodes."""
    drain_patience: timedelta = timedelta()
    """How long a node may be cordoned before pods that stay there lose their PodDisruptionBudgets;
    zero: they never do."""
    queueing_schedulers: str = "volcano,yunikorn,kai-scheduler,koord-scheduler"
    """The schedulers, as NAME,NAME, for whose pending pods no extras scale down: these may wait for
    a quota of their queue, which no capacity would help."""

    def expects_autoscaler(self, *, detected: bool) -> bool:
        """Whether an autoscaler adds nodes; `detected`: whether the API server shows one."""
        told = self.autoscaler
        return told is Autoscaler.PRESENT or (told is Autoscaler.DETECT and detected)

    @property
    def schedulers_with_queues(self) -> frozenset[str]:
        return frozenset(self.queueing_schedulers.split(","))

    def __post_init__(self) -> None:
        names = self.queueing_schedulers
        if len(names) > LONGEST_PARAMETERS or not re.fullmatch(SCHEDULERS, names):
            raise ValueError(f"queueing_schedulers: {reprlib.repr(names)}; NAME,NAME")
        if not self.nearly_done > 0:
            raise ValueError(f"nearly_done: {self.nearly_done}; a number above 0, 0.9 is 90 %")
        if not 0 < self.load_ceiling <= 1:
            raise ValueError(f"load_ceiling: {self.load_ceiling}; a number above 0, at most 1")
