"""The output of `kubectl edl top`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from edl.model import Node
from edl.quantities import CPU, MEMORY, PODS
from kubectl_edl.output.age import UNKNOWN, age
from kubectl_edl.output.cell_quantities import cores, decimal, gpus, memory, offered_gpus, percent
from kubectl_edl.output.color import meaning
from kubectl_edl.output.report import Report, documents
from kubectl_edl.output.table import Column, Table, in_namespaces, nothing_in
from kubectl_edl.top.cluster_costs import (
    NodeCosts,
    NodeShares,
    against,
    held,
    hours_lines,
    hours_text,
)
from kubectl_edl.top.usage import ClusterUsage, JobUsage, NodeUsage, UsageLine
from kubectl_edl.top.usage_documents import (
    cluster_document,
    job_document,
    node_document,
    thousandths,
)

# -- training jobs -----------------------------------------------------------------------------


def job_report(one: JobUsage, now: datetime) -> Report:
    """The same row for one named job, with its document instead of a list."""
    return replace(jobs_report((one,), now, one.view.job.key.namespace), list_kind="")


def jobs_report(found: Sequence[JobUsage], now: datetime, namespace: str) -> Report:
    """One row per training job; an empty `namespace` shows all, with a column NAMESPACE."""
    return Report(
        sections=(Table.of(_job_columns(found, now, namespace), found),),
        objects=documents("TrainingJobUsage", map(job_document, found)),
        names=tuple(one.view.name for one in found),
        list_kind="TrainingJobUsageList",
        nothing=nothing_in(namespace, "training jobs found"),
    )


def _job_columns(
    found: Sequence[JobUsage], now: datetime, namespace: str
) -> tuple[Column[JobUsage], ...]:
    at_max: tuple[Column[JobUsage], ...] = (
        Column("AT-MAX", lambda one: hours_text(one.hours.at_max, one.hours.unit), spare=4),
        Column("VS-MAX", lambda one: against(one.hours), spare=4),
    )
    return (
        *in_namespaces(namespace, lambda one: one.view.job.key.namespace),
        Column("NAME", lambda one: one.view.job.key.name),
        Column("PHASE", lambda one: one.view.phase.value, colour=meaning, spare=2),
        Column("PODS", lambda one: str(one.pods), spare=1),
        Column("CPU-REQ", lambda one: cores(one.requested.get(CPU)), spare=1),
        Column("CPU-USED", lambda one: _measured(one, CPU, cores)),
        Column("MEM-REQ", lambda one: memory(one.requested.get(MEMORY)), spare=1),
        Column("MEM-USED", lambda one: _measured(one, MEMORY, memory)),
        Column("GPU-REQ", lambda one: thousandths(gpus(one.requested)), spare=4),
        Column("HOURS", lambda one: held(one.hours), spare=4),
        # Shown only if the serial fraction is known.
        *(at_max if any(one.hours.compared for one in found) else ()),
        Column("AGE", lambda one: age(one.view.job.queued_at, now), spare=3),
    )


def _measured(one: JobUsage, name: str, text: Callable[[int], str]) -> str:
    if one.used is None:
        return UNKNOWN
    return f"{'' if one.measured == one.running else '>'}{text(one.used.get(name))}"


# -- nodes -------------------------------------------------------------------------------------


def nodes_report(found: Sequence[NodeUsage]) -> Report:
    """One row per node."""
    return Report(
        sections=(Table.of(_NODES, found),),
        objects=documents("NodeUsage", map(node_document, found)),
        names=tuple(f"node/{one.node.name}" for one in found),
        list_kind="NodeUsageList",
        nothing="No nodes found.",
    )


_NODES: Final[tuple[Column[NodeUsage], ...]] = (
    Column("NAME", lambda one: one.node.name),
    Column(
        "STATUS",
        lambda one: "Ready" if one.node.schedulable else "Unschedulable",
        colour=meaning,
        spare=1,
    ),
    Column("TRAINING", lambda one: str(one.training), spare=3),
    Column("PODS", lambda one: f"{one.pods}/{one.node.allocatable.get(PODS)}", spare=3),
    Column("CPU", lambda one: cores(one.node.allocatable.get(CPU)), wide=True),
    Column("CPU-REQ", lambda one: _asked(one, CPU, cores), spare=2),
    Column("CPU-IDLE", lambda one: cores(one.idle.get(CPU))),
    Column("CPU-USED", lambda one: cores(one.used.get(CPU)) if one.used else UNKNOWN, spare=3),
    Column("MEM", lambda one: memory(one.node.allocatable.get(MEMORY)), wide=True),
    Column("MEM-REQ", lambda one: _asked(one, MEMORY, memory), spare=2),
    Column("MEM-IDLE", lambda one: memory(one.idle.get(MEMORY))),
    Column("MEM-USED", lambda one: memory(one.used.get(MEMORY)) if one.used else UNKNOWN, spare=3),
    Column("GPU", lambda one: thousandths(offered_gpus(one.node.allocatable)), wide=True),
    Column("GPU-REQ", lambda one: _asked_gpus(one.node), spare=2),
    Column("GPU-IDLE", lambda one: thousandths(_idle_gpus(one.node))),
)


def _asked(one: NodeUsage, name: str, text: Callable[[int], str]) -> str:
    asked = one.node.used.get(name)
    return _part(text(asked), asked, one.node.allocatable.get(name))


def _asked_gpus(node: Node) -> str:
    asked = gpus(node.used)
    return _part(thousandths(asked), asked, offered_gpus(node.allocatable))


def _idle_gpus(node: Node) -> int:
    left = offered_gpus(node.allocatable) - gpus(node.used)
    return max(left, 0) if node.schedulable else 0


def _part(text: str, part: int, whole: int) -> str:
    """`12 (75%)`, as kubectl describes a node."""
    return f"{text} ({percent(part, whole)})" if whole else text


# -- the cluster -------------------------------------------------------------------------------


def cluster_report(found: ClusterUsage) -> Report:
    """One row per resource, and further totals below."""
    shown = [one for one in found.lines if one.offered or one.requested]
    return Report(
        sections=(Table.of(_CLUSTER, shown), _footer(found)),
        objects=documents("ClusterUsage", [cluster_document(found)]),
        names=(),
    )


_CLUSTER: Final[tuple[Column[UsageLine], ...]] = (
    Column("RESOURCE", lambda one: one.name),
    Column("OFFERED", lambda one: _text(one, one.offered)),
    Column(
        "REQUESTED",
        lambda one: _part(_text(one, one.requested), one.requested, one.offered),
    ),
    Column("TRAINING", lambda one: _text(one, one.training)),
    Column("OTHERS", lambda one: _text(one, one.requested - one.training), spare=1),
    Column("QUEUED", lambda one: _text(one, one.queued), spare=1),
    Column("IDLE", lambda one: _text(one, one.idle)),
    Column("USED", lambda one: UNKNOWN if one.used is None else _text(one, one.used), spare=1),
)


def _text(one: UsageLine, amount: int) -> str:
    return _TEXTS.get(one.name, str)(amount)


_TEXTS: Final[Mapping[str, Callable[[int], str]]] = {
    CPU: cores,
    MEMORY: memory,
    "gpu": thousandths,
}


def _footer(found: ClusterUsage) -> str:
    closed = sum(not one.node.schedulable for one in found.nodes)
    nodes = f"{len(found.nodes)}" + (f", {closed} of them unschedulable" if closed else "")
    count = sum(found.phases.values())
    jobs = ", ".join(f"{many} {phase}" for phase, many in found.phases.items())
    lines = [f"Nodes: {nodes}", f"Training jobs: {count}" + (f" ({jobs})" if jobs else "")]
    lines += _shares(found.costs.nodes)
    lines += [f"Resource-hours: {text}" for text in hours_lines(found.costs)]
    return "".join(f"{line}\n" for line in lines)


def _shares(costs: NodeCosts) -> list[str]:
    """The use of nodes per hour, and its cost."""
    lines = [f"Node-hours per hour: {_shared(costs.nodes)}"] if costs.nodes.total else []
    if costs.hourly is None:
        return lines
    if costs.unpriced and not costs.hourly.total:
        return [*lines, "Cost per hour: unknown"]
    return [*lines, f"Cost per hour: {_shared(costs.hourly)}"]


def _shared(found: NodeShares) -> str:
    parts = (
        f"{decimal(found.minimums)} by minimums",
        f"{decimal(found.extras)} by extras",
        f"{decimal(found.others)} by others",
        f"{decimal(found.idle)} idle",
    )
    return f"{decimal(found.total)} ({', '.join(parts)})"
