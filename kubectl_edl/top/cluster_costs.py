"""Costs of a cluster: hourly, by what uses its nodes, and of its training jobs so far.

`kubectl edl top cluster` and the dashboard show what `cluster_costs` finds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kubectl_edl.output.cell_quantities import decimal
from kubectl_edl.top.node_shares import node_costs
from kubectl_edl.top.resource_hours import hours, total

if TYPE_CHECKING:
    from edl.model import ClusterState
    from kubectl_edl.top.node_shares import NodeCosts
    from kubectl_edl.top.options import CostOptions
    from kubectl_edl.top.resource_hours import Hours

_UNITS: Final = ("GPU", "CPU")


@dataclass(frozen=True, slots=True)
class ClusterCosts:
    """`hours` of the jobs with GPUs together, and of the others."""

    nodes: NodeCosts
    hours: tuple[Hours, ...]


def cluster_costs(state: ClusterState, asked: CostOptions) -> ClusterCosts:
    """At the time when the state was observed."""
    return ClusterCosts(node_costs(state, asked.prices), hours_so_far(state, asked))


def hours_so_far(state: ClusterState, asked: CostOptions) -> tuple[Hours, ...]:
    """Reads the history of each job, which takes a second for some thousand."""
    found = [hours(job, state.observed_at, asked.serial) for job in state.jobs]
    return tuple(total(found, unit) for unit in _UNITS)


def unpriced(costs: NodeCosts) -> str:
    """Which nodes count as free, and what to do about it; empty where all have a price."""
    if not costs.unpriced:
        return ""
    nodes = "1 node has" if costs.unpriced == 1 else f"{costs.unpriced} nodes have"
    return f"{nodes} no price; add --price TYPE=AMOUNT for its instance type"


def held(found: Hours) -> str:
    """`6 GPU-h`; `>6 GPU-h` where it was more."""
    return ("" if found.whole else ">") + hours_text(found.held, found.unit)


def hours_text(amount: float, unit: str) -> str:
    return f"{decimal(amount)} {unit}-h"


def against(found: Hours) -> str:
    """What was held, compared with a fixed maximum size; empty where that is not known."""
    if found.saved is None:
        return ""
    part = f"{abs(found.saved):.0%}"
    return "the same" if part == "0%" else f"{part} {'more' if found.saved < 0 else 'less'}"


def held_so_far(found: Hours) -> str:
    """`6 GPU-h, 15% less than the 7 of fixed maximum sizes`."""
    compared = against(found)
    if not compared:
        return held(found)
    link = "as" if compared == "the same" else "than"
    return f"{held(found)}, {compared} {link} the {decimal(found.at_max)} of fixed maximum sizes"
