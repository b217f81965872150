"""The bounds of all roles of a training job, and of the role of one object."""

import re
from collections.abc import Sequence
from typing import Final

from edl import contract
from edl.frameworks.base import Framework
from edl.parsing.manifest_reader import MAX_REPLICAS, ManifestReader
from edl.spec.job_spec import RoleBounds

_ROLES: Final = re.compile(
    r"(?P<role>[a-z]+(-[a-z]+)*)=(?P<min>[0-9]{1,9})(\.\.(?P<max>[0-9]{1,9}))?"
)


_ROLES_EXAMPLE: Final = 'write it as "chief=1,ps=2,worker=1..12"'


def read_roles(form: ManifestReader, framework: Framework) -> tuple[RoleBounds, ...]:
    """The roles of `edl.dev/roles` with their bounds; empty without that annotation."""
    text = form.annotations.get(contract.ROLES)
    if text is None:
        return ()
    all_roles = tuple(_bounds_of(form, framework, part.strip()) for part in text.split(","))
    names = [bounds.role for bounds in all_roles if bounds]
    path = form.annotation_path(contract.ROLES)
    if len(set(names)) < len(names):
        form.found(path, "a role is listed twice", "name each role once")
    return tuple(bounds for bounds in all_roles if bounds)


def _bounds_of(form: ManifestReader, framework: Framework, part: str) -> RoleBounds | None:
    path = form.annotation_path(contract.ROLES)
    match = _ROLES.fullmatch(part)
    if match is None:
        form.found(path, f'"{part}" is not a role and size', _ROLES_EXAMPLE)
        return None
    role, low = match["role"], int(match["min"])
    high = int(match["max"] or low)
    kind = framework.kinds.get(role)
    if kind is None:
        form.unknown(path, role, f'"{role}" is not a role of {framework.name}', framework.kinds)
        return None
    if not 1 <= low <= high <= MAX_REPLICAS:
        form.found(path, f'"{part}" is not a range', f"1 ≤ min ≤ max ≤ {MAX_REPLICAS}")
        return None
    return RoleBounds(role, low, high)


def unread(form: ManifestReader) -> bool:
    """Whether a part of edl.dev/roles, or the role itself, is invalid.

    Advice about the other roles would be wrong then.
    """
    paths = {form.annotation_path(contract.ROLES), form.label_path(contract.ROLE)}
    return any(finding.path in paths for finding in form.findings)


def read_bounds(form: ManifestReader, role: str, all_roles: Sequence[RoleBounds]) -> RoleBounds:
    """This object's own bounds: from its labels, else `edl.dev/roles`, else `spec.parallelism`."""
    listed = next((bounds for bounds in all_roles if bounds.role == role), None)
    path = form.annotation_path(contract.ROLES)
    if all_roles and listed is None and not unread(form):
        form.found(path, f'no role "{role}"', f"add {role}=…")
    usual = listed or RoleBounds(role, form.parallelism, form.parallelism)
    low = form.count(contract.MIN, label=True, most=MAX_REPLICAS)
    high = form.count(contract.MAX, label=True, most=MAX_REPLICAS)
    bounds = RoleBounds(
        role, low or min(usual.min, high or usual.min), high or max(usual.max, low or 0)
    )
    if bounds.min > bounds.max:
        what = f"min {bounds.min} is above max {bounds.max}"
        form.found(form.label_path(contract.MIN), what, "1 ≤ min ≤ max")
    if bounds.min < 1:
        later = "at least 1; suspend: true keeps the Job from starting"
        form.found("spec.parallelism", f"{bounds.min} asks for no pod", later)
    if bounds.max > MAX_REPLICAS:
        form.found("spec.parallelism", f"{bounds.max}", f"at most {MAX_REPLICAS}")
    if listed and not form.created and (bounds.min, bounds.max) != (listed.min, listed.max):
        _found_disagreement(form, bounds, listed)
    return bounds


def _found_disagreement(form: ManifestReader, given: RoleBounds, listed: RoleBounds) -> None:
    form.found(
        form.label_path(contract.MIN),
        f"{given.role} is {given.min}..{given.max} here and "
        f"{listed.min}..{listed.max} in {contract.ROLES}",
        f"leave the labels out, or write the same in {contract.ROLES}",
    )


def check_work_items(form: ManifestReader, bounds: RoleBounds, completions: int) -> None:
    """Replicas above the number of work items would have nothing to do."""
    remedy = (
        "framework none counts work items: set spec.completions to their number, or for a work "
        "queue only spec.parallelism"
    )
    if not completions:
        form.found("spec.completions", "0 would end the Job at once", remedy)
    elif bounds.max > completions:
        unset = completions == form.parallelism == 1
        default = ", the default if spec.parallelism is not set either" if unset else ""
        path, most = _written_max(form, bounds)
        if form.created:
            remedy = f"the number of work items never changes: at most {completions}, or a new Job"
        form.found(path, f"{most} is above spec.completions {completions}{default}", remedy)


def _written_max(form: ManifestReader, bounds: RoleBounds) -> tuple[str, str]:
    """The field from which the max of a role follows, and its text in a message."""
    if contract.MAX in form.labels:
        return form.label_path(contract.MAX), f"max {bounds.max}"
    if contract.ROLES in form.annotations:
        return form.annotation_path(contract.ROLES), f"max {bounds.max}"
    if bounds.max == form.parallelism:
        return "spec.parallelism", f"{bounds.max}, which also sets max,"
    return form.label_path(contract.MIN), f"{bounds.max}, which also sets max,"


def check_ranks(form: ManifestReader) -> None:
    """The pods of a ranked Job: `completions`, if set, must equal `parallelism`."""
    completions = form.completions
    if completions is not None and completions != form.parallelism:
        form.found(
            "spec.completions",
            f"{completions} completions with parallelism {form.parallelism}",
            "pods here are ranks, not work items: leave completions out",
        )
