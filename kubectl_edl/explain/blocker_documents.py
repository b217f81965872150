"""Blockers of a training job, for `-o json` of `kubectl edl explain`."""

from collections.abc import Sequence
from typing import TypeAlias

from msgspec.structs import replace

from edl.messages import cause, remedy
from edl.messages.scarcity_messages import kept_to, listed
from edl.model.causes.blockers import (
    AtBound,
    Blocker,
    ConstraintsUnsatisfied,
    InProgress,
    InsufficientResources,
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

NodeBlocker: TypeAlias = InsufficientResources | TooLarge | NoUsableNode | ConstraintsUnsatisfied


def stops_document(
    stops: Blockers | None, job: str, start: StartRemedy = NO_REMEDY
) -> BlockersDocument | None:
    """`job`: the arguments of commands on the training job; `start`: as for `remedies`."""
    if stops is None:
        return None
    helps = remedies(stops.blockers, job, start)
    blockers = [_with_fields(stop, what) for stop, what in zip(stops.blockers, helps, strict=True)]
    return {"complete": stops.complete, "blockers": blockers}


def remedies(blockers: Sequence[Blocker], job: str, start: StartRemedy) -> list[str]:
    """What would help against each blocker; a smaller min of `start` helps against a quota.

    If `start` counts nodes that may be added, no smaller min for the present ones is proposed.
    """
    smaller = f"; or {smaller_min(start, job)}" if start.min else ""
    return [
        f"{remedy(_at_its_min(blocker) if start.limit else blocker, job)}"
        f"{smaller if isinstance(blocker, QuotaExceeded) else ''}"
        for blocker in blockers
    ]


def _at_its_min(blocker: Blocker) -> Blocker:
    """The blocker as if none of its pods fitted, so that its remedy has no smaller number."""
    if isinstance(blocker, InsufficientResources):
        return replace(blocker, fitting=0, sizes=StartSizes())
    return blocker


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
        {"type": blocker.type, "message": blocker.message, "remediation": blocker.remediation}
        for blocker in stops.blockers
    ]
    return {"complete": stops.complete, "blockers": blockers}


def _with_fields(blocker: Blocker, helps: str) -> BlockerDocument:
    """A blocker's type, its sentences, and the fields of its type."""
    plain: BlockerDocument = {
        "type": blocker.kind.value,
        "message": cause(blocker),
        "remediation": helps,
    }
    match blocker:
        case TimedHold(reason=reason, until=until):
            return {**plain, "reason": reason.code.value, "notBefore": time_text(until)}
        case InProgress(reason=reason):
            return {**plain, "reason": reason.code.value}
        case OwnCondition(reason=reason, what=what):
            return {**plain, "reason": reason.code.value, "condition": what.value}
        case Outranked():
            return {
                **plain,
                "reason": blocker.rule.value,
                "blockedBy": [str(key) for key in blocker.jobs],
                "pendingPods": list(blocker.pods),
                "roles": [{"name": role, "replicas": size} for role, size in blocker.roles],
            }
        case AtBound() | LoadCeiling() | QuotaExceeded():
            return _of_limit(blocker, plain)
        case _:
            return _of_nodes(blocker, plain)


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


def _of_nodes(blocker: NodeBlocker, plain: BlockerDocument) -> BlockerDocument:
    """Pods of a role that do not fit on the nodes."""
    common: BlockerDocument = {
        **plain,
        "role": blocker.role,
        "pods": blocker.wanted if isinstance(blocker, InsufficientResources) else blocker.pods,
        "requests": quantities(blocker.requests),
        "domains": topology_view.places_document(blocker.domains),
    }
    if isinstance(blocker, NoUsableNode):
        return {**common, "nodeRule": blocker.rule.rule.value}
    near = None if is_added(blocker.node) else blocker.node
    placed: BlockerDocument = {**common, "eligibleNodes": blocker.nodes, "nodeName": near}
    match blocker:
        case InsufficientResources():
            return {
                **placed,
                "schedulablePods": blocker.fitting,
                "maxIdle": quantities(blocker.free),
                "missing": quantities(blocker.missing),
                "guaranteedTeams": list(blocker.kept),
            }
        case TooLarge():
            return {**placed, "maxAllocatable": quantities(blocker.largest)}
        case ConstraintsUnsatisfied():
            return {**placed, "constraint": blocker.rule.value}
