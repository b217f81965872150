"""The frameworks, in the order in which messages list them."""

from collections.abc import Mapping, Sequence
from typing import Final

from edl.frameworks import aiacc, horovod, mxnet, none, paddle, pytorch, tensorflow
from edl.frameworks.base import Framework, Mode
from edl.model import ResizePolicy, TrainingJob
from edl.spec.job_spec import JobSpec

FRAMEWORKS: Final[Mapping[str, Framework]] = {
    module.FRAMEWORK.name: module.FRAMEWORK
    for module in (tensorflow, mxnet, horovod, aiacc, paddle, pytorch, none)
}


def resizing(framework: str, mode: str, roles: Sequence[str]) -> ResizePolicy | None:
    """How a training job of these roles takes a new size.

    None for a mode that it does not have, and for an unknown framework.
    """
    found = _mode(framework, mode, roles)
    return found.resizing if found else None


def _mode(framework: str, name: str, roles: Sequence[str]) -> Mode | None:
    known = FRAMEWORKS.get(framework)
    return known.mode(name, roles) if known else None


def restarts_together(job: TrainingJob) -> bool:
    """Whether its framework knows one way to another set of processes: all start again."""
    roles = [role.name for role in job.roles]
    return resizing(job.framework, job.mode, roles) is ResizePolicy.RESTART


def needs_minimum(job: TrainingJob) -> bool:
    """Whether its other pods stand still while some of its minimum are missing."""
    mode = _mode(job.framework, job.mode, [role.name for role in job.roles])
    return mode is not None and mode.name == FRAMEWORKS[job.framework].meets


def needs_placement(framework: str, mode: str, roles: Sequence[str]) -> bool:
    """Whether the plan itself gives the pods of such a training job their nodes.

    Where all come together or none is of use: several roles, or processes that all start again for
    a new size or are told each other's addresses. A role alone that takes any size needs no plan.
    """
    found = _mode(framework, mode, roles)
    return found is not None and (
        len(roles) > 1 or found.told or found.resizing is ResizePolicy.RESTART
    )


def is_leader(spec: JobSpec) -> bool:
    """Whether this role's end is the training job's end."""
    return (
        FRAMEWORKS[spec.framework].decider([bounds.role for bounds in spec.all_roles]) == spec.role
    )


def execs(spec: JobSpec) -> bool:
    """Whether pods of this role run commands in those of others: they need the right to."""
    mode = _mode(spec.framework, spec.mode, [bounds.role for bounds in spec.all_roles])
    return bool(mode and mode.execs) and is_leader(spec)


def needs_kubexec(job: TrainingJob) -> bool:
    """Whether its namespace must let its launcher do so."""
    mode = _mode(job.framework, job.mode, [role.name for role in job.roles])
    return bool(mode and mode.execs)


def is_service(spec: JobSpec) -> bool:
    """Whether this role never ends by itself."""
    return FRAMEWORKS[spec.framework].kinds[spec.role].serves
