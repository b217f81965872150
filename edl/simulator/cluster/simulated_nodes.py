"""The nodes and their usage, changed pod by pod, and read as the planner's `Node` values.

The planner's own code decides whether a pod may run on a node: `edl.feasibility`.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from edl.feasibility.eligibility import Eligibility, Ints, Mask
from edl.feasibility.gpu_shares import best_fit, has_model
from edl.feasibility.horizon import IDLE
from edl.model import Device, Node, Shape
from edl.planner.packing.node_capacity import resource_names
from edl.quantities import Resources
from edl.simulator.cluster.bound_pod_constraints import PodRules
from edl.simulator.cluster.pod_usage import PodUsage


class Place(NamedTuple):
    """Where a pod runs: its node, and the UUIDs of the GPUs of which it has a share."""

    node: str
    devices: tuple[str, ...] = ()


class SimulatedNodes:
    """Usage by node. `used` and `leaving` are int64[resources, nodes], `names` their rows."""

    def __init__(
        self, nodes: Sequence[Node], names: Iterable[str], rules: PodRules | None = None
    ) -> None:
        self.names = resource_names(names)
        self.used: Ints = np.zeros((len(self.names), 0), dtype=np.int64)
        self.leaving = self.used
        self.allocatable = self.used
        self.columns: dict[str, int] = {}
        self.calm = True
        """No node is tainted or cordoned, so no pod has to move."""
        self._rules = rules or PodRules((), ())
        self._devices: dict[str, tuple[Device, ...]] = {}
        """By node name, its devices, each with a UUID and its current usage."""
        self._evictable_pods: Counter[str] = Counter()
        """By node name, its simulated pods that are not terminating."""
        self._given: list[Node] = []
        self._nodes: list[Node] = []
        self._stale: set[int] = set()
        self._needs: dict[Shape, Ints] = {}
        self._masks: dict[Shape, Mask] = {}
        self._eligible = Eligibility(())
        self._usage: PodUsage | None = None
        """None if no node has devices that claims allocate."""
        self.add(nodes)

    # -- nodes -------------------------------------------------------------------------------

    def add(self, nodes: Sequence[Node]) -> None:
        """Add nodes; their given usage never changes."""
        self.used = np.hstack([self.used, self._columns([node.used for node in nodes])])
        self.leaving = np.hstack([self.leaving, self._columns([node.releasing for node in nodes])])
        self._devices |= {node.name: _named(node.devices) for node in nodes if node.devices}
        self._set([*self._given, *nodes])

    def remove(self, name: str) -> None:
        """Remove a node with all of its pods."""
        column = self.columns[name]
        self.used = np.delete(self.used, column, axis=1)
        self.leaving = np.delete(self.leaving, column, axis=1)
        self._devices.pop(name, None)
        self._evictable_pods.pop(name, None)
        self._set([node for node in self._given if node.name != name])

    def change(self, node: Node) -> None:
        """Change a node's labels, taints or schedulability."""
        self._set([node if old.name == node.name else old for old in self._given])

    def node(self, name: str) -> Node | None:
        column = self.columns.get(name)
        return None if column is None else self._given[column]

    def _set(self, nodes: list[Node]) -> None:
        self._given = nodes
        self.calm = not any(node.taints or not node.schedulable for node in nodes)
        self._nodes = list(nodes)
        self._stale = set(range(len(nodes)))
        self.columns = {node.name: column for column, node in enumerate(nodes)}
        self.allocatable = self._columns([node.allocatable for node in nodes])
        self._eligible = Eligibility(nodes)
        self._rules.set_nodes(nodes, self._eligible)
        self._usage = PodUsage(nodes) if any(node.claimed.kinds for node in nodes) else None
        self._masks = {}

    def _columns(self, amounts: Sequence[Resources]) -> Ints:
        table = [[resources.get(name) for resources in amounts] for name in self.names]
        return np.array(table, dtype=np.int64).reshape(len(self.names), len(amounts))

    # -- pods --------------------------------------------------------------------------------

    def need(self, shape: Shape) -> Ints:
        """The requests of a pod of this shape; int64[resources]."""
        need = self._needs.get(shape)
        if need is None:
            need = np.array([shape.requests.get(name) for name in self.names], dtype=np.int64)
            self._needs[shape] = need
        return need

    def bind(self, shape: Shape, node: str, devices: tuple[str, ...] = ()) -> Place:
        """Bind a pod to a node; `devices`: the GPUs of which it already has a share."""
        place = Place(node, devices or self._chosen(shape, node))
        self._change(self.used, shape, node, 1)
        self._evictable_pods[node] += 1
        self._hold(shape, place, used=1)
        if shape.constraints:
            self._rules.bind(shape.constraints, node)
        return place

    def terminate(self, shape: Shape, place: Place) -> None:
        """Count a pod there as terminating."""
        self._change(self.leaving, shape, place.node, 1)
        self._evictable_pods[place.node] -= 1
        self._hold(shape, place, leaving=1)
        if shape.constraints:
            self._rules.terminate(shape.constraints, place.node)

    def free(self, shape: Shape, place: Place, *, leaving: bool) -> None:
        """Remove a pod there; `leaving`: it was terminating."""
        self._change(self.used, shape, place.node, -1)
        if leaving:
            self._change(self.leaving, shape, place.node, -1)
        else:
            self._evictable_pods[place.node] -= 1
        self._hold(shape, place, used=-1, leaving=-int(leaving))
        if shape.constraints:
            self._rules.remove(shape.constraints, place.node, leaving=leaving)

    def _change(self, table: Ints, shape: Shape, name: str, sign: int) -> None:
        column = self.columns.get(name)
        if column is not None:
            more = self._taken(shape, name) if self._usage else self.need(shape)
            table[:, column] += sign * more
            self._stale.add(column)

    def _taken(self, shape: Shape, node: str) -> Ints:
        usage = self._usage.of_new(shape, node) if self._usage else shape.requests
        return np.array([usage.get(name) for name in self.names], dtype=np.int64)

    def _hold(self, shape: Shape, place: Place, used: int = 0, leaving: int = 0) -> None:
        if shape.share is not None and place.devices and place.node in self._devices:
            part, devices = shape.share.part, self._devices[place.node]
            self._devices[place.node] = tuple(
                device._replace(
                    used=device.used.plus(part(device.memory).times(used)),
                    releasing=device.releasing.plus(part(device.memory).times(leaving)),
                )
                if device.uuid in place.devices
                else device
                for device in devices
            )

    def _chosen(self, shape: Shape, node: str) -> tuple[str, ...]:
        """The GPUs that KubeShare's scheduler would assign to a pod of this shape."""
        devices = self._devices.get(node, ())
        if shape.share is None or not devices:
            return ()
        free, memory = [device.free for device in devices], [device.memory for device in devices]
        return tuple(devices[index].uuid for index in best_fit(shape.share, free, memory))

    # -- read --------------------------------------------------------------------------------

    def mask(self, shape: Shape) -> Mask:
        """The nodes that are eligible for a shape, whatever their capacity; bool[nodes]."""
        mask = self._masks.get(shape)
        if mask is None:
            mask = self._masks[shape] = self._eligible.mask(shape)
        return mask

    def fitting_column(self, shape: Shape, name: str) -> int | None:
        """The column of this node if one more pod of this shape fits now, else None."""
        column = self.columns.get(name)
        if column is None or not self.mask(shape)[column]:
            return None
        need, free = self.need(shape), self.allocatable[:, column] - self.used[:, column]
        fits = bool((free >= need)[need > 0].all())
        return column if fits and self.allows(shape, column) else None

    def allows(self, shape: Shape, column: int) -> bool:
        """Whether placement constraints and the node's GPUs allow one more pod of this shape."""
        binding = self._rules.binding(shape)
        allowed = binding is None or binding.allows(column, IDLE)
        return allowed and self._shares(shape, column)

    def _shares(self, shape: Shape, column: int) -> bool:
        """Whether a node's GPUs have the share for one more pod; True if it has no devices."""
        node = self._given[column]
        if shape.share is None or node.name not in self._devices:
            return True
        return has_model(node, shape.share) and bool(self._chosen(shape, node.name))

    def evictable_pods(self, name: str) -> int:
        """The number of simulated pods on this node that are not terminating."""
        return self._evictable_pods[name]

    def name(self, column: int) -> str:
        return self._given[column].name

    def nodes(self) -> tuple[Node, ...]:
        """The nodes for the planner; an unchanged node is the same object as before."""
        for column in self._stale:
            self._nodes[column] = replace(
                self._given[column],
                used=self._amounts(self.used, column),
                releasing=self._amounts(self.leaving, column),
                devices=self._devices.get(self._given[column].name, ()),
                evictable_pods=self._given[column].evictable_pods
                + self._evictable_pods[self._given[column].name],
            )
        self._stale = set()
        return tuple(self._nodes)

    def _amounts(self, table: Ints, column: int) -> Resources:
        amounts = table[:, column].tolist()
        return Resources(tuple(pair for pair in zip(self.names, amounts, strict=True) if pair[1]))

    def totals(self) -> tuple[dict[str, int], dict[str, int]]:
        """(used, allocatable) of all nodes together, by resource."""
        used, most = self.used.sum(axis=1).tolist(), self.allocatable.sum(axis=1).tolist()
        return dict(zip(self.names, used, strict=True)), dict(zip(self.names, most, strict=True))


def _named(devices: Sequence[Device]) -> tuple[Device, ...]:
    """The devices, each with a UUID; real ones are learnt from their first pod."""
    return tuple(
        device._replace(uuid=device.uuid or f"unnamed-{place}")
        for place, device in enumerate(devices)
    )
