"""What a labelled manifest asks for; `edl.parsing.parser` builds it."""

import re
from datetime import timedelta
from typing import Final

import msgspec

from edl import contract
from edl.model import ResizePolicy, Topology


class RoleBounds(msgspec.Struct, frozen=True):
    """The bounds of one role of a training job: `worker=1..12` is from 1 to 12 replicas."""

    role: str
    min: int
    max: int

    @property
    def entry(self) -> str:
        """`worker=1..12`: as written in the annotation `edl.dev/roles`."""
        most = "" if self.min == self.max else f"..{self.max}"
        return f"{self.role}={self.min}{most}"


class Gpu(msgspec.Struct, frozen=True):
    """Whole GPUs (`whole` > 0), or a KubeShare share of one. Texts are as the user wrote them."""

    whole: int = 0
    request: str = ""
    limit: str = ""
    memory: int | None = None
    """Bytes of the shared GPU's memory; None for KubeShare's default."""
    device_class: str = ""
    """The DeviceClass of whole GPUs; empty if a device plugin or KubeShare counts them."""


_SHARE: Final = re.compile(r"0\.0*[1-9][0-9]*")
_FULL: Final = re.compile(r"1(\.0+)?")


def is_gpu_share(text: str) -> bool:
    """Whether it is a share of one GPU: `0.5`."""
    return bool(_SHARE.fullmatch(text))


def is_gpu_limit(text: str, share: str) -> bool:
    """Whether it is a limit of this share, from it to `1.0`."""
    return bool(_SHARE.fullmatch(text) or _FULL.fullmatch(text)) and float(text) >= float(share)


RETRIES: Final = 6
"""The API's default `backoffLimit`, which counts for a whole Job; here it counts per replica."""

UNLIMITED: Final = 2**31 - 1
"""The largest `backoffLimit`: no number of failures fails the Job."""

HELD_TTL: Final = 2**31 - 1
"""`ttlSecondsAfterFinished` while the user's own value is kept in
`edl.dev/ttl-seconds-after-finished`: the largest that the API accepts, so that a removed field can
be told from an untouched one."""

DISRUPTION_TARGET: Final = "DisruptionTarget"
"""The condition of pods that are preempted, evicted or lost, and of those that we end."""

IGNORE_DISRUPTIONS: Final = {
    "action": "Ignore",
    "onPodConditions": [{"type": DISRUPTION_TARGET, "status": "True"}],
}
"""The rule of a `podFailurePolicy` by which preempted, evicted and lost pods do not count as
failed."""

PERMANENT_EXIT_CODES: Final = tuple(range(1, 128))
"""tf-operator, train_util.IsRetryableExitCode: 128 and above are signals, and retried."""

POD_POLICIES: Final = {
    contract.RestartPolicy.ALWAYS: "OnFailure",
    contract.RestartPolicy.ON_FAILURE: "OnFailure",
    contract.RestartPolicy.NEVER: "Never",
    contract.RestartPolicy.EXIT_CODE: "Never",
}
"""The restartPolicy of the pod template. A Job rejects Always, and OnFailure is the nearest: a
container that exits with 0 is done."""


class ScalingSpec(msgspec.Struct, frozen=True):
    """The bounds of a role, and how it is resized."""

    min: int
    max: int
    resizing: ResizePolicy
    replicas: int | None = None
    timeout: timedelta | None = None
    """How long a scale-up to `replicas` may take before `fallback` is requested instead."""
    fallback: int | None = None
    cooldown: timedelta | None = None
    """The least time between two resizes of the role, as set by the user."""
    removing: tuple[str, ...] = ()
    """Names of pods to remove, whatever their index."""
    paused: bool = False


class SchedulingSpec(msgspec.Struct, frozen=True):
    """Where and when the training job runs."""

    topology: Topology = Topology()
    provision: contract.Provision = contract.Provision.MINIMUM
    duration: timedelta | None = None
    """The expected run time, as given by the user; used for estimates only."""
    progress: float | None = None
    """The fraction of the work that is done, 0..1, as reported by the user or the script."""


class ResourceSpec(msgspec.Struct, frozen=True):
    """The devices of one pod."""

    gpu: Gpu | None = None
    kubeshare: contract.KubeShare = contract.KubeShare.TWO
    accelerated: bool = False
    """The pod has an NVIDIA GPU or a share of one, by its label or by its containers' limits."""
    other_devices: bool = False
    """A container has devices of another resource, or of a claim: they may be GPUs."""
    slots: int = 1
    """Processes that a launcher starts in the pod."""


class LifecycleSpec(msgspec.Struct, frozen=True):
    """What happens to pods that fail, and to the Job once the training job has ended."""

    clean_up: contract.CleanUp = contract.CleanUp.RUNNING
    ttl: int | None = None
    """Seconds from the end of the whole training job until its Job is deleted."""
    restart: contract.RestartPolicy | None = None


class JobSpec(msgspec.Struct, frozen=True):
    """A labelled Job, or a bare pod, with every value checked.

    `name` is empty if only generateName is set. `job` is the training job's name. `all_roles` lists
    the roles of the training job in order, this one included; a single Job has one.
    """

    namespace: str
    name: str
    job: str
    framework: str
    role: str
    mode: str
    all_roles: tuple[RoleBounds, ...]
    indexed: bool
    scaling: ScalingSpec
    scheduling: SchedulingSpec = SchedulingSpec()
    resources: ResourceSpec = ResourceSpec()
    lifecycle: LifecycleSpec = LifecycleSpec()
    port: int = 0
    rank: int | None = None
    """A bare pod's index in its role; None for Jobs."""
    settings: tuple[tuple[str, str], ...] = ()
    """The framework's own annotations; absent ones have their defaults."""

    @property
    def role_names(self) -> tuple[str, ...]:
        return tuple(bounds.role for bounds in self.all_roles)

    def setting(self, annotation: str) -> str:
        return dict(self.settings)[annotation]
