"""Costs of a cluster: hourly, by what uses its nodes, and of its training jobs so far.

Used by `kubectl edl top cluster` and the dashboard.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from edl.contract import NODE_POOL
from edl.model import ClusterState, Node, Pod, Role
from edl.quantities import CPU, Resources
from kubectl_edl.output.cell_quantities import cpus, decimal, gpus, offered_gpus
from kubectl_edl.top.options import CostOptions
from kubectl_edl.top.resource_hours import Hours, Unit, hours, total

_SMALL: Final = 10
INSTANCE_TYPE: Final = "node.kubernetes.io/instance-type"


@dataclass(frozen=True, slots=True)
class NodeShares:
    """Node counts or their hourly price, divided by what uses the nodes."""

    minimums: float = 0
    """Used by replicas up to the minimum of their role."""
    extras: float = 0
    """Used by replicas above the minimum."""
    others: float = 0
    idle: float = 0

    @property
    def total(self) -> float:
        return self.minimums + self.extras + self.others + self.idle

    def plus(self, parts: tuple[float, float, float], worth: float) -> "NodeShares":
        """Add a node, of which these fractions are used."""
        minimums, extras, others = (part * worth for part in parts)
        return NodeShares(
            self.minimums + minimums,
            self.extras + extras,
            self.others + others,
            self.idle + worth - minimums - extras - others,
        )


@dataclass(frozen=True, slots=True)
class NodeCosts:
    """Totals of all nodes; `hourly` is None if no price is given."""

    nodes: NodeShares
    hourly: NodeShares | None = None
    unpriced: int = 0
    """Nodes without a price, which count as free."""
    unlabelled: int = 0
    """The unpriced nodes that have neither an instance type nor a node pool."""
    unit_prices: Mapping[Unit, float] = field(default_factory=dict)
    """The hourly price of one GPU and of one CPU, averaged over the nodes that have a price."""


def node_costs(state: ClusterState, prices: Mapping[str, float]) -> NodeCosts:
    """Costs of the nodes; `prices` per hour are by instance type, or by node pool."""
    held = _held(state)
    nodes = hourly = NodeShares()
    unpriced = unlabelled = 0
    for node in state.nodes:
        parts = _parts(node, *held[node.name])
        nodes = nodes.plus(parts, 1)
        price = _price(node, prices)
        unpriced += price is None
        unlabelled += not any(_price_names(node))
        hourly = hourly.plus(parts, price or 0)
    if not prices:
        return NodeCosts(nodes)
    return NodeCosts(nodes, hourly, unpriced, unlabelled, _unit_prices(state.nodes, prices))


def _unit_prices(nodes: Iterable[Node], prices: Mapping[str, float]) -> Mapping[Unit, float]:
    paid, offered = defaultdict[Unit, float](float), Counter[Unit]()
    for node in nodes:
        price, (unit, amount) = _price(node, prices), _counted(node)
        if price is not None and amount:
            paid[unit] += price
            offered[unit] += amount
    return {unit: 1000 * paid[unit] / amount for unit, amount in offered.items()}


def _price(node: Node, prices: Mapping[str, float]) -> float | None:
    return next((prices[name] for name in _price_names(node) if name in prices), None)


def _price_names(node: Node) -> tuple[str, str]:
    labels = node.labels or {}
    return labels.get(INSTANCE_TYPE, ""), labels.get(NODE_POOL, "")


def _parts(node: Node, minimums: Resources, extras: Resources) -> tuple[float, float, float]:
    """Fractions of a node used by minimums, extras and other pods; at most 1 in total."""
    unit, offered = _counted(node)
    requested = gpus if unit is Unit.GPU else cpus
    if not offered:
        return 0.0, 0.0, 0.0
    first, more, used = requested(minimums), requested(extras), requested(node.used)
    most, others = max(offered, used, first + more), max(used - first - more, 0)
    return first / most, more / most, others / most


def _counted(node: Node) -> tuple[Unit, int]:
    """The unit that the node's price is divided by, and how many thousandths of it there are."""
    if count := offered_gpus(node.allocatable):
        return Unit.GPU, count
    return Unit.CPU, node.allocatable.get(CPU)


def _held(state: ClusterState) -> Mapping[str, tuple[Resources, Resources]]:
    """(requests of minimums and of provisional pods, requests of extras) by node."""
    by_node: defaultdict[str, tuple[Resources, Resources]]
    by_node = defaultdict(lambda: (Resources(), Resources()))
    for role in (role for job in state.jobs for role in job.roles):
        for place, pod in enumerate(_placed(role)):
            minimums, extras = by_node[pod.node]
            requests = role.template.shape.requests
            if place < role.spec.min:
                by_node[pod.node] = minimums + requests, extras
            else:
                by_node[pod.node] = minimums, extras + requests
    for held in (pod for job in state.jobs for pod in job.provisioning.bound):
        minimums, extras = by_node[held.node]
        by_node[held.node] = minimums + held.requests, extras
    return by_node


def _placed(role: Role) -> Iterator[Pod]:
    """Scheduled pods that have not ended, lowest index first."""
    pods = (pod for pod in role.status.pods if pod.node and not pod.ended)
    yield from sorted(pods, key=lambda pod: (pod.index, pod.created_at, pod.name))


@dataclass(frozen=True, slots=True)
class ClusterCosts:
    """Costs of nodes, and resource-hours: one total for jobs with GPUs, one for the others."""

    nodes: NodeCosts
    hours: tuple[Hours, ...]


def cluster_costs(state: ClusterState, asked: CostOptions) -> ClusterCosts:
    """Costs at the time when the state was observed."""
    return ClusterCosts(node_costs(state, asked.prices), hours_so_far(state, asked))


def hours_so_far(state: ClusterState, asked: CostOptions) -> tuple[Hours, ...]:
    """Resource-hours from the history of each job, which takes a second for some thousand jobs."""
    per_job = [hours(job, state.observed_at, asked.serial) for job in state.jobs]
    return tuple(total(per_job, unit) for unit in Unit)


def unpriced(costs: NodeCosts) -> str:
    """A note on nodes without a price, with a remedy; empty if all have one."""
    if not costs.unpriced:
        return ""
    nodes = "1 node has" if costs.unpriced == 1 else f"{costs.unpriced} nodes have"
    if costs.unlabelled == costs.unpriced:
        return f"{nodes} no price: prices go by the label {INSTANCE_TYPE} or {NODE_POOL}"
    return f"{nodes} no price; add --price TYPE=AMOUNT for its instance type"


def so_far(hours: Hours) -> str:
    """`6 GPU-h`; `>6 GPU-h` if the history is incomplete."""
    return ("" if hours.whole else ">") + hours_text(hours.held, hours.unit)


def hours_text(amount: float, unit: str) -> str:
    return f"{decimal(amount)} {unit}-h"


def against(hours: Hours) -> str:
    """The used hours compared with a fixed maximum size; empty if that is unknown."""
    if hours.saved is None:
        return ""
    part = f"{abs(hours.saved):.0%}"
    return "the same" if part == "0%" else f"{part} {'more' if hours.saved < 0 else 'less'}"


def hours_lines(costs: ClusterCosts) -> list[str]:
    """`6 GPU-h, 15% less than the 7 of fixed maximum sizes`, for each unit that jobs held."""
    prices = costs.nodes.unit_prices
    return [_held_so_far(hours) + _money(hours, prices) for hours in costs.hours if hours.held]


def _held_so_far(hours: Hours) -> str:
    compared = against(hours)
    if not compared:
        return so_far(hours)
    link = "as" if compared == "the same" else "than"
    return f"{so_far(hours)}, {compared} {link} the {decimal(hours.at_max)} of fixed maximum sizes"


def _money(hours: Hours, prices: Mapping[Unit, float]) -> str:
    """`: 12.6 instead of 14.7`; empty if no node has a price for the unit."""
    if hours.unit not in prices:
        return ""
    price = prices[hours.unit]
    fixed = "" if hours.saved is None else f" instead of {_cents(hours.at_max * price)}"
    return f": a cost of {_cents(hours.held * price)}{fixed}"


def _cents(amount: float) -> str:
    """With two digits where it is small, as early savings are."""
    return f"{amount:.2f}" if amount < _SMALL else decimal(amount)
