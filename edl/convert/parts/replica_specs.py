"""Replica specs as Kubeflow writes them: `{replicas, restartPolicy, template}` under a role."""

from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from edl.convert.parts import pod_templates, restart_policy
from edl.convert.tracked_object import Fields
from edl.writes import Json


class Replica(msgspec.Struct, frozen=True):
    """One role of the source: at least one replica, its template whole, and its own fields."""

    role: str
    size: int
    template: Json
    restart: str
    """One of `restart_policy.POLICIES`; empty where neither the source nor its default says."""
    fields: Fields


def with_template(replica: Replica, template: Json) -> Replica:
    return replace(replica, template=template)


def read(specs: Fields, roles: Mapping[str, str], usual_restart: str) -> tuple[Replica, ...]:
    """Replicas by role; `roles` are our words for the source's, which may be spelled in any case.

    Roles of no replicas are dropped.
    """
    found = []
    for name in specs.names():
        role = roles.get(name.lower())
        if role is None:
            specs.wrong(name, f'"{name}" is not a role', f"one of {', '.join(roles)}")
            continue
        fields = specs.fields(name)
        size = fields.whole("replicas")
        if size == 0:
            _drop(specs, name, fields)
            continue
        found.append(one(fields, role, 1 if size is None else size, usual_restart))
    if not found:
        specs.wrong("", "has no replicas", "at least one role with one replica")
    _check_once(specs, found)
    return tuple(found)


def one(fields: Fields, role: str, size: int, usual_restart: str) -> Replica:
    """A replica spec. A restart policy in its template never counted: the role's overwrote it."""
    template = pod_templates.read(fields)
    said = fields.choice("restartPolicy", restart_policy.POLICIES)
    inner, template = pod_templates.restart_of(fields, template)
    if inner and inner != (said or usual_restart):
        winner = said or usual_restart or "what the operator sets"
        fields.note("template", f'"{inner}" in the template never counted: {winner} wins')
    return Replica(role, size, template, said or usual_restart, fields)


def by_template(fields: Fields, role: str, size: int) -> Replica:
    """A replica spec of the days when the template's own restart policy counted."""
    policy, template = pod_templates.restart_of(fields, pod_templates.read(fields))
    return Replica(role, size, template, policy or "OnFailure", fields)


def _drop(specs: Fields, name: str, fields: Fields) -> None:
    for inner in fields.names():
        fields.value(inner)
    specs.lose(name, "0 replicas make no Job", "a role that shall exist has at least one")


def _check_once(specs: Fields, found: Sequence[Replica]) -> None:
    seen = set()
    for replica in found:
        if replica.role in seen:
            specs.wrong("", f"two roles are a {replica.role} here", "keep one of them")
        seen.add(replica.role)
