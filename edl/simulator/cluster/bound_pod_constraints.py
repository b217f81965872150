"""Placement constraints between pods: the planner's own rules, over bound pods."""

from collections import Counter
from collections.abc import Iterable, Sequence

from edl.feasibility.constraints import ConstraintState
from edl.feasibility.eligibility import Eligibility
from edl.feasibility.horizon import FUTURE_IDLE, IDLE
from edl.feasibility.topology_state import TopologyState
from edl.model import ForeignPods, Node, PodConstraints, Shape


class PodRules:
    """Mutable: counts pods as they are bound, terminate and are gone.

    `shapes`: the shapes of pods that will be scheduled. `neighbours`: other owners' pods that stay.
    """

    def __init__(self, shapes: Iterable[Shape], neighbours: Sequence[ForeignPods]) -> None:
        self._shapes = dict.fromkeys(shape for shape in shapes if shape.constraints)
        self._neighbours = neighbours
        self._pods: Counter[tuple[str, PodConstraints]] = Counter()
        self._leaving: Counter[tuple[str, PodConstraints]] = Counter()
        self._nodes: Sequence[Node] = ()
        self._eligible = Eligibility(())
        self._rows: dict[str, int] = {}
        self._topology: TopologyState | None = None

    def set_nodes(self, nodes: Sequence[Node], eligible: Eligibility) -> None:
        """Replace the nodes; pods on removed nodes are gone."""
        self._nodes, self._eligible, self._topology = nodes, eligible, None
        self._rows = {node.name: row for row, node in enumerate(nodes)}
        for table in (self._pods, self._leaving):
            for key in [key for key in table if key[0] not in self._rows]:
                del table[key]

    def binding(self, shape: Shape) -> ConstraintState | None:
        """The constraints of a pod of this shape; None if it has none."""
        if shape.constraints is None:
            return None
        if shape not in self._shapes:
            self._shapes[shape] = None
            self._topology = None
        return self._counted().constraints_of(shape)

    def bind(self, rules: PodConstraints, node: str) -> None:
        self._change(rules, node, 1)

    def terminate(self, rules: PodConstraints, node: str) -> None:
        """Count a pod there as terminating."""
        self._change(rules, node, 0, leaving=1)

    def remove(self, rules: PodConstraints, node: str, *, leaving: bool) -> None:
        """Remove a pod there; `leaving`: it was terminating."""
        self._change(rules, node, -1, leaving=-int(leaving))

    def _change(self, rules: PodConstraints, node: str, pods: int, leaving: int = 0) -> None:
        row = self._rows.get(node)
        if row is None:
            return
        self._pods[node, rules] += pods
        self._leaving[node, rules] += leaving
        for count in self._topology.carried(rules) if self._topology else ():
            if pods:
                count.change(row, pods, IDLE)
            if leaving:
                count.change(row, -leaving, FUTURE_IDLE)

    def _counted(self) -> TopologyState:
        if self._topology is None:
            self._topology = self._gathered()
        return self._topology

    def _gathered(self) -> TopologyState:
        others = [neighbour for neighbour in self._neighbours if neighbour.node in self._rows]
        standing = [rules for (_, rules), pods in self._pods.items() if pods]
        own_constraints = [shape.constraints for shape in self._shapes if shape.constraints]
        topology = TopologyState(
            self._nodes,
            self._eligible,
            [*own_constraints, *standing, *(neighbour.constraints for neighbour in others)],
        )
        topology.register(self._shapes)
        for neighbour in others:
            self._stand(topology, neighbour, others=True)
        for (node, rules), pods in self._pods.items():
            ours = ForeignPods(node, rules, pods, self._leaving[node, rules])
            self._stand(topology, ours, others=False)
        return topology

    def _stand(self, topology: TopologyState, group: ForeignPods, *, others: bool) -> None:
        for count in topology.carried(group.constraints):
            count.add_existing(self._rows[group.node], group.pods, group.terminating, others=others)
