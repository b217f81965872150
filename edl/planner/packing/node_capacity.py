"""The nodes' capacity as two arrays, resources x nodes: idle, and idle after terminations.

A plan decides by `future_idle`; replicas that fit into `idle` too are created by this plan.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from edl.feasibility.eligibility import Ints
from edl.feasibility.horizon import FUTURE_IDLE, IDLE, Horizon
from edl.model import Node
from edl.planner.packing.device_claims import DeviceClaims
from edl.quantities import CPU, MEMORY, SHARED_GPU, Resources

if TYPE_CHECKING:
    from edl.feasibility.eligibility import Mask
    from edl.feasibility.gpu_shares import GpuShares
    from edl.feasibility.topology_state import TopologyState
    from edl.planner.packing.pod_class import PodClass

Counts = NDArray[np.int16]
ResourceAmounts = tuple[tuple[int, int], ...]
"""(row of the arrays, amount) of each resource that a pod requests; amounts are above 0."""

ResourceCells = tuple["memoryview[int]", "memoryview[int]", int, int]
"""Future idle and idle capacity of one resource by node, its row in the arrays, and an amount."""

ALL_NODES: Final = slice(None)
NO_NODE: Final = -1
_MAX_AMOUNT: Final = 2**48
"""Amounts are capped at 2^48 (256 TiB of memory per node), so that sums over nodes fit in int64."""


class NodeCapacity:
    """`idle` and `future_idle` are int64[resources, nodes]; nodes are sorted by name.

    Single cells are read and written through memoryviews of the same memory, at a tenth of numpy's
    cost: growth changes 100,000 of them.
    """

    def __init__(
        self, nodes: Sequence[Node], names: Iterable[str], topology: "TopologyState | None" = None
    ) -> None:
        self.resources = resource_names(names)
        self.node_names = [node.name for node in nodes]
        self.index = {name: column for column, name in enumerate(self.node_names)}
        self.schedulable: Mask = np.array([node.schedulable for node in nodes], dtype=np.bool_)
        self._schedulable = self.schedulable.tolist()
        allocatable, used, releasing = self._read(nodes)
        requested = slice(len(self.resources))
        self.allocatable = allocatable[requested]
        self._least: list[int] = self.allocatable.min(axis=1, initial=_MAX_AMOUNT).tolist()
        """By resource, what every node has at least."""
        self.totals: list[int] = self.allocatable[:, self.schedulable].sum(axis=1).tolist()
        """Capacity of all schedulable nodes together, by resource."""
        self.observed_idle = self.allocatable - used[requested]
        """`idle` before this plan reserved anything."""
        self.idle = self.observed_idle.copy()
        self.releasing = releasing[requested]
        """What terminating pods hold, also those of other owners."""
        self.future_idle = self.observed_idle + self.releasing
        self.devices = [row for row, name in enumerate(self.resources) if _is_device(name)]
        """The rows of extended resources, devices of DRA and shared GPUs."""
        self.unrequested_devices = _kinds((allocatable - used + releasing)[len(self.resources) :])
        """By node, the kinds of idle devices that no pod requests; None if no node offers any."""
        self.device_claims = DeviceClaims(nodes, self.resources) or None
        """None if no pod requests devices of DRA: the usual case."""
        self._idle = [memoryview(resource) for resource in self.idle]
        self._future_idle = [memoryview(resource) for resource in self.future_idle]
        self.topology = topology
        """The pods in each domain, if any pod has placement constraints."""
        self.gpu_shares: GpuShares | None = None
        """Single GPUs, if any pod shares them."""
        self.changed_nodes: list[int] = []
        """Nodes whose capacity changed, in order of the changes; repeated."""
        self.freed_nodes: list[int] = []
        """Nodes on which capacity was freed, in order: cursors examine them again."""
        self.total_idle: list[int] = []
        self.total_future_idle: list[int] = []
        self.sum_idle()

    def count_as_used(self, pod_class: "PodClass", nodes: Sequence[int]) -> None:
        """Count the capacity of one releasing pod per entry of `nodes` as used.

        Call it before any reservation. A pod may have been created with other requests than its
        class has, so at most what its node is releasing counts.
        """
        pod_class.reserve_in(self.releasing, nodes)
        np.maximum(self.releasing, 0, out=self.releasing)
        self.future_idle[:] = self.observed_idle + self.releasing

    def _read(self, nodes: Sequence[Node]) -> tuple[Ints, Ints, Ints]:
        """Allocatable, used and releasing: int64[resources, then devices that no pod requests]."""
        offered = {name for node in nodes for name, _ in node.allocatable.items}
        others = sorted(filter(_is_device, offered.difference(self.resources)))
        names = [*self.resources, *others]
        return (
            _table(names, [node.allocatable for node in nodes]),
            _table(names, [node.used for node in nodes]),
            _table(names, [node.releasing for node in nodes]),
        )

    def sum_idle(self) -> None:
        """Recompute the totals of schedulable nodes after the arrays were changed directly."""
        self.total_idle = self.idle[:, self.schedulable].sum(axis=1).tolist()
        self.total_future_idle = self.future_idle[:, self.schedulable].sum(axis=1).tolist()

    def available(self, nodes: Ints | slice = ALL_NODES, horizon: Horizon = IDLE) -> Ints:
        """Capacity at a horizon that is reserved for no pod; int64[resources, nodes read]."""
        future_idle: Ints = self.future_idle[:, nodes]
        return np.minimum(self.idle[:, nodes], future_idle) if horizon is IDLE else future_idle

    def available_on(self, node: int, rows: Iterable[int], horizon: Horizon) -> dict[int, int]:
        """Capacity of one node at a horizon that is reserved for no pod, by row; from 0."""
        soon, at_once = self._future_idle, self._idle
        if horizon is not IDLE:
            return {row: max(soon[row][node], 0) for row in rows}
        return {row: max(min(soon[row][node], at_once[row][node]), 0) for row in rows}

    def amounts(self, requests: Resources) -> ResourceAmounts:
        requested = dict(requests.items)
        return tuple(
            (row, min(requested[name], 2 * _MAX_AMOUNT))
            for row, name in enumerate(self.resources)
            if requested.get(name, 0) > 0
        )

    def large_enough(self, amounts: ResourceAmounts) -> "Mask":
        """Nodes on which one pod of these amounts would fit if they were empty; bool[nodes]."""
        large = np.ones(len(self.node_names), dtype=np.bool_)
        for row, amount in amounts:
            if amount > self._least[row]:
                large &= self.allocatable[row] >= amount
        return large

    def cells_to_change(self, amounts: ResourceAmounts) -> list[ResourceCells]:
        """For each requested resource, the cells that a reservation changes, and the amount."""
        return [(self._future_idle[row], self._idle[row], row, amount) for row, amount in amounts]

    def cells_to_compare(
        self, amounts: ResourceAmounts, horizon: Horizon
    ) -> list[tuple["memoryview[int]", int]]:
        """The cells by node to compare at this horizon, each with the requested amount."""
        soon = [(self._future_idle[row], amount) for row, amount in amounts]
        if horizon is not IDLE:
            return soon
        return [(self._idle[row], amount) for row, amount in amounts] + soon

    def reserve(
        self, node: int, cells: Sequence[ResourceCells], horizon: Horizon, pods: int
    ) -> None:
        """Reserve capacity for `pods` pods on a node; free it if negative."""
        self.changed_nodes.append(node)
        counts, idle_soon = self._schedulable[node], self.total_future_idle
        if horizon is not IDLE:
            for soon, _, row, amount in cells:
                less = amount * pods
                soon[node] -= less
                if counts:
                    idle_soon[row] -= less
            return
        idle_now = self.total_idle
        for soon, at_once, row, amount in cells:
            less = amount * pods
            soon[node] -= less
            at_once[node] -= less
            if counts:
                idle_soon[row] -= less
                idle_now[row] -= less

    def reserve_observed(self, node: int, amounts: ResourceAmounts, pods: int) -> None:
        """Reserve idle capacity for `pods` pods, also in `observed_idle`; free it if negative."""
        self.reserve(node, self.cells_to_change(amounts), IDLE, pods)
        for row, amount in amounts:
            self.observed_idle[row, node] -= amount * pods
        if pods < 0:
            self.freed_nodes.append(node)

    def defer(self, nodes: Sequence[int], pod_class: "PodClass") -> None:
        """Give back the idle capacity of pods; their future idle capacity stays reserved."""
        self.freed_nodes += nodes
        self.changed_nodes += nodes
        # Constraints and GPU shares must count the pods too, and devices in several resources.
        if not pod_class.is_unconstrained or pod_class.beside:
            for node in nodes:
                pod_class.reserve(node, IDLE, -1)
                pod_class.reserve(node, FUTURE_IDLE)
            return
        counted = sum(map(self._schedulable.__getitem__, nodes))
        for row, amount in pod_class.amounts:
            cells = self._idle[row]
            for node in nodes:
                cells[node] += amount
            self.total_idle[row] += amount * counted

    def idle_to_keep(self, ceiling: float) -> dict[int, int]:
        """By row: the CPU and memory of all schedulable nodes that growth must leave idle."""
        rows = [self.resources.index(name) for name in (CPU, MEMORY)]
        part = Fraction(str(ceiling))  # what the number is written as: 9/10 for 0.9
        return {row: self.totals[row] - int(self.totals[row] * part) for row in rows}


def by_scarcest_resource(pods: Iterable[Ints]) -> Ints:
    """Pods that fit per node, from the pods that each resource suffices for; int64[nodes]."""
    # Ten times as fast as np.min, which would first copy the list into one array.
    return reduce(np.minimum, pods)


def resource_names(names: Iterable[str]) -> tuple[str, ...]:
    """The rows of the arrays: CPU, memory and these resources, sorted."""
    return tuple(sorted({CPU, MEMORY, *names}))


def _is_device(name: str) -> bool:
    return "/" in name or name == SHARED_GPU


def _kinds(idle: Ints) -> Counts | None:
    """How many kinds of devices each node has idle, of int64[kinds, nodes]; None without kinds."""
    return (idle > 0).sum(axis=0, dtype=np.int16) if len(idle) else None


def _table(names: Sequence[str], amounts: Sequence[Resources]) -> Ints:
    by_node = [dict(resources.items) for resources in amounts]
    table = [[by_name.get(name, 0) for by_name in by_node] for name in names]
    return _capped(table).reshape(len(names), len(by_node))


def _capped(table: list[list[int]]) -> Ints:
    try:
        amounts: Ints = np.array(table, dtype=np.int64)
    except OverflowError:  # a node's status may contain any number
        table = [[max(min(amount, _MAX_AMOUNT), -_MAX_AMOUNT) for amount in row] for row in table]
        amounts = np.array(table, dtype=np.int64)
    return np.minimum(np.maximum(amounts, -_MAX_AMOUNT), _MAX_AMOUNT)
