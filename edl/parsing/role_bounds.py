"""The roles of a training job and their bounds: of its cast, and of one object of it."""

import re
from collections.abc import Sequence
from typing import Final

from edl import contract
from edl.frameworks.base import Framework
from edl.parsing.manifest_reader import MOST_REPLICAS, ManifestReader
from edl.spec.job_spec import (
    RoleBounds,
)

_CAST: Final = re.compile(
    r"(?P<role>[a-z]+(-[a-z]+)*)=(?P<min>[0-9]{1,9})(\.\.(?P<max>[0-9]{1,9}))?"
)


_CAST_EXAMPLE: Final = 'write it as "chief=1,ps=2,worker=1..12"'


def read_cast(form: ManifestReader, framework: Framework) -> tuple[RoleBounds, ...]:
    """The seats of `edl.dev/roles`, none without it."""
    text = form.annotations.get(contract.ROLES)
    if text is None:
        return ()
    seats = tuple(_bounds_of(form, framework, part.strip()) for part in text.split(","))
    names = [seat.role for seat in seats if seat]
    path = form.annotation_path(contract.ROLES)
    if len(set(names)) < len(names):
        form.found(path, "a role stands twice", "name each role once")
    return tuple(seat for seat in seats if seat)


def _bounds_of(form: ManifestReader, framework: Framework, part: str) -> RoleBounds | None:
    path = form.annotation_path(contract.ROLES)
    match = _CAST.fullmatch(part)
    if match is None:
        form.found(path, f'"{part}" is not a role and size', _CAST_EXAMPLE)
        return None
    role, low = match["role"], int(match["min"])
    high = int(match["max"] or low)
    kind = framework.kinds.get(role)
    if kind is None:
        known = ", ".join(framework.kinds)
        form.found(path, f'"{role}" is not a role of {framework.name}', f"one of {known}")
        return None
    if not 1 <= low <= high <= MOST_REPLICAS:
        form.found(path, f'"{part}" is not a range', f"1 ≤ min ≤ max ≤ {MOST_REPLICAS}")
        return None
    return RoleBounds(role, low, high)


def unread(form: ManifestReader) -> bool:
    """Whether a part of edl.dev/roles, or the role itself, is invalid.

    Advice about the other roles would be wrong then.
    """
    paths = {form.annotation_path(contract.ROLES), form.label_path(contract.ROLE)}
    return any(finding.path in paths for finding in form.findings)


def read_bounds(form: ManifestReader, role: str, cast: Sequence[RoleBounds]) -> RoleBounds:
    """This object's own bounds: its labels, else the cast's, else `spec.parallelism`."""
    cast_seat = next((seat for seat in cast if seat.role == role), None)
    path = form.annotation_path(contract.ROLES)
    if cast and cast_seat is None and not unread(form):
        form.found(path, f'the cast has no "{role}"', f"add {role}=…")
    usual = cast_seat or RoleBounds(role, form.parallelism, form.parallelism)
    low = form.count(contract.MIN, label=True, most=MOST_REPLICAS)
    high = form.count(contract.MAX, label=True, most=MOST_REPLICAS)
    seat = RoleBounds(
        role, low or min(usual.min, high or usual.min), high or max(usual.max, low or 0)
    )
    if seat.min > seat.max:
        what = f"min {seat.min} is above max {seat.max}"
        form.found(form.label_path(contract.MIN), what, "1 ≤ min ≤ max")
    if seat.min < 1:
        form.found("spec.parallelism", f"{seat.min} would end the Job at once", "at least 1")
    if seat.max > MOST_REPLICAS:
        form.found("spec.parallelism", f"{seat.max}", f"at most {MOST_REPLICAS}")
    if cast_seat and not form.created and (seat.min, seat.max) != (cast_seat.min, cast_seat.max):
        _found_disagreement(form, seat, cast_seat)
    return seat


def _found_disagreement(form: ManifestReader, own: RoleBounds, cast: RoleBounds) -> None:
    form.found(
        form.label_path(contract.MIN),
        f"{own.role} is {own.min}..{own.max} here and {cast.min}..{cast.max} in the cast",
        f"leave the labels out, or write the same in {contract.ROLES}",
    )
