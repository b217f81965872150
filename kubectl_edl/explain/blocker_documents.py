"""Blockers of a training job, for `-o json` of `kubectl edl explain`."""

from collections.abc import Iterable
from functools import singledispatch

from edl.messages import cause, remedy
from edl.model import Domain
from edl.model.blockers import (
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
    TimedHold,
    TooLarge,
)
from edl.planner.explain.explanation import Blockers
from edl.visibility.namespace_queue import PublishedStops
from kubectl_edl.model.training_job_view import time_text
from kubectl_edl.output.documents.decision_documents import BlockerDocument, BlockersDocument
from kubectl_edl.output.documents.shared_documents import DomainDocument
from kubectl_edl.queue.view import quantities, quantity


def stops_document(stops: Blockers | None) -> BlockersDocument | None:
    if stops is None:
        return None
    return {"complete": stops.complete, "blockers": [_with_fields(one) for one in stops.blockers]}


def published_document(stops: PublishedStops | None) -> BlockersDocument | None:
    """Blockers as the reconciler published them, without the fields of each type."""
    if stops is None:
        return None
    blockers: list[BlockerDocument] = [
        {"type": one.type, "message": one.message, "remediation": one.remediation}
        for one in stops.blockers
    ]
    return {"complete": stops.complete, "blockers": blockers}


@singledispatch
def _with_fields(one: Blocker) -> BlockerDocument:
    """A blocker's type, its sentences, and the fields of its type."""
    raise TypeError(f"no document for {one!r}")


def _plain(one: Blocker) -> BlockerDocument:
    return {"type": one.kind.value, "message": cause(one), "remediation": remedy(one)}


@_with_fields.register
def _(one: InsufficientResources) -> BlockerDocument:
    return {
        **_plain(one),
        "role": one.role,
        "pods": one.wanted,
        "schedulablePods": one.fitting,
        "requests": quantities(one.requests),
        "eligibleNodes": one.nodes,
        "nodeName": one.node,
        "maxIdle": quantities(one.free),
        "missing": quantities(one.missing),
        "domains": _domains(one.domains),
    }


@_with_fields.register
def _(one: TooLarge) -> BlockerDocument:
    return {
        **_plain(one),
        "role": one.role,
        "pods": one.pods,
        "requests": quantities(one.requests),
        "eligibleNodes": one.nodes,
        "nodeName": one.node,
        "maxAllocatable": quantities(one.largest),
        "domains": _domains(one.domains),
    }


@_with_fields.register
def _(one: NoUsableNode) -> BlockerDocument:
    return {
        **_plain(one),
        "role": one.role,
        "pods": one.pods,
        "requests": quantities(one.requests),
        "nodeRule": one.rule.rule.value,
        "domains": _domains(one.domains),
    }


@_with_fields.register
def _(one: ConstraintsUnsatisfied) -> BlockerDocument:
    return {
        **_plain(one),
        "role": one.role,
        "pods": one.pods,
        "requests": quantities(one.requests),
        "eligibleNodes": one.nodes,
        "scarce": one.rule.value,
        "nodeName": one.node,
        "domains": _domains(one.domains),
    }


@_with_fields.register
def _(one: LoadCeiling) -> BlockerDocument:
    return {
        **_plain(one),
        "role": one.role,
        "resource": one.resource,
        "loadCeiling": one.share,
        "sufficientLoadCeiling": one.enough,
        "idle": quantity(one.resource, one.idle),
        "reserved": quantity(one.resource, one.kept),
        "needed": quantity(one.resource, one.needed),
    }


@_with_fields.register
def _(one: QuotaExceeded) -> BlockerDocument:
    quota = one.quota
    return {
        **_plain(one),
        "quota": {"source": quota.source, "resource": quota.resource},
        "needed": quota.text(one.needed),
        "limit": quota.text(quota.hard),
        "used": quota.text(one.used),
        "available": quota.text(one.left),
    }


@_with_fields.register
def _(one: AtBound) -> BlockerDocument:
    return {
        **_plain(one),
        "role": one.role,
        "limitedBy": one.bound.value,
        "replicas": one.value,
    }


@_with_fields.register
def _(one: TimedHold) -> BlockerDocument:
    return {
        **_plain(one),
        "reason": one.reason.code.value,
        "notBefore": time_text(one.until),
    }


@_with_fields.register
def _(one: Outranked) -> BlockerDocument:
    return {
        **_plain(one),
        "reason": one.rule.value,
        "blockedBy": [str(key) for key in one.jobs],
        "pendingPods": list(one.pods),
        "roles": [{"name": role, "replicas": size} for role, size in one.roles],
    }


@_with_fields.register
def _(one: InProgress) -> BlockerDocument:
    return {**_plain(one), "reason": one.reason.code.value}


@_with_fields.register
def _(one: OwnCondition) -> BlockerDocument:
    return {**_plain(one), "reason": one.reason.code.value, "hindrance": one.what.value}


def _domains(found: Iterable[Domain]) -> list[DomainDocument]:
    return [
        {"role": one.role or None, "topologyKey": one.label, "value": one.value} for one in found
    ]
