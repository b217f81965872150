"""Blockers of a training job, for `-o json` of `kubectl edl explain`."""

from collections.abc import Sequence

from msgspec.structs import replace

from edl.messages import cause, remedy
from edl.messages.scarcity_messages import kept_to, listed
from edl.model.causes.blockers import (
    AtBound,
    Blocker,
    ConstraintsUnsatisfied,
    InProgress,
    InsufficientResources,
    LackOfRoom,
    LoadCeiling,
    NoUsableNode,
    Outranked,
    OwnCondition,
    QuotaExceeded,
    StartSizes,
    TimedHold,
    TooLarge,
)
from edl.model.nodes import is_added
from edl.planner.explain.explanation import Blockers
from edl.planner.explain.start_remedies import NO_REMEDY, StartRemedy
from edl.quantities import number_text
from edl.visibility.namespace_queue import PublishedStops
from kubectl_edl.job_views import topology_view
from kubectl_edl.job_views.training_job_view import time_text
from kubectl_edl.output.cell_quantities import quantities, quantity
from kubectl_edl.output.documents.decision_documents import BlockerDocument, BlockersDocument


def stops_document(stops: Blockers, job: str, start: StartRemedy = NO_REMEDY) -> BlockersDocument:
    """`job`: the arguments of commands on the training job; `start`: as for `_remedies`."""
    helps = _remedies(stops.blockers, job, start)
    blockers = [_with_fields(stop, what) for stop, what in zip(stops.blockers, helps, strict=True)]
    return {"complete": stops.complete, "blockers": blockers}


def _remedies(blockers: Sequence[Blocker], job: str, start: StartRemedy) -> list[str]:
    """What would help against each blocker; a smaller min of `start` helps against a quota.

    If `start` counts nodes that may be added, no smaller min for the present ones is proposed.
    """
    smaller = f"; or {smaller_min(start, job)}" if start.min else ""
    return [
        f"{remedy(_at_its_min(stop) if start.limit else stop, job)}"
        f"{smaller if isinstance(stop, QuotaExceeded) else ''}"
        for stop in blockers
    ]


def _at_its_min(stop: Blocker) -> Blocker:
    """The blocker as if none of its pods fitted, so that its remedy has no smaller number."""
    if isinstance(stop, InsufficientResources):
        return replace(stop, fitting=0, sizes=StartSizes())
    return stop


def smaller_min(start: StartRemedy, job: str) -> str:
    """The min of `start` with its command; `job` as for `stops_document`."""
    fits = "for which the limits suffice" if start.limit else "which fits"
    return (
        f"a min of {start.min} for {start.role}, {fits}{kept_to(start.domains)}: "
        f"kubectl edl scale {job} --role {start.role} --min {start.min}"
    )


def higher_pool_limit(start: StartRemedy) -> str:
    """`spec.limits.cpu of NodePool default by 30.3 or more`; empty if no limit is too low."""
    limit = start.limit
    if limit is None:
        return ""
    more = number_text(limit.resource, limit.needs - limit.add)
    pools = f"NodePool {listed(start.pools, ' or ')}".strip()
    return f"spec.limits.{limit.resource} of {pools} by {more} or more"


def published_document(stops: PublishedStops | None) -> BlockersDocument | None:
    """Blockers as the reconciler published them, without the fields of each type."""
    if stops is None:
        return None
    blockers: list[BlockerDocument] = [
        {"type": stop.type, "message": stop.message, "remediation": stop.remediation}
        for stop in stops.blockers
    ]
    return {"complete": stops.complete, "blockers": blockers}


def _with_fields(stop: Blocker, helps: str) -> BlockerDocument:
    """A blocker's type, its sentences, and the fields of its type."""
    plain: BlockerDocument = {
        "type": type(stop).__name__,
        "message": cause(stop),
        "remediation": helps,
    }
    match stop:
        case TimedHold(reason=reason, until=until):
            return {**plain, "reason": reason.code.value, "notBefore": time_text(until)}
        case InProgress(reason=reason):
            return {**plain, "reason": reason.code.value}
        case OwnCondition(reason=reason, what=what):
            return {**plain, "reason": reason.code.value, "condition": what.value}
        case Outranked():
            return {
                **plain,
                "reason": stop.rule.value,
                "blockedBy": [str(key) for key in stop.jobs],
                "pendingPods": list(stop.pods),
                "roles": [{"name": role, "replicas": size} for role, size in stop.roles],
            }
        case AtBound() | LoadCeiling() | QuotaExceeded():
            return _of_limit(stop, plain)
        case _:
            return _of_nodes(stop, plain)


def _of_limit(
    stop: AtBound | LoadCeiling | QuotaExceeded, plain: BlockerDocument
) -> BlockerDocument:
    if isinstance(stop, AtBound):
        return {**plain, "role": stop.role, "limitedBy": stop.bound.value, "replicas": stop.value}
    if isinstance(stop, LoadCeiling):
        return {
            **plain,
            "role": stop.role,
            "resource": stop.resource,
            "loadCeiling": stop.share,
            "sufficientLoadCeiling": stop.enough,
            "idle": quantity(stop.resource, stop.idle),
            "reserved": quantity(stop.resource, stop.kept),
            "needed": quantity(stop.resource, stop.needed),
        }
    quota = stop.quota
    return {
        **plain,
        "quota": {"source": quota.source, "resource": quota.resource},
        "needed": quota.text(stop.needed),
        "limit": quota.text(quota.hard),
        "used": quota.text(stop.used),
        "available": quota.text(stop.left),
    }


def _of_nodes(stop: LackOfRoom, plain: BlockerDocument) -> BlockerDocument:
    """Pods of a role that do not fit on the nodes."""
    common: BlockerDocument = {
        **plain,
        "role": stop.role,
        "pods": stop.wanted if isinstance(stop, InsufficientResources) else stop.pods,
        "requests": quantities(stop.requests),
        "domains": topology_view.places_document(stop.domains),
    }
    if isinstance(stop, NoUsableNode):
        return {**common, "nodeRule": stop.rule.rule.value}
    near = None if is_added(stop.node) else stop.node
    placed: BlockerDocument = {**common, "eligibleNodes": stop.nodes, "nodeName": near}
    match stop:
        case InsufficientResources():
            return {
                **placed,
                "schedulablePods": stop.fitting,
                "maxIdle": quantities(stop.free),
                "missing": quantities(stop.missing),
                "guaranteedTeams": list(stop.kept),
            }
        case TooLarge():
            return {**placed, "maxAllocatable": quantities(stop.largest)}
        case ConstraintsUnsatisfied():
            return {**placed, "constraint": stop.rule.value}
