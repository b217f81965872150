"""No framework: a plain Job whose indexes, if it has any, are work items."""

from typing import Final

from edl.frameworks.base import NO_STALL, Framework, Mode, Needs, RoleKind
from edl.model import ResizePolicy
from edl.spec.job_spec import JobSpec


def describe(spec: JobSpec) -> Needs:  # noqa: ARG001 - every mode's signature
    return Needs()


FRAMEWORK: Final = Framework(
    name="none",
    roles=(RoleKind("worker", resizable=True),),
    worker="worker",
    completion_roles=("worker",),
    modes=(Mode("items", ResizePolicy.ITEMS, describe, cooldown=NO_STALL),),
    ranked=False,
)
