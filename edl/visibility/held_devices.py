"""What running pods count in their teams, by the devices that they hold."""

from collections.abc import Iterable, Sequence
from typing import Final

from edl.model import Node, Pod, Role, TrainingJob
from edl.quantities import Resources

_NONE: Final = Resources()


class HeldDevices:
    """The devices of DRA that pods hold. They may count in more classes than pods request."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        self._held: dict[tuple[str, str], tuple[str, Resources, frozenset[str]]] = {}
        for node in nodes:
            names = frozenset(name for kind in node.claimed.kinds for name in kind)
            for pod, amounts in node.claimed.held.items():
                self._held[pod] = node.name, amounts, names

    def counted(self, job: TrainingJob, role: Role, pods: Sequence[Pod]) -> Resources:
        """What these bound pods of a role count."""
        total = role.template.shape.counted * len(pods)
        for pod in pods if self._held else ():
            node, held, names = self._held.get(
                (job.key.namespace, pod.name), ("", _NONE, frozenset())
            )
            if node == pod.node:
                shape = role.template.shape
                usual = {name: amount for name, amount in shape.counted if name in names}
                total += held - Resources.of(usual)
        return total
