"""The output of `kubectl edl top`."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from edl.model import Node
from edl.quantities import CPU, MEMORY, PODS
from kubectl_edl.job_views.training_job_view import time_text
from kubectl_edl.output.age import UNKNOWN, age
from kubectl_edl.output.cell_quantities import (
    cores,
    decimal,
    gpus,
    memory,
    offered_gpus,
    percent,
    quantities,
    quantity,
    thousandths,
)
from kubectl_edl.output.color import meaning
from kubectl_edl.output.documents import cluster_documents as of_cluster
from kubectl_edl.output.documents.shared_documents import (
    ResourceHoursCostDocument,
    ResourceHoursDocument,
)
from kubectl_edl.output.documents.training_job_documents import TrainingJobUsageDocument
from kubectl_edl.output.report import Report, documents
from kubectl_edl.output.table import Column, Table, in_namespaces, nothing_in
from kubectl_edl.top.cluster_costs import (
    NodeCosts,
    NodeShares,
    against,
    hours_lines,
    hours_text,
    so_far,
)
from kubectl_edl.top.resource_hours import Hours
from kubectl_edl.top.usage import ClusterUsage, JobUsage, NodeUsage, UsageLine

# -- training jobs -----------------------------------------------------------------------------


def job_report(usage: JobUsage, now: datetime) -> Report:
    """The same row for one named job, with its document instead of a list."""
    return replace(jobs_report((usage,), now, usage.view.job.key.namespace), list_kind="")


def jobs_report(usages: Sequence[JobUsage], now: datetime, namespace: str) -> Report:
    """One row per training job; an empty `namespace` shows all, with a column NAMESPACE."""
    return Report(
        sections=(Table.of(_job_columns(usages, now, namespace), usages),),
        objects=documents("TrainingJobUsage", map(_job_document, usages)),
        names=tuple(usage.view.name for usage in usages),
        list_kind="TrainingJobUsageList",
        nothing=nothing_in(namespace, "training jobs found"),
    )


def _job_columns(
    usages: Sequence[JobUsage], now: datetime, namespace: str
) -> tuple[Column[JobUsage], ...]:
    at_max: tuple[Column[JobUsage], ...] = (
        Column("AT-MAX", lambda row: hours_text(row.hours.at_max, row.hours.unit), spare=4),
        Column("VS-MAX", lambda row: against(row.hours), spare=4),
    )
    return (
        *in_namespaces(namespace, lambda row: row.view.job.key.namespace),
        Column("NAME", lambda row: row.view.job.key.name),
        Column("PHASE", lambda row: row.view.phase.value, colour=meaning, spare=2),
        Column("PODS", lambda row: str(row.pods), spare=1),
        Column("CPU-REQ", lambda row: cores(row.requested.get(CPU)), spare=1),
        Column("CPU-USED", lambda row: _measured(row, CPU, cores)),
        Column("MEM-REQ", lambda row: memory(row.requested.get(MEMORY)), spare=1),
        Column("MEM-USED", lambda row: _measured(row, MEMORY, memory)),
        Column("GPU-REQ", lambda row: thousandths(gpus(row.requested)), spare=4),
        Column("HOURS", lambda row: so_far(row.hours), spare=4),
        # Shown only if the serial fraction is known.
        *(at_max if any(usage.hours.compared for usage in usages) else ()),
        Column("AGE", lambda row: age(row.view.job.queued_at, now), spare=3),
    )


def _measured(usage: JobUsage, name: str, text: Callable[[int], str]) -> str:
    if usage.used is None:
        return UNKNOWN
    return f"{'' if usage.measured == usage.running else '>'}{text(usage.used.get(name))}"


# -- nodes -------------------------------------------------------------------------------------


def nodes_report(usages: Sequence[NodeUsage]) -> Report:
    """One row per node."""
    return Report(
        sections=(Table.of(_NODES, usages),),
        objects=documents("NodeUsage", map(_node_document, usages)),
        names=tuple(f"node/{usage.node.name}" for usage in usages),
        list_kind="NodeUsageList",
        nothing="No nodes found.",
    )


_NODES: Final[tuple[Column[NodeUsage], ...]] = (
    Column("NAME", lambda row: row.node.name),
    Column("STATUS", lambda row: row.node.status, colour=meaning, spare=1),
    Column("TRAINING", lambda row: str(row.training), spare=3),
    Column("PODS", lambda row: f"{row.pods}/{row.node.allocatable.get(PODS)}", spare=3),
    Column("CPU", lambda row: cores(row.node.allocatable.get(CPU)), wide=True),
    Column("CPU-REQ", lambda row: _requested(row, CPU, cores), spare=2),
    Column("CPU-IDLE", lambda row: cores(row.idle.get(CPU))),
    Column("CPU-USED", lambda row: cores(row.used.get(CPU)) if row.used else UNKNOWN, spare=3),
    Column("MEM", lambda row: memory(row.node.allocatable.get(MEMORY)), wide=True),
    Column("MEM-REQ", lambda row: _requested(row, MEMORY, memory), spare=2),
    Column("MEM-IDLE", lambda row: memory(row.idle.get(MEMORY))),
    Column("MEM-USED", lambda row: memory(row.used.get(MEMORY)) if row.used else UNKNOWN, spare=3),
    Column("GPU", lambda row: thousandths(offered_gpus(row.node.allocatable)), wide=True),
    Column("GPU-REQ", lambda row: _requested_gpus(row.node), spare=2),
    Column("GPU-IDLE", lambda row: thousandths(_idle_gpus(row.node))),
)


def _requested(usage: NodeUsage, name: str, text: Callable[[int], str]) -> str:
    asked = usage.node.used.get(name)
    return _part(text(asked), asked, usage.node.allocatable.get(name))


def _requested_gpus(node: Node) -> str:
    asked = gpus(node.used)
    return _part(thousandths(asked), asked, offered_gpus(node.allocatable))


def _idle_gpus(node: Node) -> int:
    left = offered_gpus(node.allocatable) - gpus(node.used)
    return max(left, 0) if node.schedulable else 0


def _part(text: str, part: int, whole: int) -> str:
    """`12 (75%)`, as kubectl describes a node."""
    return f"{text} ({percent(part, whole)})" if whole else text


# -- the cluster -------------------------------------------------------------------------------


def cluster_report(usage: ClusterUsage) -> Report:
    """One row per resource, and further totals below."""
    shown = [line for line in usage.lines if line.offered or line.requested]
    return Report(
        sections=(Table.of(_CLUSTER, shown), _footer(usage)),
        objects=documents("ClusterUsage", [_cluster_document(usage)]),
        names=(),
    )


_CLUSTER: Final[tuple[Column[UsageLine], ...]] = (
    Column("RESOURCE", lambda row: row.name),
    Column("OFFERED", lambda row: _text(row, row.offered)),
    Column(
        "REQUESTED",
        lambda row: _part(_text(row, row.requested), row.requested, row.offered),
    ),
    Column("TRAINING", lambda row: _text(row, row.training)),
    Column("OTHERS", lambda row: _text(row, row.requested - row.training), spare=1),
    Column("QUEUED", lambda row: _text(row, row.queued), spare=1),
    Column("IDLE", lambda row: _text(row, row.idle)),
    Column("USED", lambda row: UNKNOWN if row.used is None else _text(row, row.used), spare=1),
)


def _text(line: UsageLine, amount: int) -> str:
    return _TEXTS.get(line.name, str)(amount)


_TEXTS: Final = {CPU: cores, MEMORY: memory, "gpu": thousandths}


def _footer(usage: ClusterUsage) -> str:
    unready = sum(not row.node.ready for row in usage.nodes)
    cordoned = sum(row.node.ready and row.node.cordoned for row in usage.nodes)
    nodes = f"{len(usage.nodes)}"
    nodes += f", {unready} of them not ready" if unready else ""
    nodes += f", {cordoned} of them cordoned" if cordoned else ""
    count = sum(usage.phases.values())
    jobs = ", ".join(f"{many} {phase}" for phase, many in usage.phases.items())
    lines = [f"Nodes: {nodes}", f"Training jobs: {count}" + (f" ({jobs})" if jobs else "")]
    lines += _shares(usage.costs.nodes)
    lines += [f"Resource-hours: {text}" for text in hours_lines(usage.costs)]
    return "".join(f"{line}\n" for line in lines)


def _shares(costs: NodeCosts) -> list[str]:
    """What the nodes are used for, and the cost of that per hour."""
    lines = [f"Nodes by use: {_shared(costs.nodes)}"] if costs.nodes.total else []
    if costs.hourly is None:
        return lines
    if costs.unpriced and not costs.hourly.total:
        return [*lines, "Cost per hour: unknown"]
    return [*lines, f"Cost per hour: {_shared(costs.hourly)}"]


def _shared(shares: NodeShares) -> str:
    return (
        f"{decimal(shares.total)} ({decimal(shares.minimums)} by minimums, "
        f"{decimal(shares.extras)} by extras, {decimal(shares.others)} by others, "
        f"{decimal(shares.idle)} idle)"
    )


# -- documents ---------------------------------------------------------------------------------


def _job_document(usage: JobUsage) -> TrainingJobUsageDocument:
    job = usage.view.job
    return {
        "metadata": {"name": job.key.name, "namespace": job.key.namespace},
        "phase": usage.view.phase.value,
        "pods": usage.pods,
        "runningPods": usage.running,
        "measuredPods": usage.measured,
        "requests": quantities(usage.requested),
        "usage": None if usage.used is None else quantities(usage.used),
        "resourceHours": _hours_document(usage.hours),
        "startTime": time_text(job.started_at),
    }


def _hours_document(hours: Hours) -> ResourceHoursDocument:
    return {
        "unit": hours.unit.value,
        "used": round(hours.held, 3),
        "atMaxReplicas": round(hours.at_max, 3),
        "complete": hours.whole,
    }


def _hours_cost_document(hours: Hours, costs: NodeCosts) -> ResourceHoursCostDocument:
    price = costs.unit_prices.get(hours.unit)
    return {
        **_hours_document(hours),
        "cost": None if price is None else round(hours.held * price, 3),
        "costAtMaxReplicas": None if price is None else round(hours.at_max * price, 3),
    }


def _node_document(usage: NodeUsage) -> of_cluster.NodeUsageDocument:
    node = usage.node
    return {
        "metadata": {"name": node.name},
        "ready": node.ready,
        "schedulable": node.schedulable,
        "trainingPods": usage.training,
        "allocatable": quantities(node.allocatable),
        "requests": quantities(node.used),
        "idle": quantities(usage.idle),
        "usage": None if usage.used is None else quantities(usage.used),
    }


def _cluster_document(usage: ClusterUsage) -> of_cluster.ClusterUsageDocument:
    costs = usage.costs.nodes
    return {
        "nodes": len(usage.nodes),
        "unschedulableNodes": sum(not row.node.schedulable for row in usage.nodes),
        "trainingJobs": dict(usage.phases),
        "resources": {line.name: _line_document(line) for line in usage.lines},
        "resourceHours": [_hours_cost_document(hours, costs) for hours in usage.costs.hours],
        "nodeShares": _shares_document(costs.nodes),
        "hourlyCost": _shares_document(costs.hourly) if costs.hourly else None,
        "unpricedNodes": costs.unpriced,
    }


def _shares_document(shares: NodeShares) -> of_cluster.NodeSharesDocument:
    return {
        "minimums": round(shares.minimums, 3),
        "extras": round(shares.extras, 3),
        "others": round(shares.others, 3),
        "idle": round(shares.idle, 3),
    }


def _line_document(line: UsageLine) -> of_cluster.ResourceUsageDocument:
    return {
        "allocatable": _quantity(line.name, line.offered),
        "requests": _quantity(line.name, line.requested),
        "trainingRequests": _quantity(line.name, line.training),
        "queuedRequests": _quantity(line.name, line.queued),
        "idle": _quantity(line.name, line.idle),
        "usage": None if line.used is None else _quantity(line.name, line.used),
    }


def _quantity(name: str, amount: int) -> str:
    """A quantity; GPU amounts are in thousandths."""
    return thousandths(amount) if name == "gpu" else quantity(name, amount)
