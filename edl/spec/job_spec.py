"""What a labelled manifest asks for; `edl.parsing.parser` makes it."""

from datetime import timedelta
from typing import Final

import msgspec

from edl import contract
from edl.model import ResizePolicy, Topology


class RoleBounds(msgspec.Struct, frozen=True):
    """One role of a training job, `worker=1..12`: from min to max replicas."""

    role: str
    min: int
    max: int


class Gpu(msgspec.Struct, frozen=True):
    """Whole GPUs (`whole` > 0), or a KubeShare share of one; texts as the user wrote them."""

    whole: int = 0
    request: str = ""
    limit: str = ""
    memory: int | None = None
    """Bytes of the shared GPU, None for KubeShare's default."""
    device_class: str = ""
    """The DeviceClass of whole ones; empty where a device plugin, or KubeShare, counts them."""


RETRIES: Final = 6
"""The API's default `backoffLimit`, for a whole Job: here it counts for each replica."""

HELD_TTL: Final = 2**31 - 1
"""`ttlSecondsAfterFinished` while the Job's own waits in `edl.dev/ttl-seconds-after-finished`: the
longest that the API takes, so that a removed field differs from one that was left as it is."""

POD_POLICIES: Final = {
    contract.RestartPolicy.ALWAYS: "OnFailure",
    contract.RestartPolicy.ON_FAILURE: "OnFailure",
    contract.RestartPolicy.NEVER: "Never",
    contract.RestartPolicy.EXIT_CODE: "Never",
}
"""A template's restartPolicy. A Job takes no Always: a container that ends with 0 is done."""


class ScalingSpec(msgspec.Struct, frozen=True):
    """How many replicas the role may have, and how it takes a new size."""

    min: int
    max: int
    resizing: ResizePolicy
    replicas: int | None = None
    timeout: timedelta | None = None
    """How long `replicas` may take to come before `fallback` is requested again."""
    fallback: int | None = None
    cooldown: timedelta | None = None
    """The least time between two resizes of a role, as its user says."""
    removing: tuple[str, ...] = ()
    """Names of pods that are to go, whatever their index."""
    paused: bool = False


class SchedulingSpec(msgspec.Struct, frozen=True):
    """Where and when the training job runs."""

    topology: Topology = Topology()
    provision: contract.Provision = contract.Provision.MINIMUM
    duration: timedelta | None = None
    """How long it is expected to run, as its user says; for estimates only."""
    progress: float | None = None
    """The part of its work that is done, 0..1, as its user or its script says."""


class ResourceSpec(msgspec.Struct, frozen=True):
    """The devices of one pod."""

    gpu: Gpu | None = None
    kubeshare: contract.KubeShare = contract.KubeShare.TWO
    accelerated: bool = False
    """It has a GPU or a share of one, by its label or by its containers' own words."""
    slots: int = 1
    """Processes that a launcher starts in it."""


class LifecycleSpec(msgspec.Struct, frozen=True):
    """What becomes of pods that fail, and of the Job once the training job has ended."""

    clean_up: contract.CleanUp = contract.CleanUp.RUNNING
    ttl: int | None = None
    """Seconds until its Job is deleted, from the end of the whole training job."""
    restart: contract.RestartPolicy | None = None


class JobSpec(msgspec.Struct, frozen=True):
    """A labelled Job, or a bare pod, with every value checked.

    `name` is empty under generateName. `all_roles`: those of the training job in order, this one
    among them; a Job alone has one. `job` is the training job's name.
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
    """The framework's own annotations, those that are absent by their defaults."""

    def setting(self, annotation: str) -> str:
        return dict(self.settings)[annotation]
