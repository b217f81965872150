"""The frameworks, in the order in which messages list them."""

from collections.abc import Mapping, Sequence
from typing import Final

from edl.frameworks import aiacc, horovod, mxnet, none, paddle, pytorch, tensorflow
from edl.frameworks.needs import Framework
from edl.model import Resizing, TrainingJob
from edl.spec import JobSpec

FRAMEWORKS: Final[Mapping[str, Framework]] = {
    module.FRAMEWORK.name: module.FRAMEWORK
    for module in (tensorflow, mxnet, horovod, aiacc, paddle, pytorch, none)
}


def resizing(framework: str, mode: str, roles: Sequence[str]) -> Resizing | None:
    """How a training job of these roles takes a new size.

    None for a mode that it cannot have, and for a framework that nobody knows.
    """
    known = FRAMEWORKS.get(framework)
    found = known.mode(mode, roles) if known else None
    return found.resizing if found else None


def restarts_together(job: TrainingJob) -> bool:
    """Whether its framework knows one way to another set of processes: all start again."""
    roles = [role.name for role in job.roles]
    return resizing(job.framework, job.mode, roles) is Resizing.RESTART


def decides(spec: JobSpec) -> bool:
    """Whether this role's end is the training job's end."""
    return FRAMEWORKS[spec.framework].decider([seat.role for seat in spec.cast]) == spec.role


def serves(spec: JobSpec) -> bool:
    """Whether this role never ends by itself."""
    return FRAMEWORKS[spec.framework].kinds[spec.role].serves
