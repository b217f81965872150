"""The frameworks, in the order in which messages list them."""

from collections.abc import Container, Iterator, Mapping
from functools import lru_cache
from typing import Final

from edl import contract
from edl.contract.manifest_parts import command_line, labels, template, training_container
from edl.errors import Finding
from edl.frameworks import aiacc, horovod, mxnet, none, paddle, pytorch, tensorflow
from edl.frameworks.base import Framework, Mode, ModeRight, PeerAccess
from edl.model import ResizePolicy, Role, TrainingJob
from edl.spec import addresses
from edl.spec.job_spec import JobSpec
from edl.writes import Json

FRAMEWORKS: Final[Mapping[str, Framework]] = {
    module.FRAMEWORK.name: module.FRAMEWORK
    for module in (tensorflow, mxnet, horovod, aiacc, paddle, pytorch, none)
}
_FIRST_DECIDES: Final = {"rules": [{"succeededIndexes": "0"}]}
_ANY_DECIDES: Final = {"rules": [{"succeededCount": 1}]}


def mode_of(job: JobSpec | TrainingJob) -> Mode | None:
    """The job's mode; None for an unknown framework, and for a mode that it does not have."""
    return _mode(job.framework, job.mode, job.role_names)


@lru_cache(maxsize=1024)
def _mode(framework: str, name: str, roles: tuple[str, ...]) -> Mode | None:
    entry = FRAMEWORKS.get(framework)
    return entry.mode(name, roles) if entry else None


def resizing(job: TrainingJob) -> ResizePolicy:
    """How its resizable roles are resized; never without a known mode."""
    mode = mode_of(job)
    return mode.resizing if mode else ResizePolicy.FIXED


def resizes(job: TrainingJob, role: str) -> bool:
    """Whether the framework resizes this role if its max is above its min."""
    if resizing(job) is ResizePolicy.FIXED:
        return False
    kind = FRAMEWORKS[job.framework].kinds.get(role)
    return kind is not None and kind.resizable


def peer_access(job: JobSpec | TrainingJob) -> PeerAccess | None:
    """What the job's pods need to reach each other, beside their addresses."""
    mode = mode_of(job)
    return mode.peers if mode else None


def restarts_together(job: TrainingJob) -> bool:
    """Whether every resize restarts all pods of the job."""
    return resizing(job) is ResizePolicy.RESTART


def interdependent(job: TrainingJob) -> tuple[Role, ...]:
    """The live roles whose pods all need each other; none if pods can continue without others."""
    if not restarts_together(job):
        return ()
    apart = {kind.name for kind in FRAMEWORKS[job.framework].roles if kind.apart}
    return tuple(role for role in job.live if role.name not in apart)


def needs_all_ranks(spec: JobSpec) -> bool:
    """Whether the training job cannot go on once a rank of this role has failed for good."""
    framework, mode = FRAMEWORKS[spec.framework], mode_of(spec)
    if mode is None or framework.kinds[spec.role].apart:
        return False
    return mode.resizing is ResizePolicy.RESTART or (
        mode.name == framework.rendezvous_mode and spec.scaling.min == spec.scaling.max
    )


def needs_minimum(job: TrainingJob) -> bool:
    """Whether the remaining pods cannot train while pods of the minimum are missing."""
    mode = mode_of(job)
    return mode is not None and mode.name == FRAMEWORKS[job.framework].rendezvous_mode


def is_ranked(job: Json) -> bool:
    """Whether the Job's pods are ranks, not work items."""
    framework = FRAMEWORKS.get(labels(job).get(contract.FRAMEWORK, ""))
    return framework is None or framework.ranked


def is_leader(spec: JobSpec) -> bool:
    """Whether the end of this role is the end of the training job."""
    return FRAMEWORKS[spec.framework].completion_role(spec.role_names) == spec.role


def execs(spec: JobSpec) -> bool:
    """Whether pods of this role run commands in other pods, for which they need RBAC."""
    return peer_access(spec) is PeerAccess.EXEC and is_leader(spec)


def withheld(spec: JobSpec, account: str, rights: Container[ModeRight]) -> Iterator[Finding]:
    """A finding if the job's mode needs one of these rights, which the reconciler does not have.

    Users grant the rights of an `account` of their own themselves.
    """
    mode = mode_of(spec)
    if mode is None or mode.right is None or mode.right not in rights:
        return
    binds = mode.right is ModeRight.ROLEBINDINGS
    generated = ("", addresses.launcher_account(spec.job), addresses.peers_account(spec.job))
    if binds and account not in generated:
        return
    others = dict.fromkeys(
        other.name
        for other in FRAMEWORKS[spec.framework].modes
        if other.right not in rights and other.accepts(spec.role_names)
    )
    yield Finding(
        f"metadata.annotations[{contract.MODE}]",
        f'"{mode.name}" is disabled by the installation: rights.{mode.right}=false',
        (f"one of {', '.join(others)}" if others else "ask an administrator for it")
        + (", or an account of your own in each pod template" if binds else ""),
    )


def is_service(spec: JobSpec) -> bool:
    """Whether this role never ends by itself."""
    return FRAMEWORKS[spec.framework].kinds[spec.role].serves


def success_policy(job: Json, spec: JobSpec) -> Json | None:
    """The Job's successPolicy if its user sets none; None if each of its pods has to succeed."""
    framework = FRAMEWORKS[spec.framework]
    needs = framework.describe(spec)
    if needs.first_decides:
        return _FIRST_DECIDES
    elastic = spec.scaling.min < spec.scaling.max
    together = elastic or framework.launches(command_line(training_container(template(job))))
    return _ANY_DECIDES if needs.any_decides and together else None
