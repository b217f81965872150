"""The nodes' capacity as two arrays, resources x nodes: idle, and idle after terminations.

A plan decides on `future_idle`; replicas that `idle` holds as well start in this plan.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from edl.feasibility.horizon import FUTURE_IDLE, IDLE, Horizon
from edl.model import Node
from edl.quantities import CPU, MEMORY, Resources

if TYPE_CHECKING:
    from edl.feasibility.eligibility import Mask
    from edl.feasibility.gpu_shares import GpuShares
    from edl.feasibility.topology_state import TopologyState
    from edl.planner.packing.pod_class import PodClass


Ints = NDArray[np.int64]
ResourceAmounts = tuple[tuple[int, int], ...]
"""(row of the grid, amount) of each resource that a pod asks for; never an amount of 0."""

ResourceCells = tuple["memoryview[int]", "memoryview[int]", int, int]
"""Future idle and idle capacity of one resource by node, its row in the arrays, and an amount."""

ALL_NODES: Final = slice(None)
"""All nodes."""

_MOST: Final = 2**48
"""Cells stay below 2^48 (256 TiB of memory a node), so that sums over nodes stay in int64."""


class NodeCapacity:
    """`idle` and `future_idle` are int64[resources, nodes]; nodes are sorted by name.

    Changing one value of an array through a memoryview costs a tenth of doing it through numpy,
    and growth changes a hundred thousand of them; both see the same memory.
    """

    def __init__(
        self, nodes: Sequence[Node], names: Iterable[str], topology: "TopologyState | None" = None
    ) -> None:
        self.resources = resource_names(names)
        self.node_names = [node.name for node in nodes]
        self.index = {name: at for at, name in enumerate(self.node_names)}
        self.schedulable: Mask = np.array([node.schedulable for node in nodes], dtype=np.bool_)
        self._schedulable = self.schedulable.tolist()
        self.allocatable = self._columns([node.allocatable for node in nodes])
        self.totals: list[int] = self.allocatable[:, self.schedulable].sum(axis=1).tolist()
        """Capacity of all schedulable nodes together, by resource."""
        self.observed_idle = self.allocatable - self._columns([node.used for node in nodes])
        """`idle` before this plan reserved anything."""
        self.idle = self.observed_idle.copy()
        self.future_idle = self.observed_idle + self._columns([node.releasing for node in nodes])
        self._idle = [memoryview(resource) for resource in self.idle]
        self._future_idle = [memoryview(resource) for resource in self.future_idle]
        self.topology = topology
        """The pods in each domain, where rules ask."""
        self.gpu_shares: GpuShares | None = None
        """GPUs one by one, where pods share them."""
        self.changed_nodes: list[int] = []
        """Nodes whose room changed, one after another."""
        self.freed_nodes: list[int] = []
        """Nodes to which room came back, in order: cursors look at them again."""
        self.total_idle: list[int] = []
        self.total_future_idle: list[int] = []
        self.sum_idle()

    def _columns(self, amounts: Sequence[Resources]) -> Ints:
        by_node = [dict(found.items) for found in amounts]
        table = [[one.get(name, 0) for one in by_node] for name in self.resources]
        return _within(table).reshape(len(self.resources), len(by_node))

    def sum_idle(self) -> None:
        """Sum what is idle on schedulable nodes, after changing the arrays as a whole."""
        self.total_idle = self.idle[:, self.schedulable].sum(axis=1).tolist()
        self.total_future_idle = self.future_idle[:, self.schedulable].sum(axis=1).tolist()

    def available(self, nodes: Ints | slice = ALL_NODES) -> Ints:
        """The room that is free now and promised to no pod; int64[resources, rows]."""
        found: Ints = np.minimum(self.idle[:, nodes], self.future_idle[:, nodes])
        return found

    def future_available(self, nodes: Ints | slice = ALL_NODES) -> Ints:
        """The room that will be free, promised to no pod; int64[resources, rows]."""
        found: Ints = self.future_idle[:, nodes]
        return found

    def amounts(self, requests: Resources) -> ResourceAmounts:
        found = dict(requests.items)
        return tuple(
            (resource, min(found[name], 2 * _MOST))
            for resource, name in enumerate(self.resources)
            if found.get(name, 0) > 0
        )

    def cells_to_change(self, amounts: ResourceAmounts) -> list[ResourceCells]:
        """A pod's requests with the array cells of each resource."""
        return [
            (self._future_idle[resource], self._idle[resource], resource, amount)
            for resource, amount in amounts
        ]

    def cells_to_compare(
        self, amounts: ResourceAmounts, horizon: Horizon
    ) -> list[tuple["memoryview[int]", int]]:
        """The lines that a pod's need is compared with, each with its amount."""
        soon = [(self._future_idle[resource], amount) for resource, amount in amounts]
        if horizon is not IDLE:
            return soon
        return [(self._idle[resource], amount) for resource, amount in amounts] + soon

    def fits(self, node: int, amounts: ResourceAmounts, horizon: Horizon) -> bool:
        return all(
            cells[node] >= amount for cells, amount in self.cells_to_compare(amounts, horizon)
        )

    def reserve(self, node: int, pod_class: "PodClass", horizon: Horizon, pods: int = 1) -> None:
        """Reserve room for pods of this shape, or free it (a negative number of pods)."""
        is_idle = horizon is IDLE
        counts, idle_soon, idle_now = (
            self._schedulable[node],
            self.total_future_idle,
            self.total_idle,
        )
        self.changed_nodes.append(node)
        for soon, at_once, resource, amount in pod_class.cells:
            less = amount * pods
            soon[node] -= less
            if counts:
                idle_soon[resource] -= less
            if is_idle:
                at_once[node] -= less
                if counts:
                    idle_now[resource] -= less
        if pod_class.constraints is not None:
            pod_class.constraints.change(node, pods, horizon)
        if pod_class.share_allocator is not None:
            pod_class.share_allocator.change(node, pods, horizon)

    def add(self, node: int, amounts: ResourceAmounts, sign: int) -> None:
        """Room that others' pods hold comes, or goes again (-1): in `before` as well."""
        counted = self._schedulable[node]
        for resource, amount in amounts:
            more = sign * amount
            self.observed_idle[resource, node] += more
            self._future_idle[resource][node] += more
            self._idle[resource][node] += more
            if counted:
                self.total_future_idle[resource] += more
                self.total_idle[resource] += more
        self.changed_nodes.append(node)
        if sign > 0:
            self.freed_nodes.append(node)

    def defer(self, nodes: Sequence[int], pod_class: "PodClass") -> None:
        """Give back the idle capacity of pods; their future idle capacity stays reserved."""
        self.freed_nodes += nodes
        self.changed_nodes += nodes
        if not pod_class.is_unconstrained:  # shapes that count pods count them again
            for node in nodes:
                self.reserve(node, pod_class, IDLE, -1)
                self.reserve(node, pod_class, FUTURE_IDLE)
            return
        counted = sum(map(self._schedulable.__getitem__, nodes))
        for resource, amount in pod_class.amounts:
            cells = self._idle[resource]
            for node in nodes:
                cells[node] += amount
            self.total_idle[resource] += amount * counted

    def idle_to_keep(self, ceiling: float) -> dict[int, int]:
        """By line: how much of all schedulable cpu and memory growth must leave idle."""
        lines = [self.resources.index(name) for name in (CPU, MEMORY)]
        return {
            resource: self.totals[resource] - int(self.totals[resource] * Fraction(str(ceiling)))
            for resource in lines
        }


def by_scarcest_resource(pods: Iterable[Ints]) -> Ints:
    """How many each node takes, by how many each resource is enough for; int64[nodes]."""
    # Ten times as fast as np.min over a list, which it would first make into one array.
    return reduce(np.minimum, pods)


def resource_names(names: Iterable[str]) -> tuple[str, ...]:
    """The resources of a grid on which these are asked for."""
    return tuple(sorted({CPU, MEMORY, *names}))


def _within(table: list[list[int]]) -> Ints:
    try:
        found: Ints = np.array(table, dtype=np.int64)
    except OverflowError:  # no node has that much; what is read may be any number
        table = [[max(min(amount, _MOST), -_MOST) for amount in resource] for resource in table]
        found = np.array(table, dtype=np.int64)
    return np.clip(found, -_MOST, _MOST)
