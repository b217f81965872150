"""What a labelled manifest asks for; `edl.parse` makes it."""

from dataclasses import dataclass

from edl import contract
from edl.model import Resizing


@dataclass(frozen=True, slots=True)
class Seat:
    """One role of the cast, `worker=1..12`: from min to max replicas."""

    role: str
    min: int
    max: int


@dataclass(frozen=True, slots=True)
class Gpu:
    """Whole GPUs (`whole` > 0), or a KubeShare share of one; texts as the user wrote them."""

    whole: int = 0
    request: str = ""
    limit: str = ""
    memory: int | None = None
    """Bytes of the shared GPU, None for KubeShare's default."""


@dataclass(frozen=True, slots=True)
class JobSpec:
    """A labelled Job, or a bare pod, as its user means it. Every value is checked.

    `name` is empty under generateName. `cast` is the whole training job in order, this object's
    own role among it; a Job alone is a cast of one. `job` is the training job's name.
    """

    namespace: str
    name: str
    job: str
    framework: str
    role: str
    mode: str
    cast: tuple[Seat, ...]
    min: int
    max: int
    resizing: Resizing
    tandem: bool
    wanted: int | None = None
    paused: bool = False
    gpu: Gpu | None = None
    slots: int = 1
    port: int = 0
    clean_up: contract.CleanUp = contract.CleanUp.RUNNING
    rank: int | None = None
    """A bare pod's index in its role; None for Jobs."""
