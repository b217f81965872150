"""An autoscaler of nodes: it makes those that pods wait for, and removes those that are not needed.

It gathers pods for `Timing.autoscaler` seconds, and fills nodes that are on their way first. For a
pod it takes the pool, of those whose nodes may take it, that costs least; the first of equals. It
counts requests and asks for labels and taints, not for what pods say of each other.
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
from edl.model import Node, Shape
from edl.simulator.cluster.consolidation import GOING, Consolidation
from edl.simulator.environment import Environment
from edl.simulator.scenario import SimulatedNodePool

GIVEN: Final = ""
"""Stands for a pool of the nodes that belong to none."""
_HOSTNAME: Final = "kubernetes.io/hostname"
_HAIR: Final = 1e-6
"""Instants are rounded to milliseconds."""


@dataclass(slots=True, eq=False)
class _ComingNode:
    pool: SimulatedNodePool
    free: Ints
    """What is not filled by pods that wait; int64[resources]."""


@dataclass(slots=True)
class SimulatedAutoscaler:
    """Mutable; without pools it does nothing."""

    env: Environment
    pools: tuple[SimulatedNodePool, ...]
    consolidation: Consolidation | None = None
    """Finds nodes that are not needed besides empty ones."""
    _coming: list[_ComingNode] = field(default_factory=list)
    _pool_of: dict[str, SimulatedNodePool] = field(default_factory=dict)
    """By the names of the nodes that it made and has not removed."""
    _numbers: Counter[str] = field(default_factory=Counter)
    _calm: dict[str, tuple[bytes, float]] = field(default_factory=dict)
    """What is used of each of them, and since when no pod has come or gone."""
    _used: bytes = b""
    """What is used of all nodes."""
    _looks: bool = False
    _seen: tuple[int, int] = (-1, -1)
    """What it saw when it last looked: it looks again when that is different."""
    _room: dict[tuple[str, Shape], int] = field(default_factory=dict)

    def notice(self) -> None:
        """After each instant: plans to look, where it might find something."""
        if not self.pools:
            return
        env = self.env
        if self._situation() != self._seen and not self._looks and env.scheduler.waiting():
            self._looks = True
            env.after(env.world.settings.autoscaler, self._look)
        for name in self._pool_of:
            self._note_use(name)
        # Capacity that comes on any node may take the pods of one that is then not needed.
        if (used := env.sim_nodes.used.tobytes()) != self._used:
            self._used = used
            for seconds in {pool.idle for pool in self._pool_of.values()}:
                env.after(seconds, self._remove)

    def _note_use(self, name: str) -> None:
        used = self.env.sim_nodes.used[:, self.env.sim_nodes.columns[name]].tobytes()
        if name not in self._calm or self._calm[name][0] != used:
            self._calm[name] = used, self.env.now

    def counts(self) -> Mapping[str, int]:
        """Nodes that are paid for, by pool: those on their way too, without those that are not."""
        found = Counter(pool.name for pool in self._pool_of.values())
        found.update(one.pool.name for one in self._coming)
        found[GIVEN] = len(self.env.sim_nodes.columns) - len(self._pool_of)
        return {name: count for name, count in sorted(found.items()) if count}

    def lose(self, name: str) -> None:
        """A node is gone, not by its doing."""
        self._pool_of.pop(name, None)
        self._calm.pop(name, None)

    def _situation(self) -> tuple[int, int]:
        """Pods that there were so far, and nodes that there are: more wait when one has changed."""
        return self.env.serial, len(self.env.sim_nodes.columns)

    # -- up ----------------------------------------------------------------------------------

    def _look(self) -> None:
        self._looks, self._seen = False, self._situation()
        for one in self._coming:
            one.free = self._capacity(one.pool)
        for shape, pods in self.env.scheduler.waiting().items():
            left = pods
            for one in self._coming:
                if left and self._per_node(one.pool, shape):
                    left -= self._fill(one, shape, left)
            while left and (pool := self._cheapest(shape)):
                one = _ComingNode(pool, self._capacity(pool))
                self._coming.append(one)
                left -= self._fill(one, shape, left)
                self.env.after(pool.start_up, partial(self._add, one))

    def _fill(self, one: _ComingNode, shape: Shape, pods: int) -> int:
        """How many of these pods it takes."""
        need = self.env.sim_nodes.need(shape)
        asked = need > 0
        found = min(int((one.free[asked] // need[asked]).min(initial=pods)), pods)
        one.free = one.free - found * need
        return found

    def _cheapest(self, shape: Shape) -> SimulatedNodePool | None:
        """Per pod of this shape, of pools below their limit."""
        made = self.counts()
        fitting = (
            (pool.price / most, place, pool)
            for place, pool in enumerate(self.pools)
            if made.get(pool.name, 0) < pool.limit and (most := self._per_node(pool, shape))
        )
        return min(fitting, key=lambda found: found[:2], default=(0, 0, None))[2]

    def _per_node(self, pool: SimulatedNodePool, shape: Shape) -> int:
        """Pods of this shape that an empty node of the pool takes."""
        key = (pool.name, shape)
        if key not in self._room:
            need, capacity = self.env.sim_nodes.need(shape), self._capacity(pool)
            asked = need > 0
            eligible = Eligibility([_node(pool, "")]).mask(shape)[0]
            most = int(
                (capacity[asked] // need[asked]).min(initial=1 if not asked.any() else 2**31)
            )
            self._room[key] = most if eligible else 0
        return self._room[key]

    def _capacity(self, pool: SimulatedNodePool) -> Ints:
        amounts = [pool.node.allocatable.get(name) for name in self.env.sim_nodes.names]
        return np.array(amounts, dtype=np.int64)

    def _add(self, one: _ComingNode) -> None:
        self._coming.remove(one)
        name = self._free_name(one.pool.name)
        self._pool_of[name] = one.pool
        self.env.sim_nodes.add([_node(one.pool, name)])
        self.env.freed()

    def _free_name(self, pool: str) -> str:
        """The next of the pool that no other node has."""
        while True:
            name = f"{pool}-{self._numbers[pool]}"
            self._numbers[pool] += 1
            if name not in self.env.sim_nodes.columns:
                return name

    # -- down --------------------------------------------------------------------------------

    def _remove(self) -> None:
        """Nodes that have been empty for long enough; one that is not needed is given up."""
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
        """Its pods leave as the planner tells them to."""
        node = self.env.sim_nodes.node(name)
        if node is not None and GOING not in node.taints:
            self.env.sim_nodes.change(replace(node, taints=(*node.taints, GOING)))
            self.env.freed()


def _node(pool: SimulatedNodePool, name: str) -> Node:
    own = {_HOSTNAME: name, NODE_POOL: pool.name}
    return replace(pool.node, name=name, labels={**(pool.node.labels or {}), **own})
