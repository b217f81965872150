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
    blockers = [_with_fields(one, what) for one, what in zip(stops.blockers, helps, strict=True)]
    return {"complete": stops.complete, "blockers": blockers}


def remedies(blockers: Sequence[Blocker], job: str, start: StartRemedy) -> list[str]:
    """What would help against each blocker; a smaller min of `start` helps against a quota.

    If `start` counts nodes that may be added, no smaller min for the present ones is proposed.
    """
    smaller = f"; or {smaller_min(start, job)}" if start.min else ""
    return [
        f"{remedy(_at_its_min(one) if start.limit else one, job)}"
        f"{smaller if isinstance(one, QuotaExceeded) else ''}"
        for one in blockers
    ]


def _at_its_min(blocker: Blocker) -> Blocker:
    """The blocker as if none of its pods fitted, so that its remedy has no smaller number."""
    if isinstance(blocker, InsufficientResources):
        return replace(blocker, fitting=0, sizes=StartSizes())
    return blocker


def smaller_min(found: StartRemedy, job: str) -> str:
    """The min of `found` with its command; `job` as for `stops_document`."""
    fits = "for which the limits suffice" if found.limit else "which fits"
    return (
        f"a min of {found.min} for {found.role}, {fits}{kept_to(found.domains)}: "
        f"kubectl edl scale {job} --role {found.role} --min {found.min}"
    )


def higher_pool_limit(found: StartRemedy) -> str:
    """`spec.limits.cpu of NodePool default by 30.3 or more`; empty if no limit is too low."""
    limit = found.limit
    if limit is None:
        return ""
    more = number_text(limit.resource, limit.needs - limit.add)
    pools = f"NodePool {listed(found.pools, ' or ')}".strip()
    return f"spec.limits.{limit.resource} of {pools} by {more} or more"


def published_document(stops: PublishedStops | None) -> BlockersDocument | None:
    """Blockers as the reconciler published them, without the fields of each type."""
    if stops is None:
        return None
    blockers: list[BlockerDocument] = [
        {"type": one.type, "message": one.message, "remediation": one.remediation}
        for one in stops.blockers
    ]
    return {"complete": stops.complete, "blockers": blockers}


def _with_fields(one: Blocker, helps: str) -> BlockerDocument:
    """A blocker's type, its sentences, and the fields of its type."""
    plain: BlockerDocument = {
        "type": one.kind.value,
        "message": cause(one),
        "remediation": helps,
    }
    match one:
        case TimedHold(reason=reason, until=until):
            return {**plain, "reason": reason.code.value, "notBefore": time_text(until)}
        case InProgress(reason=reason):
            return {**plain, "reason": reason.code.value}
        case OwnCondition(reason=reason, what=what):
            return {**plain, "reason": reason.code.value, "condition": what.value}
        case Outranked():
            return {
                **plain,
                "reason": one.rule.value,
                "blockedBy": [str(key) for key in one.jobs],
                "pendingPods": list(one.pods),
                "roles": [{"name": role, "replicas": size} for role, size in one.roles],
            }
        case AtBound() | LoadCeiling() | QuotaExceeded():
            return _of_limit(one, plain)
        case _:
            return _of_nodes(one, plain)


def _of_limit(
    one: AtBound | LoadCeiling | QuotaExceeded, plain: BlockerDocument
) -> BlockerDocument:
    if isinstance(one, AtBound):
        return {**plain, "role": one.role, "limitedBy": one.bound.value, "replicas": one.value}
    if isinstance(one, LoadCeiling):
        return {
            **plain,
            "role": one.role,
            "resource": one.resource,
            "loadCeiling": one.share,
            "sufficientLoadCeiling": one.enough,
            "idle": quantity(one.resource, one.idle),
            "reserved": quantity(one.resource, one.kept),
            "needed": quantity(one.resource, one.needed),
        }
    quota = one.quota
    return {
        **plain,
        "quota": {"source": quota.source, "resource": quota.resource},
        "needed": quota.text(one.needed),
        "limit": quota.text(quota.hard),
        "used": quota.text(one.used),
        "available": quota.text(one.left),
    }


def _of_nodes(one: NodeBlocker, plain: BlockerDocument) -> BlockerDocument:
    """Pods of a role that do not fit on the nodes."""
    common: BlockerDocument = {
        **plain,
        "role": one.role,
        "pods": one.wanted if isinstance(one, InsufficientResources) else one.pods,
        "requests": quantities(one.requests),
        "domains": topology_view.places_document(one.domains),
    }
    if isinstance(one, NoUsableNode):
        return {**common, "nodeRule": one.rule.rule.value}
    near = None if is_added(one.node) else one.node
    placed: BlockerDocument = {**common, "eligibleNodes": one.nodes, "nodeName": near}
    match one:
        case InsufficientResources():
            return {
                **placed,
                "schedulablePods": one.fitting,
                "maxIdle": quantities(one.free),
                "missing": quantities(one.missing),
                "guaranteedTeams": list(one.kept),
            }
        case TooLarge():
            return {**placed, "maxAllocatable": quantities(one.largest)}
        case ConstraintsUnsatisfied():
            return {**placed, "constraint": one.rule.value}
