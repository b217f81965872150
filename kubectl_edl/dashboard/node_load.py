"""Load of nodes by resource: requests of bound pods as a share of allocatable."""

from collections.abc import Iterable, Sequence
from typing import Final

from edl.model import Node
from edl.quantities import CPU, MEMORY, PODS, Resources
from edl.writes import Json

MAX_NODES: Final = 200
_FIRST: Final = (CPU, MEMORY)
_MAX_RESOURCES: Final = 4
_STEPS: Final = (25, 50, 75, 95)
_GIB: Final = 2**30
_LARGE: Final = 100 * _GIB
"""From this many bytes on, whole GiB are shown."""


def names(nodes: Iterable[Node]) -> tuple[str, ...]:
    """The resources to show: CPU, memory, then devices (`nvidia.com/gpu`) by name."""
    offered = {name for node in nodes for name, _ in node.allocatable}
    devices = sorted(name for name in offered if "/" in name or name.startswith("shared"))
    return (*(name for name in _FIRST if name in offered), *devices)[:_MAX_RESOURCES]


def title(name: str) -> str:
    """`CPU`, `Memory`, `gpu` of `nvidia.com/gpu`."""
    return {CPU: "CPU", MEMORY: "Memory"}.get(name, name.rpartition("/")[2])


def amount(name: str, value: int) -> str:
    """An amount for display: cores, GiB, or a count."""
    if name == CPU:
        return f"{value / 1000:.6g}"
    if name == MEMORY:
        return f"{value / _GIB:.3g} GiB" if value < _LARGE else f"{value / _GIB:.0f} GiB"
    return str(value)


def share(used: Resources, offered: Resources, name: str) -> int:
    """Used per allocatable in percent: 0 without any, and above 100 if a node shrank."""
    most = offered.get(name)
    return round(100 * used.get(name) / most) if most else 0


def totals(nodes: Sequence[Node]) -> list[Json]:
    """Used and allocatable of all nodes that take pods, one entry per resource."""
    shown, usable = names(nodes), [node for node in nodes if node.schedulable]
    used = {name: sum(node.used.get(name) for node in usable) for name in shown}
    offered = {name: sum(node.allocatable.get(name) for node in usable) for name in shown}
    return [_load(Resources.of(used), Resources.of(offered), name) for name in shown]


def each(nodes: Sequence[Node]) -> list[Json]:
    """The first `MAX_NODES` nodes by name, one entry per node."""
    shown = names(nodes)
    first = sorted(nodes, key=lambda node: node.name)[:MAX_NODES]
    return [
        {
            "name": node.name,
            "status": node.status,
            "pods": node.used.get(PODS),
            "loads": [_load(node.used, node.allocatable, name) for name in shown],
        }
        for node in first
    ]


def spread(nodes: Sequence[Node]) -> list[Json]:
    """The number of nodes that take pods, per range of CPU load."""
    usable = [node for node in nodes if node.schedulable]
    loads = [share(node.used, node.allocatable, CPU) for node in usable]
    bounds = [*zip((0, *_STEPS), _STEPS, strict=False), (_STEPS[-1], None)]
    return [
        {
            "title": f"{low} to {high} %" if high else f"{low} % and more",
            "nodes": sum(low <= load and (high is None or load < high) for load in loads),
        }
        for low, high in bounds
    ]


def _load(used: Resources, offered: Resources, name: str) -> Json:
    return {
        "name": name,
        "title": title(name),
        "share": share(used, offered, name),
        "used": amount(name, used.get(name)),
        "offered": amount(name, offered.get(name)),
    }
