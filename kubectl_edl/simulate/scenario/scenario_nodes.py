"""The nodes of a scenario: groups of equal nodes, node pools, and events on nodes."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from edl.model import Node, Taint
from edl.model.nodes import HOSTNAME
from edl.quantities import CPU, MEMORY, PODS, Resources
from edl.simulator import Change, NodeEvent, SimulatedNodePool
from kubectl_edl.simulate.scenario.field_reader import Field
from kubectl_edl.simulate.scenario.scenario_jobs import AMOUNTS

NODES: Final = ("name", "count", *AMOUNTS, "pods", "resources", "labels", "taints")
POOL: Final = (
    *("name", *AMOUNTS, "pods", "resources", "labels", "taints"),
    *("limit", "startUp", "price", "idle"),
)
EVENT: Final = ("at", "node", "change")
_FIELDS: Final = {Change.ADDED: ("at", "change", *NODES), Change.TAINTED: (*EVENT, "taint")}
"""Fields by kind of event; other kinds have the default fields."""
_CHANGES: Final = tuple(change.value for change in Change)
_TAINT: Final = re.compile(r"(?P<key>[^=:]+)(=(?P<value>[^:]*))?:(?P<effect>\w+)")
_EFFECTS: Final = ("NoSchedule", "NoExecute", "PreferNoSchedule")
_MAX_NODES: Final = 100_000


def group(field: Field) -> Iterator[Node]:
    """`count` equal nodes, `NAME-0`, `NAME-1`, …; a single one is called NAME."""
    return _nodes(field.only(NODES))


def pools(field: Field) -> Iterator[SimulatedNodePool]:
    """Node pools that an autoscaler scales; their nodes are POOL-0, POOL-1 and so on."""
    for number, pool in enumerate(field.listed()):
        (pattern,) = _nodes(pool.only(POOL), 1)
        usual = SimulatedNodePool("", pattern, 1)
        yield SimulatedNodePool(
            name=pool["name"].text(f"pool-{number}"),
            node=pattern,
            limit=pool["limit"].whole(_MAX_NODES, least=1, most=_MAX_NODES),
            start_up=pool["startUp"].seconds(usual.start_up),
            price=pool["price"].number(usual.price),
            idle=pool["idle"].seconds(usual.idle),
        )


def events(field: Field, nodes: Sequence[Node]) -> Iterator[NodeEvent]:
    """Events on these nodes, and additions of nodes."""
    by_name = {node.name: node for node in nodes}
    for event in field.listed():
        change = _change(event["change"])
        event.only(_FIELDS.get(change, EVENT) if change else (*EVENT, "taint", *NODES))
        if change is Change.ADDED:
            time = event["at"].seconds(0)
            yield from (NodeEvent(time, change, node) for node in _nodes(event))
        else:
            yield from _node_event(event, change, by_name)


def _node_event(
    event: Field, change: Change | None, by_name: Mapping[str, Node]
) -> Iterator[NodeEvent]:
    """An event on an existing node."""
    time, taint = event["at"].seconds(0), event["taint"]
    node = _node_named(event["node"], by_name) if change or event["node"] else None
    if change is Change.TAINTED and not taint:
        event.report("no taint", "taint: key=value:NoExecute")
    elif change and node:
        yield NodeEvent(time, change, node, _taint(taint) if taint else None)


def _change(field: Field) -> Change | None:
    """The kind of event; None with a finding if it is missing or unknown."""
    if not field:
        field.report("is missing", ", ".join(_CHANGES))
        return None
    name = field.choice(_CHANGES, "")
    return Change(name) if name else None


def _node_named(field: Field, by_name: Mapping[str, Node]) -> Node | None:
    name = field.text()
    if name not in by_name:
        nodes = list(by_name)
        example = f"{nodes[0]} … {nodes[-1]}" if nodes else "nodes of this scenario"
        field.report(f'"{name}" is not a node', example)
    return by_name.get(name)


def _nodes(field: Field, count: int | None = None) -> Iterator[Node]:
    if count is None:
        count = field["count"].whole(1, most=_MAX_NODES)
    name = field["name"].text(f"node-{field.place[-1]}")
    capacity = _capacity(field)
    labels = {key: part.text() for key, part in field["labels"].members()}
    taints = tuple(taint for part in field["taints"].items() if (taint := _taint(part)))
    for number in range(count):
        node_name = f"{name}-{number}" if count > 1 else name
        named = {HOSTNAME: node_name} | labels
        yield Node(node_name, capacity, Resources(), Resources(), labels=named, taints=taints)


def _capacity(field: Field) -> Resources:
    named = {resource: resource for resource, _ in field["resources"].members()}
    capacity = Resources.of({PODS: field["pods"].whole(110)}) + field.resources(AMOUNTS)
    capacity += field["resources"].resources(named)
    if not (field[CPU] or CPU in named):
        field[CPU].report("is missing", "the cores of a node, such as 16")
    # Nodes without a memory field have unlimited memory, not none.
    return capacity if capacity.get(MEMORY) else capacity + Resources.of({MEMORY: 2**50})


def _taint(field: Field) -> Taint | None:
    match = _TAINT.fullmatch(field.text())
    if match is None or match["effect"] not in _EFFECTS:
        field.report(f'"{field.value}"', f"key=value:EFFECT, EFFECT one of {', '.join(_EFFECTS)}")
        return None
    return Taint(match["key"], match["value"] or "", match["effect"])
