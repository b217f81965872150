"""The screens of `kubectl edl top`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from edl.quantities import CPU, MEMORY, PODS
from kubectl_edl.output.age import UNKNOWN, age
from kubectl_edl.output.cell_quantities import cores, decimal, gpus, memory, offered_gpus, percent
from kubectl_edl.output.color import meaning
from kubectl_edl.output.report import Report
from kubectl_edl.output.table import Column, Table
from kubectl_edl.top.cluster_costs import (
    NodeCosts,
    NodeShares,
    against,
    held,
    held_so_far,
    hours_text,
)
from kubectl_edl.top.usage import ClusterUsage, JobUsage, NodeUsage, UsageLine
from kubectl_edl.top.usage_documents import (
    cluster_document,
    job_document,
    node_document,
    thousandths,
)

_NAMESPACE: Final = Column("NAMESPACE")
_JOBS: Final = (
    Column("NAME"),
    Column("PHASE", colour=meaning),
    Column("PODS"),
    Column("CPU-REQ"),
    Column("CPU-USED"),
    Column("MEM-REQ"),
    Column("MEM-USED"),
    Column("GPU-REQ", spare=1),
    Column("HOURS", spare=1),
    Column("AGE"),
)
_COMPARED: Final = (Column("AT-MAX", spare=1), Column("VS-MAX", spare=1))
"""Where it is known how the work divides."""
_NODES: Final = (
    Column("NAME"),
    Column("STATUS", colour=meaning),
    Column("TRAINING", spare=1),
    Column("PODS", spare=1),
    Column("CPU", wide=True),
    Column("CPU-REQ"),
    Column("CPU-IDLE"),
    Column("CPU-USED", spare=1),
    Column("MEM", wide=True),
    Column("MEM-REQ"),
    Column("MEM-IDLE"),
    Column("MEM-USED", spare=1),
    Column("GPU", wide=True),
    Column("GPU-REQ"),
    Column("GPU-IDLE"),
)
_CLUSTER: Final = tuple(
    Column(title, spare=int(title in ("OTHERS", "QUEUED", "USED")))
    for title in (
        "RESOURCE",
        "OFFERED",
        "REQUESTED",
        "TRAINING",
        "OTHERS",
        "QUEUED",
        "IDLE",
        "USED",
    )
)


# -- training jobs -----------------------------------------------------------------------------


def job_report(one: JobUsage, now: datetime) -> Report:
    """The same line for one that was named, and its document alone."""
    return replace(jobs_report((one,), now, one.view.job.key.namespace), list_kind="")


def jobs_report(found: Sequence[JobUsage], now: datetime, namespace: str) -> Report:
    """One line a training job; `namespace` is empty for all, which then are a column."""
    compared = any(one.hours.compared for one in found)
    rows = tuple(_job_row(one, now, compared=compared) for one in found)
    columns = (*_JOBS[:-1], *_COMPARED, _JOBS[-1]) if compared else _JOBS
    if not namespace:
        names = (one.view.job.key.namespace for one in found)
        rows = tuple((name, *row) for name, row in zip(names, rows, strict=True))
    where = f" in {namespace} namespace" if namespace else ""
    return Report(
        sections=(Table(columns if namespace else (_NAMESPACE, *columns), rows),),
        objects=tuple(job_document(one) for one in found),
        names=tuple(one.view.name for one in found),
        list_kind="TrainingJobUsageList",
        nothing=f"No training jobs found{where}.",
    )


def _job_row(one: JobUsage, now: datetime, *, compared: bool) -> tuple[str, ...]:
    hours, asked, used = one.hours, one.requested, one.used
    least = "" if one.measured == one.running else ">"
    return (
        one.view.job.key.name,
        one.view.phase.value,
        str(one.pods),
        cores(asked.get(CPU)),
        f"{least}{cores(used.get(CPU))}" if used is not None else UNKNOWN,
        memory(asked.get(MEMORY)),
        f"{least}{memory(used.get(MEMORY))}" if used is not None else UNKNOWN,
        thousandths(gpus(asked)),
        held(hours),
        *((hours_text(hours.at_max, hours.unit), against(hours)) if compared else ()),
        age(one.view.job.queued_at, now),
    )


# -- nodes -------------------------------------------------------------------------------------


def nodes_report(found: Sequence[NodeUsage]) -> Report:
    """One line a node."""
    return Report(
        sections=(Table(_NODES, tuple(_node_row(one) for one in found)),),
        objects=tuple(node_document(one) for one in found),
        names=tuple(f"node/{one.node.name}" for one in found),
        list_kind="NodeUsageList",
        nothing="No nodes found.",
    )


def _node_row(one: NodeUsage) -> tuple[str, ...]:
    node, idle, used = one.node, one.idle, one.used
    offered, asked = node.allocatable, node.used
    free = max(offered_gpus(offered) - gpus(asked), 0) if node.schedulable else 0
    return (
        node.name,
        "Ready" if node.schedulable else "Unschedulable",
        str(one.training),
        f"{one.pods}/{offered.get(PODS)}",
        cores(offered.get(CPU)),
        _part(cores(asked.get(CPU)), asked.get(CPU), offered.get(CPU)),
        cores(idle.get(CPU)),
        cores(used.get(CPU)) if used else UNKNOWN,
        memory(offered.get(MEMORY)),
        _part(memory(asked.get(MEMORY)), asked.get(MEMORY), offered.get(MEMORY)),
        memory(idle.get(MEMORY)),
        memory(used.get(MEMORY)) if used else UNKNOWN,
        thousandths(offered_gpus(offered)),
        _part(thousandths(gpus(asked)), gpus(asked), offered_gpus(offered)),
        thousandths(free),
    )


def _part(text: str, part: int, whole: int) -> str:
    """`12 (75%)`, as kubectl describes a node."""
    return f"{text} ({percent(part, whole)})" if whole else text


# -- the cluster -------------------------------------------------------------------------------


def cluster_report(found: ClusterUsage) -> Report:
    """One line a resource, and what stands below them."""
    shown = [one for one in found.lines if one.offered or one.requested]
    return Report(
        sections=(Table(_CLUSTER, tuple(_cluster_row(one) for one in shown)), _footer(found)),
        objects=(cluster_document(found),),
        names=(),
    )


def _cluster_row(one: UsageLine) -> tuple[str, ...]:
    text = _TEXTS.get(one.name, str)
    return (
        one.name,
        text(one.offered),
        _part(text(one.requested), one.requested, one.offered),
        text(one.training),
        text(one.requested - one.training),
        text(one.queued),
        text(one.idle),
        UNKNOWN if one.used is None else text(one.used),
    )


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
    lines += [f"Resource-hours: {held_so_far(one)}" for one in found.costs.hours if one.held]
    return "".join(f"{line}\n" for line in lines)


def _shares(costs: NodeCosts) -> list[str]:
    """What takes the nodes in each hour, and what it costs."""
    lines = [f"Node-hours per hour: {_shared(costs.nodes)}"] if costs.nodes.total else []
    return lines + ([f"Cost per hour: {_shared(costs.hourly)}"] if costs.hourly else [])


def _shared(found: NodeShares) -> str:
    parts = (
        f"{decimal(found.minimums)} by minimums",
        f"{decimal(found.extras)} by extras",
        f"{decimal(found.others)} by others",
        f"{decimal(found.idle)} idle",
    )
    return f"{decimal(found.total)} ({', '.join(parts)})"
