"""What pods take of their nodes, with devices that count in several resources."""

from collections.abc import Sequence

from edl.model import Node, Pod, Shape
from edl.planner.packing.device_claims import DeviceClaims
from edl.quantities import Resources


class PodUsage:
    """Pods that are not known to hold devices take whatever they may on their node."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._columns = {node.name: column for column, node in enumerate(nodes)}
        self._names = sorted(
            {name for node in nodes for kind in node.claimed.kinds for name in kind}
        )
        self._claims = DeviceClaims(nodes, self._names)
        self._known: dict[tuple[Shape, str], Resources] = {}

    def of(self, namespace: str, shape: Shape, pod: Pod) -> Resources:
        """What a bound pod takes."""
        if not self._claims:
            return shape.requests
        amounts = self._amounts(shape)
        taken = self._claims.taken(namespace, pod, amounts)
        return self.of_new(shape, pod.node) if taken is None else self._with(shape, dict(taken))

    def of_new(self, shape: Shape, node: str) -> Resources:
        """What a new pod may take of a node."""
        column = self._columns.get(node)
        if not self._claims or column is None:
            return shape.requests
        if (shape, node) not in self._known:
            taken = dict(self._amounts(shape))
            for row, amounts in self._claims.beside(tuple(taken.items())).items():
                taken[row] = taken.get(row, 0) + int(amounts[column])
            self._known[shape, node] = self._with(shape, taken)
        return self._known[shape, node]

    def _amounts(self, shape: Shape) -> tuple[tuple[int, int], ...]:
        amounts = ((row, shape.requests.get(name)) for row, name in enumerate(self._names))
        return tuple((row, amount) for row, amount in amounts if amount)

    def _with(self, shape: Shape, devices: dict[int, int]) -> Resources:
        others = {name: amount for name, amount in shape.requests if name not in self._names}
        return Resources.of(others | {self._names[row]: amount for row, amount in devices.items()})
