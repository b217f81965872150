"""Blockers of a training job, for `-o json` of `kubectl edl explain`."""

from collections.abc import Sequence

from msgspec.structs import replace

from edl.messages import blocker_text, remedy
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
from edl.model.nodes import NODES, is_added
from edl.planner.explain.blocker_search import BlockerSearch
from edl.planner.explain.start_remedies import NO_REMEDY, StartRemedy
from edl.quantities import number_text
from edl.visibility.namespace_queue import PublishedBlockers
from kubectl_edl.job_views import topology_view
from kubectl_edl.job_views.training_job_view import time_text
from kubectl_edl.output.cell_quantities import quantities, quantity
from kubectl_edl.output.documents.decision_documents import BlockerDocument, BlockersDocument


def blockers_document(
    search: BlockerSearch, job: str, start: StartRemedy = NO_REMEDY
) -> BlockersDocument:
    """`job`: the arguments of commands on the training job; `start`: as for `_remedies`."""
    remedies = _remedies(search.found, job, start)
    blockers = list(map(_with_fields, search.found, remedies))
    return {"complete": search.complete, "blockers": blockers}


def _remedies(blockers: Sequence[Blocker], job: str, start: StartRemedy) -> list[str]:
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
    """The min of `start` with its command; `job` as for `blockers_document`."""
    fits = "for which the limits suffice" if start.limit else "which fits"
    return (
        f"a min of {start.min} for {start.role}, {fits}{kept_to(start.domains)}: "
        f"kubectl edl scale {job} --role {start.role} --min {start.min}"
    )


def higher_pool_limit(start: StartRemedy) -> str:
    """`spec.limits.cpu of NodePool default by 30.3 or more`; empty if no limit is too low.

    A static NodePool's replicas limit its nodes. Nodes may be larger than what the pods need, and
    a pod larger than each node: no size is known.
    """
    limit = start.limit
    if limit is None:
        return ""
    more = number_text(limit.resource, limit.needs - limit.add)
    pools = f"NodePool {listed(start.pools, ' or ')}".strip()
    if limit.resource == NODES:
        return f"spec.limits.{NODES} or spec.replicas of {pools} by {more} or more"
    return f"spec.limits.{limit.resource} of {pools} by {more} or more, enough for whole nodes"


def published_document(published: PublishedBlockers | None) -> BlockersDocument | None:
    """Blockers as the reconciler published them, without the fields of each type."""
    if published is None:
        return None
    blockers: list[BlockerDocument] = [
        {"type": blocker.type, "message": blocker.message, "remediation": blocker.remediation}
        for blocker in published.blockers
    ]
    return {"complete": published.complete, "blockers": blockers}


def _with_fields(blocker: Blocker, helps: str) -> BlockerDocument:
    """A blocker's type, its sentences, and the fields of its type."""
    plain: BlockerDocument = {
        "type": type(blocker).__name__,
        "message": blocker_text(blocker),
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
    blocker: AtBound | LoadCeiling | QuotaExceeded, plain: BlockerDocument
) -> BlockerDocument:
    if isinstance(blocker, AtBound):
        return {
            **plain,
            "role": blocker.role,
            "limitedBy": blocker.bound.value,
            "replicas": blocker.value,
        }
    if isinstance(blocker, LoadCeiling):
        return {
            **plain,
            "role": blocker.role,
            "resource": blocker.resource,
            "loadCeiling": blocker.share,
            "sufficientLoadCeiling": blocker.enough,
            "idle": quantity(blocker.resource, blocker.idle),
            "reserved": quantity(blocker.resource, blocker.kept),
            "needed": quantity(blocker.resource, blocker.needed),
        }
    quota = blocker.quota
    return {
        **plain,
        "quota": {"source": quota.source, "resource": quota.resource},
        "needed": quota.text(blocker.needed),
        "limit": quota.text(quota.hard),
        "used": quota.text(blocker.used),
        "available": quota.text(blocker.left),
    }


def _of_nodes(blocker: LackOfRoom, plain: BlockerDocument) -> BlockerDocument:
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
