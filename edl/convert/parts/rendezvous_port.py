"""The port at which the replicas of a training job find each other: one for all of them."""

from collections.abc import Sequence

import msgspec

from edl import contract
from edl.convert.parts import pod_templates
from edl.convert.parts.replica_specs import Replica
from edl.writes import Json


class RendezvousPort(msgspec.Struct, frozen=True):
    """How a source names it: a port of a container, and the number where it says nothing."""

    container: str
    name: str
    usual: int

    def of(self, replica: Replica) -> int | None:
        main = pod_templates.main_container(replica.template, self.container)
        return pod_templates.port_named(main, self.name)

    def without(self, template: Json, number: int) -> Json:
        """The template, not listing this port where it says the number and no more."""
        main = pod_templates.main_container(template, self.container)
        plain = {"name": self.name, "containerPort": number, "protocol": "TCP"}
        left = [port for port in main.get("ports") or () if {"protocol": "TCP"} | port != plain]
        bare = pod_templates.without(main, "ports") | ({"ports": left} if left else {})
        changed = [bare if one is main else one for one in pod_templates.containers(template)]
        return template | {"spec": template["spec"] | {"containers": changed}}

    def annotations(self, found: Sequence[Replica]) -> dict[str, str]:
        """Only where it is not the usual one; a role that says another one is told."""
        numbers = {replica.role: number for replica in found if (number := self.of(replica))}
        first = next(iter(numbers.values()), self.usual)
        for replica in found:
            if numbers.get(replica.role, first) != first:
                what = f"{self.name} is {numbers[replica.role]} here and {first} in another role"
                replica.fields.lose(
                    "template", what, f"{first} is the port of all roles: use one port"
                )
        return said(first, self.usual)


def said(number: int, usual: int) -> dict[str, str]:
    return {} if number == usual else {contract.PORT: str(number)}
