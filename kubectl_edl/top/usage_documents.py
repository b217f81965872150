"""Documents of `kubectl edl top`."""

from kubectl_edl.job_views.training_job_view import time_text
from kubectl_edl.output.cell_quantities import decimal, quantities, quantity
from kubectl_edl.output.documents.cluster_documents import (
    ClusterUsageDocument,
    NodeSharesDocument,
    NodeUsageDocument,
    ResourceUsageDocument,
)
from kubectl_edl.output.documents.shared_documents import (
    ResourceHoursCostDocument,
    ResourceHoursDocument,
)
from kubectl_edl.output.documents.training_job_documents import TrainingJobUsageDocument
from kubectl_edl.top.cluster_costs import NodeCosts, NodeShares
from kubectl_edl.top.resource_hours import Hours
from kubectl_edl.top.usage import ClusterUsage, JobUsage, NodeUsage, UsageLine


def job_document(one: JobUsage) -> TrainingJobUsageDocument:
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


def node_document(one: NodeUsage) -> NodeUsageDocument:
    node = one.node
    return {
        "metadata": {"name": node.name},
        "schedulable": node.schedulable,
        "trainingPods": one.training,
        "allocatable": quantities(node.allocatable),
        "requests": quantities(node.used),
        "idle": quantities(one.idle),
        "usage": None if one.used is None else quantities(one.used),
    }


def cluster_document(found: ClusterUsage) -> ClusterUsageDocument:
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


def _shares_document(found: NodeShares) -> NodeSharesDocument:
    return {
        "minimums": round(found.minimums, 3),
        "extras": round(found.extras, 3),
        "others": round(found.others, 3),
        "idle": round(found.idle, 3),
    }


def _line_document(one: UsageLine) -> ResourceUsageDocument:
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
    if name == "gpu":
        return thousandths(amount)
    return quantity(name, amount)


def thousandths(amount: int) -> str:
    return decimal(amount / 1000)
