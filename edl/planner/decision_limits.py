"""Limits that hold under every policy."""

from datetime import timedelta
from enum import StrEnum
from typing import Annotated, Final

from msgspec import Meta, Struct

IMAGE_NAME: Final = r"[a-zA-Z0-9][-a-zA-Z0-9._:/@]{0,511}"
ATOMIC_CLASS: Final = "best-effort-atomic-scale-up.autoscaling.x-k8s.io"
_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_PARAMETER: Final = r"[-a-zA-Z0-9._/]+=[^,=\s]*"
_SCHEDULER: Final = r"[^,\s]{1,253}"
"""Kubernetes gives the names of schedulers no format: `gke.io/default-scheduler`."""
_LONGEST: Final = 4096
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


class ProvisionerSettings(Struct, frozen=True):
    """How queued gangs request nodes from an autoscaler. Described as those of `Limits`."""

    provisioner: Annotated[
        Provisioner,
        "How nodes are requested: by provisional pods, which run nothing, or by a"
        " ProvisioningRequest to cluster-autoscaler.",
    ] = Provisioner.PODS
    provisioning_class: Annotated[
        str,
        "Class of ProvisioningRequests.",
        Meta(pattern=rf"^{_LABEL}(\.{_LABEL})*\Z", max_length=253),
    ] = ATOMIC_CLASS
    provisioning_parameters: Annotated[
        str,
        "Parameters of that class, such as maxRunDurationSeconds=86400.",
        Meta(
            pattern=rf"^({_PARAMETER}(,{_PARAMETER})*)?\Z",
            max_length=_LONGEST,
            examples=["maxRunDurationSeconds=86400"],
        ),
    ] = ""
    provisional_image: Annotated[
        str,
        "Image of provisional pods; it need not start, because they are deleted once bound.",
        Meta(pattern=rf"^{IMAGE_NAME}\Z"),
    ] = "registry.k8s.io/pause:3.10"
    provisioning_parallelism: Annotated[
        int,
        "Number of queued jobs that may request nodes at the same time.",
        Meta(ge=1, le=1000),
    ] = 5
    """They are the first ones of the queue."""
    provisioning_timeout: Annotated[
        timedelta, "How long to wait for requested nodes before the job requests them again later."
    ] = timedelta(minutes=10)
    """cluster-autoscaler waits 15 min for a node (`--max-node-provision-time`), Karpenter as long
    for its registration."""


class Limits(Struct, frozen=True):
    """Limits on growth, and waiting times, under every policy.

    Those with a description are options of the reconciler and values of the chart.

    `load_ceiling` bounds growth beyond the minimum only: a minimum or a gang's start may use the
    last core. It is a fraction of the CPU and memory of all schedulable nodes (Fluid's
    `max_load_desired`); GPUs and other extended resources may be used completely.
    """

    load_ceiling: Annotated[
        float,
        "Fraction of the nodes' CPU and memory up to which jobs are scaled up.",
        Meta(gt=0, le=1),
    ] = 0.97
    nearly_done: Annotated[
        float,
        "Progress from which a job keeps its size, as a fraction; above 1 disables this.",
        Meta(gt=0, le=100.0),
    ] = 0.9
    """Only minimums, other owners' pods and higher priorities still take its replicas."""
    preempt: Annotated[
        bool,
        "Suspend jobs of lower priority if scaling them down to their minimum does not free"
        " enough.",
    ] = False
    growth_cooldown: Annotated[
        timedelta,
        "Time after a start or resize of a job before it is scaled up; 30 % of it between two"
        " scale-ups that stall no replica (tensorflow with parameter servers, none).",
    ] = timedelta(seconds=10)
    """Until then it donates no replica to rebalancing, either. Scale-downs that free capacity for
    claims do not wait. Growth after growth: `edl.job_state.cooldowns.after_growth`."""
    pending_limit: Annotated[
        timedelta,
        "How long a replica above the minimum may stay unscheduled before it is removed.",
    ] = timedelta(seconds=30)
    """Its role does not grow again for twice this time. One that restarts to resize waits six of
    its cooldowns. Both are doubled after each further failure."""
    restart_cooldown: Annotated[
        timedelta, "Time between restarts that resize a job which cannot resize live."
    ] = timedelta(minutes=5)
    gang_limit: Annotated[
        timedelta,
        "How long the minimum of a started job may stay unscheduled before the job is requeued.",
    ] = timedelta(seconds=120)
    loss_patience: timedelta = timedelta(seconds=30)
    """Least time from a start until a lost pod restarts the whole job: limits crash loops."""
    queue_patience: timedelta = timedelta(minutes=5)
    """Once the head of the queue has waited this long, no job behind it starts before it."""

    autoscaler: Annotated[
        Autoscaler,
        "Whether an autoscaler adds nodes for pending pods. detect: if the API server serves"
        " Karpenter's NodePools or ProvisioningRequests.",
    ] = Autoscaler.DETECT
    provisioning: ProvisionerSettings = ProvisionerSettings()
    growth: Annotated[
        GrowthMode,
        "Nodes for replicas above the minimum: any-node, or only needed-nodes, which run other"
        " pods anyway, so that an autoscaler can remove the rest. autoscaler: needed-nodes if the"
        " cluster has an autoscaler.",
    ] = GrowthMode.AUTOSCALER
    idle_node_after: Annotated[
        timedelta,
        "How long replicas above the minimum alone may keep a node before they are moved off it.",
    ] = timedelta(minutes=10)
    """cluster-autoscaler's default for unneeded nodes."""
    drain_patience: Annotated[
        timedelta,
        "How long a node may be cordoned before pods that cannot move off it lose their"
        " PodDisruptionBudgets, so that a drain or a node upgrade ends and their jobs restart"
        " elsewhere; 0: never.",
        Meta(examples=[600]),
    ] = timedelta()
    queueing_schedulers: Annotated[
        str,
        "Schedulers with queues of their own: no job scales down for their pending pods, which"
        " often wait for a quota of their queue instead of capacity.",
        Meta(pattern=rf"^({_SCHEDULER}(,{_SCHEDULER})*)?\Z", max_length=_LONGEST),
    ] = "volcano,yunikorn,kai-scheduler,koord-scheduler"

    def expects_autoscaler(self, *, detected: bool) -> bool:
        """Whether an autoscaler adds nodes; `detected`: whether the API server shows one."""
        told = self.autoscaler
        return told is Autoscaler.PRESENT or (told is Autoscaler.DETECT and detected)

    @property
    def schedulers_with_queues(self) -> frozenset[str]:
        return frozenset(self.queueing_schedulers.split(","))
