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
    held,
    hours_lines,
    hours_text,
)
from kubectl_edl.top.resource_hours import Hours
from kubectl_edl.top.usage import ClusterUsage, JobUsage, NodeUsage, UsageLine

# -- training jobs -----------------------------------------------------------------------------


def job_report(one: JobUsage, now: datetime) -> Report:
    """The same row for one named job, with its document instead of a list."""
    return replace(jobs_report((one,), now, one.view.job.key.namespace), list_kind="")


def jobs_report(found: Sequence[JobUsage], now: datetime, namespace: str) -> Report:
    """One row per training job; an empty `namespace` shows all, with a column NAMESPACE."""
    return Report(
        sections=(Table.of(_job_columns(found, now, namespace), found),),
        objects=documents("TrainingJobUsage", map(_job_document, found)),
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
        objects=documents("NodeUsage", map(_node_document, found)),
        names=tuple(f"node/{one.node.name}" for one in found),
        list_kind="NodeUsageList",
        nothing="No nodes found.",
    )


_NODES: Final[tuple[Column[NodeUsage], ...]] = (
    Column("NAME", lambda one: one.node.name),
    Column("STATUS", lambda one: one.node.status, colour=meaning, spare=1),
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
        objects=documents("ClusterUsage", [_cluster_document(found)]),
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


_TEXTS: Final = {CPU: cores, MEMORY: memory, "gpu": thousandths}


def _footer(found: ClusterUsage) -> str:
    unready = sum(not one.node.ready for one in found.nodes)
    cordoned = sum(one.node.ready and one.node.cordoned for one in found.nodes)
    nodes = f"{len(found.nodes)}"
    nodes += f", {unready} of them not ready" if unready else ""
    nodes += f", {cordoned} of them cordoned" if cordoned else ""
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
    return (
        f"{decimal(found.total)} ({decimal(found.minimums)} by minimums, "
        f"{decimal(found.extras)} by extras, {decimal(found.others)} by others, "
        f"{decimal(found.idle)} idle)"
    )


# -- documents ---------------------------------------------------------------------------------


def _job_document(one: JobUsage) -> TrainingJobUsageDocument:
    job = one.view.job
    return {
        "metadata": {"name": job.key.name, "namespace": job.key.namespace},
        "phase": one.view.phase.value,
        "pods": one.pods,
        "runningPods": one.running,
        "measuredPods": one.measured,
        "requests": quantities(one.requested),
        "usage": None if one.used is None else quantities(one.used),
        "resourceHours": _hours_document(one.hours),
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


def _node_document(one: NodeUsage) -> of_cluster.NodeUsageDocument:
    node = one.node
    return {
        "metadata": {"name": node.name},
        "ready": node.ready,
        "schedulable": node.schedulable,
        "trainingPods": one.training,
        "allocatable": quantities(node.allocatable),
        "requests": quantities(node.used),
        "idle": quantities(one.idle),
        "usage": None if one.used is None else quantities(one.used),
    }


def _cluster_document(found: ClusterUsage) -> of_cluster.ClusterUsageDocument:
    costs = found.costs.nodes
    return {
        "nodes": len(found.nodes),
        "unschedulableNodes": sum(not one.node.schedulable for one in found.nodes),
        "trainingJobs": dict(found.phases),
        "resources": {one.name: _line_document(one) for one in found.lines},
        "resourceHours": [_hours_cost_document(hours, costs) for hours in found.costs.hours],
        "nodeShares": _shares_document(costs.nodes),
        "hourlyCost": _shares_document(costs.hourly) if costs.hourly else None,
        "unpricedNodes": costs.unpriced,
    }


def _shares_document(found: NodeShares) -> of_cluster.NodeSharesDocument:
    return {
        "minimums": round(found.minimums, 3),
        "extras": round(found.extras, 3),
        "others": round(found.others, 3),
        "idle": round(found.idle, 3),
    }


def _line_document(one: UsageLine) -> of_cluster.ResourceUsageDocument:
    return {
        "allocatable": _quantity(one.name, one.offered),
        "requests": _quantity(one.name, one.requested),
        "trainingRequests": _quantity(one.name, one.training),
        "queuedRequests": _quantity(one.name, one.queued),
        "idle": _quantity(one.name, one.idle),
        "usage": None if one.used is None else _quantity(one.name, one.used),
    }


def _quantity(name: str, amount: int) -> str:
    """A quantity; GPU amounts are in thousandths."""
    return thousandths(amount) if name == "gpu" else quantity(name, amount)
