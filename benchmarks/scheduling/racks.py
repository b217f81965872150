"""A fragmented cluster of 16 racks × 16 nodes and gangs for it, drawn from a seed."""

from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any, Final, NamedTuple

from sandbox import NodeGroup

RACKS: Final = 16
NODES: Final = 16
"""The number of nodes in each rack."""
RACKS_OF_A_BLOCK: Final = 4
GPU: Final = "nvidia.com/gpu"
GPUS: Final = 8
"""GPUs per node."""
CPU: Final = 96
BLOCK, RACK = "example.com/block", "example.com/rack"
TENANTS: Final = "tenants"
DEMANDS: Final = (0.7, 1.2)
"""The requested GPUs as a multiple of the free ones: all gangs fit, or not all do."""
_PODS: Final = (2, 4, 4, 8, 8, 16, 16, 32, 48)
_EACH: Final = (1, 1, 2, 2, 4)
_OF_A_RACK: Final = 48
_OF_A_BLOCK: Final = 192
"""The most GPUs of a gang that may require one block."""


class Machine(NamedTuple):
    """A node, and how many of its GPUs are held by pods of other tenants."""

    name: str
    block: str
    rack: str
    held: int


class Gang(NamedTuple):
    """A gang of `pods` pods with `gpus` GPUs each.

    `required`: the level of which it needs one domain; if empty, it prefers few blocks and racks.
    """

    name: str
    pods: int
    gpus: int
    required: str

    @property
    def total(self) -> int:
        return self.pods * self.gpus


class RackScenario(NamedTuple):
    machines: tuple[Machine, ...]
    gangs: tuple[Gang, ...]

    @property
    def free(self) -> int:
        """The GPUs that no tenant holds."""
        return sum(GPUS - machine.held for machine in self.machines)


def scenario(seed: int, demand: float) -> RackScenario:
    random = Random(seed)  # noqa: S311 - no secret depends on it
    machines = tuple(_machines(random))
    free = RackScenario(machines, ()).free
    return RackScenario(machines, tuple(_gangs(random, demand * free)))


def _machines(random: Random) -> Iterator[Machine]:
    """Racks have different loads, and the nodes of each vary around its load."""
    for rack in range(RACKS):
        load = random.uniform(0.1, 0.9)
        for number in range(NODES):
            held = sum(random.random() < load for _ in range(GPUS))
            block = f"block-{rack // RACKS_OF_A_BLOCK}"
            yield Machine(f"rack-{rack:02}-{number:03}", block, f"rack-{rack:02}", held)


def _gangs(random: Random, demand: float) -> Iterator[Gang]:
    asked, number = 0, 0
    while asked < demand:
        pods, gpus = random.choice(_PODS), random.choice(_EACH)
        drawn = random.choice((RACK, RACK, BLOCK, "", ""))
        most = {RACK: _OF_A_RACK, BLOCK: _OF_A_BLOCK}.get(drawn, RACKS * NODES * GPUS)
        yield Gang(f"gang-{number:03}", pods, gpus, drawn if pods * gpus <= most else "")
        asked += pods * gpus
        number += 1


class Placements:
    """The results of the gangs: the node of each pod by gang, and when its binding was observed."""

    def __init__(self, given: RackScenario) -> None:
        self.given = given
        self.nodes: dict[str, dict[str, str]] = {gang.name: {} for gang in given.gangs}
        self.times: list[float] = []
        self.processor: Mapping[str, float] = {}
        self.begun = 0.0

    def see(self, gang: str, index: str, node: str, at: float) -> None:
        """Record that the pod of this index is bound to the node, at this time in seconds."""
        if self.nodes[gang].get(index) != node:
            self.nodes[gang][index] = node
            self.times.append(at)

    @property
    def whole(self) -> list[Gang]:
        """The gangs of which every pod has a node."""
        return [gang for gang in self.given.gangs if len(self.nodes[gang.name]) == gang.pods]

    @property
    def half(self) -> int:
        return sum(0 < len(self.nodes[gang.name]) < gang.pods for gang in self.given.gangs)

    def domains(self, gang: Gang, level: str) -> int:
        machines = {one.name: one for one in self.given.machines}
        found = (machines[node] for node in self.nodes[gang.name].values())
        return len({one.rack if level == RACK else one.block for one in found})

    @property
    def broken(self) -> int:
        """The number of gangs that are not in one domain of the level that they require."""
        asked = (gang for gang in self.whole if gang.required)
        return sum(self.domains(gang, gang.required) > 1 for gang in asked)


def groups() -> Iterator[NodeGroup]:
    """The sandbox's nodes, one group per rack: RACK-000, RACK-001 and so on."""
    for rack in range(RACKS):
        labels = {
            BLOCK: f"block-{rack // RACKS_OF_A_BLOCK}",
            RACK: f"rack-{rack:02}",
            "pool": "gpu",
        }
        yield NodeGroup(NODES, str(CPU), "512Gi", GPUS, labels, f"rack-{rack:02}")


def tenants(machines: Sequence[Machine]) -> Iterator[dict[str, Any]]:
    """A bound pod on each node, which holds the GPUs of other tenants."""
    for machine in machines:
        if machine.held:
            spec = {"nodeName": machine.name, **template(machine.held)["spec"]}
            yield {"metadata": {"name": f"tenant-{machine.name}"}, "spec": spec}


def template(gpus: int, annotations: Mapping[str, str] | None = None) -> dict[str, Any]:
    """A pod template that requests only GPUs, so that no other resource can be insufficient."""
    container = {"name": "main", "image": "none", "resources": {"limits": {GPU: str(gpus)}}}
    spec = {"restartPolicy": "Never", "containers": [container]}
    return {"metadata": {"annotations": dict(annotations or {})}, "spec": spec}
