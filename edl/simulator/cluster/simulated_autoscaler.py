"""A node autoscaler: adds nodes for pending pods, and removes unneeded nodes.

It gathers pods for `Timing.autoscaler` seconds, and fills requested nodes first. For a pod it takes
the cheapest pool whose nodes fit it, the first among equals. It considers requests, labels and
taints, but no constraints between pods.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import numpy as np
from msgspec.structs import replace

from edl.contract import NODE_POOL
from edl.feasibility.eligibility import Eligibility, Ints
from edl.model import Node, NodePoolHeadroom, Requirement, Shape
from edl.model.nodes import HOSTNAME, NodePoolTemplate
from edl.simulator.cluster.consolidation import GOING, Consolidation
from edl.simulator.environment import Environment
from edl.simulator.scenario import SimulatedNodePool

GIVEN: Final = ""
"""The pool name that stands for nodes of no pool."""
_HAIR: Final = 1e-6
"""Tolerance in seconds, because instants are rounded to milliseconds."""


@dataclass(slots=True, eq=False)
class _ComingNode:
    pool: SimulatedNodePool
    free: Ints
    """Capacity that no pending pod fills; int64[resources]."""


@dataclass(slots=True)
class SimulatedAutoscaler:
    """Mutable; without pools it does nothing."""

    env: Environment
    pools: tuple[SimulatedNodePool, ...]
    consolidation: Consolidation | None = None
    """Finds unneeded nodes that are not empty; None: only empty nodes are removed."""
    _coming: list[_ComingNode] = field(default_factory=list)
    _pool_of: dict[str, SimulatedNodePool] = field(default_factory=dict)
    """By node name, for the nodes that it added and has not removed."""
    _numbers: Counter[str] = field(default_factory=Counter)
    _calm: dict[str, tuple[bytes, float]] = field(default_factory=dict)
    """By node name, its usage, and since when that has not changed."""
    _used: bytes = b""
    """The usage of all nodes."""
    _looks: bool = False
    _seen: tuple[int, int] = (-1, -1)
    """The situation at the last scale-up check; another check needs a different one."""
    _fitting: dict[tuple[str, Shape], int] = field(default_factory=dict)

    def notice(self) -> None:
        """After each instant: schedule checks for scale-up and scale-down if useful."""
        if not self.pools:
            return
        env = self.env
        if self._situation() != self._seen and not self._looks and env.scheduler.waiting():
            self._looks = True
            env.after(env.scenario.settings.autoscaler, self._look)
        for name in self._pool_of:
            self._note_use(name)
        # Capacity freed on any node may fit the pods of another one, which is then unneeded.
        if (used := env.sim_nodes.used.tobytes()) != self._used:
            self._used = used
            for seconds in {pool.idle for pool in self._pool_of.values()}:
                env.after(seconds, self._remove)

    def _note_use(self, name: str) -> None:
        used = self.env.sim_nodes.used[:, self.env.sim_nodes.columns[name]].tobytes()
        if name not in self._calm or self._calm[name][0] != used:
            self._calm[name] = used, self.env.now

    def counts(self) -> Mapping[str, int]:
        """Nodes by pool, requested ones included; zeros are left out."""
        counts = Counter(pool.name for pool in self._pool_of.values())
        counts.update(node.pool.name for node in self._coming)
        counts[GIVEN] = len(self.env.sim_nodes.columns) - len(self._pool_of)
        return {name: count for name, count in sorted(counts.items()) if count}

    def headroom(self) -> tuple[NodePoolHeadroom, ...]:
        """What it may add to each pool, as Karpenter's limits would say."""
        counts = self.counts() if self.pools else {}
        lefts = ((pool, pool.limit - counts.get(pool.name, 0)) for pool in self.pools)
        return tuple(
            NodePoolHeadroom(
                tuple((name, amount * left) for name, amount in pool.node.allocatable),
                template=_template(pool),
            )
            for pool, left in lefts
        )

    def lose(self, name: str) -> None:
        """Forget a node."""
        self._pool_of.pop(name, None)
        self._calm.pop(name, None)

    def _situation(self) -> tuple[int, int]:
        """(pods created so far, nodes): only after a change may other pods be pending."""
        return self.env.serial, len(self.env.sim_nodes.columns)

    # -- up ----------------------------------------------------------------------------------

    def _look(self) -> None:
        self._looks, self._seen = False, self._situation()
        for node in self._coming:
            node.free = self._capacity(node.pool)
        for shape, pods in self.env.scheduler.waiting().items():
            left = pods
            for node in self._coming:
                if left and self._per_node(node.pool, shape):
                    left -= self._fill(node, shape, left)
            while left and (pool := self._cheapest(shape)):
                node = _ComingNode(pool, self._capacity(pool))
                self._coming.append(node)
                left -= self._fill(node, shape, left)
                self.env.after(pool.start_up, partial(self._add, node))

    def _fill(self, node: _ComingNode, shape: Shape, pods: int) -> int:
        """Place as many of these pods as fit on a requested node; their number."""
        need = self.env.sim_nodes.need(shape)
        asked = need > 0
        fitting = min(int((node.free[asked] // need[asked]).min(initial=pods)), pods)
        node.free = node.free - fitting * need
        return fitting

    def _cheapest(self, shape: Shape) -> SimulatedNodePool | None:
        """The pool below its limit with the least price per pod of this shape, or None."""
        made = self.counts()
        fitting = (
            (pool.price / most, place, pool)
            for place, pool in enumerate(self.pools)
            if made.get(pool.name, 0) < pool.limit and (most := self._per_node(pool, shape))
        )
        return min(fitting, key=lambda choice: choice[:2], default=(0, 0, None))[2]

    def _per_node(self, pool: SimulatedNodePool, shape: Shape) -> int:
        """How many pods of this shape fit on an empty node of the pool."""
        key = (pool.name, shape)
        if key not in self._fitting:
            need, capacity = self.env.sim_nodes.need(shape), self._capacity(pool)
            asked = need > 0
            eligible = Eligibility([_node(pool, "")]).mask(shape)[0]
            most = int(
                (capacity[asked] // need[asked]).min(initial=1 if not asked.any() else 2**31)
            )
            self._fitting[key] = most if eligible else 0
        return self._fitting[key]

    def _capacity(self, pool: SimulatedNodePool) -> Ints:
        amounts = [pool.node.allocatable.get(name) for name in self.env.sim_nodes.names]
        return np.array(amounts, dtype=np.int64)

    def _add(self, node: _ComingNode) -> None:
        self._coming.remove(node)
        name = self._free_name(node.pool.name)
        self._pool_of[name] = node.pool
        self.env.sim_nodes.add([_node(node.pool, name)])
        self.env.freed()

    def _free_name(self, pool: str) -> str:
        """The pool's next node name that is not in use."""
        while True:
            name = f"{pool}-{self._numbers[pool]}"
            self._numbers[pool] += 1
            if name not in self.env.sim_nodes.columns:
                return name

    # -- down --------------------------------------------------------------------------------

    def _remove(self) -> None:
        """Remove nodes that have been empty for long enough, and start to drain an unneeded one."""
        env = self.env
        calm = [
            name
            for name, (_, since) in self._calm.items()
            if env.now >= since + self._pool_of[name].idle - _HAIR
        ]
        used = env.sim_nodes.used.sum(axis=0).tolist()
        for name in [name for name in calm if not used[env.sim_nodes.columns[name]]]:
            calm.remove(name)
            self.lose(name)
            env.sim_nodes.remove(name)
            env.freed()
        if self.consolidation and (spare := self.consolidation.spare(calm)):
            self._give_up(spare)

    def _give_up(self, name: str) -> None:
        """Taint a node; the planner then moves its pods."""
        node = self.env.sim_nodes.node(name)
        if node is not None and GOING not in node.taints:
            self.env.sim_nodes.change(replace(node, taints=(*node.taints, GOING)))
            self.env.freed()


def _node(pool: SimulatedNodePool, name: str) -> Node:
    own_labels = {HOSTNAME: name, NODE_POOL: pool.name}
    return replace(pool.node, name=name, labels={**(pool.node.labels or {}), **own_labels})


def _template(pool: SimulatedNodePool) -> NodePoolTemplate:
    labels = _node(pool, "").labels or {}
    needs = (Requirement(key, "In", (value,)) for key, value in labels.items() if key != HOSTNAME)
    return NodePoolTemplate(pool.node.taints, tuple(needs))
