"""The roles of `kubectl edl create`, completed and ordered by the framework."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Final

from edl.errors import Finding
from edl.frameworks import FRAMEWORKS
from edl.frameworks.base import Framework, RoleKind
from edl.parsing.manifest_reader import MAX_REPLICAS
from edl.spec.job_spec import RoleBounds
from kubectl_edl.output.cell_quantities import bounds_text

_SIZE: Final = re.compile(r"(?P<min>[0-9]{1,999})(\.\.(?P<max>[0-9]{1,999}))?")


@dataclass(frozen=True, slots=True)
class RequestedRoles:
    """Bounds of the roles in the framework's order, workers last, and findings about the sizes."""

    all_roles: tuple[RoleBounds, ...]
    findings: tuple[Finding, ...]

    @property
    def alone(self) -> bool:
        return len(self.all_roles) == 1

    @property
    def text(self) -> str:
        """`chief=1,ps=2,worker=1..12`, the format of `edl.dev/roles`."""
        return ",".join(f"{one.role}={bounds_text(one.min, one.max)}" for one in self.all_roles)


def plural(role: str) -> str:
    return role if role.endswith("s") else f"{role}s"


def flags(kind: RoleKind) -> tuple[str, ...]:
    """The spellings of a role's option, the preferred one first: `--workers`, `--worker`."""
    names = (kind.name, plural(kind.name))
    return tuple(dict.fromkeys(f"--{name}" for name in (names if kind.single else names[::-1])))


def flag(framework: Framework, role: str) -> str:
    """The preferred spelling of a role's option, for messages."""
    every = chain((framework,), FRAMEWORKS.values())
    kinds = (other.kinds[role] for other in every if role in other.kinds)
    return flags(next(kinds, RoleKind(role)))[0]


def requested_roles(framework: Framework, mode: str, sizes: Mapping[str, str]) -> RequestedRoles:
    """Parse `sizes`, texts by role such as `2` or `1..12`; without any, one worker.

    Single-replica roles that the mode needs are added. An unreadable size counts as 1, so that it
    causes no further findings.
    """
    asked = dict(sizes) or {framework.worker: "1"}
    findings = [*_unknown_roles(framework, asked), *_unreadable(framework, asked)]
    valid = {role: text for role, text in asked.items() if role in framework.kinds}
    texts = valid | dict.fromkeys(_added(framework, mode, valid), "1")
    # Workers last, as in all lists of roles.
    roles = sorted(framework.kinds, key=lambda role: role == framework.worker)
    all_roles = tuple(_bounds_of(role, texts[role]) for role in roles if role in texts)
    return RequestedRoles(all_roles, tuple(findings))


def _unknown_roles(framework: Framework, roles: Iterable[str]) -> list[Finding]:
    names = ", ".join(flags(kind)[0] for kind in framework.roles)
    return [
        Finding(flag(framework, role), f'{framework.name} has no role "{role}"', f"it has {names}")
        for role in roles
        if role not in framework.kinds
    ]


def _unreadable(framework: Framework, sizes: Mapping[str, str]) -> list[Finding]:
    return [
        Finding(flag(framework, role), f'"{text}" is not a size', problem)
        for role, text in sizes.items()
        if role in framework.kinds and (problem := _problem(text))
    ]


def _problem(text: str) -> str:
    match = _SIZE.fullmatch(text)
    if match is None:
        return "write a number, or a range as MIN..MAX: 1..12"
    low, high = int(match["min"]), int(match["max"] or match["min"])
    if low > high:
        return f"min {low} is above max {high}"
    if high > MAX_REPLICAS:
        return f"{MAX_REPLICAS:,} at most: the API server takes no more of one Job"
    return "" if low else "from 1: a role of 0 ends at once"


def _bounds_of(role: str, text: str) -> RoleBounds:
    match = None if _problem(text) else _SIZE.fullmatch(text)
    if match is None:
        return RoleBounds(role, 1, 1)
    return RoleBounds(role, int(match["min"]), int(match["max"] or match["min"]))


def _added(framework: Framework, name: str, given: Mapping[str, str]) -> tuple[str, ...]:
    """Roles to add: those with a single replica that the matching mode needs as well."""
    chosen = framework.mode(name, tuple(given))
    if chosen and chosen.accepts(given):
        return ()
    modes = [mode for mode in framework.modes if name == mode.name or not (name or mode.opt_in)]
    for mode in modes:
        missing = tuple(role for role in mode.roles if role not in given)
        single = all(framework.kinds[role].single or role in mode.single for role in missing)
        if single and mode.accepts((*given, *missing)):
            return missing
    # No mode is complete, so add the roles that the first mode can add, to shorten the error.
    needed = modes[0].roles if modes else ()
    return tuple(role for role in needed if role not in given and framework.kinds[role].single)
