"""Replica specs in Kubeflow's format: `{replicas, restartPolicy, template}` per role."""

from collections.abc import Callable, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from edl import contract
from edl.convert.parts import pod_templates, restart_policy
from edl.convert.tracked_object import Fields
from edl.writes import Json


class Replica(msgspec.Struct, frozen=True):
    """One role of the source, with at least one replica, its template, and its own fields."""

    role: str
    size: int
    template: Json
    restart: str
    """One of `restart_policy.POLICIES`; empty if neither the source nor its default sets one."""
    fields: Fields


def with_template(replica: Replica, template: Json) -> Replica:
    return replace(replica, template=template)


def with_templates(
    replicas: Sequence[Replica], change: Callable[[Replica], Json]
) -> tuple[Replica, ...]:
    """The roles, each with the template that `change` makes of it."""
    return tuple(replace(replica, template=change(replica)) for replica in replicas)


def read(specs: Fields, roles: Mapping[str, str], usual_restart: str) -> tuple[Replica, ...]:
    """Replicas by role; `roles` maps the source's role names, in lower case, to ours.

    Roles with 0 replicas are dropped.
    """
    replicas = []
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
        replicas.append(by_policy(fields, role, 1 if size is None else size, usual_restart))
    if not replicas:
        specs.wrong("", "has no replicas", "at least one role with one replica")
    _check_once(specs, replicas)
    return tuple(replicas)


def by_policy(fields: Fields, role: str, size: int, usual_restart: str) -> Replica:
    """One role's replica spec; its restart policy wins over the template's, as in the operators."""
    template = pod_templates.read(fields)
    stated = fields.choice("restartPolicy", restart_policy.POLICIES)
    inner, template = pod_templates.restart_of(fields, template)
    if inner and inner != (stated or usual_restart):
        winner = stated or usual_restart or "what the operator sets"
        fields.note("template", f'"{inner}" in the template never counted: {winner} wins')
    return Replica(role, size, template, stated or usual_restart, fields)


def by_template(fields: Fields, role: str, size: int) -> Replica:
    """A replica spec of an API version in which the template's own restart policy applied."""
    policy, template = pod_templates.restart_of(fields, pod_templates.read(fields))
    return Replica(role, size, template, policy or "OnFailure", fields)


def _drop(specs: Fields, name: str, fields: Fields) -> None:
    for inner in fields.names():
        fields.value(inner)
    specs.lose(name, "0 replicas make no Job", "a role that shall exist has at least one")


def _check_once(specs: Fields, replicas: Sequence[Replica]) -> None:
    seen = set()
    for replica in replicas:
        if replica.role in seen:
            specs.wrong("", f"two roles are a {replica.role} here", "keep one of them")
        seen.add(replica.role)


# The one port at which the replicas of a training job find each other.


class RendezvousPort(msgspec.Struct, frozen=True):
    """The container and port name that a source uses for it, and the default port number."""

    container: str
    name: str
    usual: int

    def of(self, replica: Replica) -> int | None:
        main = pod_templates.main_container(replica.template, self.container)
        return pod_templates.port_named(main, self.name)

    def without(self, template: Json, number: int) -> Json:
        """Remove this port from the template's list if the entry has no other settings."""
        main = pod_templates.main_container(template, self.container)
        plain = {"name": self.name, "containerPort": number, "protocol": "TCP"}
        left = [port for port in main.get("ports") or () if {"protocol": "TCP"} | port != plain]
        bare = pod_templates.without(main, "ports") | ({"ports": left} if left else {})
        changed = [bare if one is main else one for one in pod_templates.containers(template)]
        return template | {"spec": template["spec"] | {"containers": changed}}

    def annotations(self, replicas: Sequence[Replica]) -> dict[str, str]:
        """The port annotation, unless it is the default; a role with another port is reported."""
        numbers = {replica.role: number for replica in replicas if (number := self.of(replica))}
        first = next(iter(numbers.values()), self.usual)
        for replica in replicas:
            if numbers.get(replica.role, first) != first:
                what = f"{self.name} is {numbers[replica.role]} here and {first} in another role"
                replica.fields.lose(
                    "template", what, f"{first} is the port of all roles: use one port"
                )
        return port_annotation(first, self.usual)


def port_annotation(number: int, usual: int) -> dict[str, str]:
    return {} if number == usual else {contract.PORT: str(number)}
