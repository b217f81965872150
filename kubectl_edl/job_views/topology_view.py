"""A job's topology for display: the labels that it requests, and the domains of its pods."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeVar

from edl import contract
from edl.domain_counts import DomainCounts
from edl.messages.scarcity_messages import listed
from edl.model import Code, Domain, Reason, Topology
from edl.model.causes.scarcity import Shortage
from edl.model.nodes import is_added
from kubectl_edl.job_views.training_job_view import JobView
from kubectl_edl.output.documents.shared_documents import (
    DomainDocument,
    DomainPodsDocument,
    NearestDomainsDocument,
    TopologyDocument,
    TopologyRequestDocument,
    TopologyWaitDocument,
)
from kubectl_edl.output.table import Column, Table

_NAMED: Final = 8
"""The most domains that are named; of the others only the number is shown."""
_UNLABELLED: Final = "no such label"
_Item = TypeVar("_Item")


def table(counts: Sequence[DomainCounts]) -> Table:
    """One row per role and label; no rows without a topology."""
    return Table.of(columns(lambda counts: counts), counts)


def columns(counts: Callable[[_Item], DomainCounts]) -> tuple[Column[_Item], ...]:
    """Columns for a table whose items have these counts."""
    return (
        Column("ROLE", lambda item: counts(item).role),
        Column("TOPOLOGY", lambda item: counts(item).label),
        Column("RULE", lambda item: "required" if counts(item).required else "preferred"),
        Column("DOMAINS", lambda item: domains(counts(item).domains), shrinks=True),
    )


def domains(counts: Sequence[tuple[str, int]]) -> str:
    """`r3 (8 pods)`, or `r3 (6), r4 (2)`; empty without pods."""
    if len(counts) == 1:
        ((value, pods),) = counts
        return f"{value or _UNLABELLED} ({pods} {'pod' if pods == 1 else 'pods'})"
    return listed([f"{value or _UNLABELLED} ({pods})" for value, pods in counts], most=_NAMED)


def requiring(view: JobView, required: Sequence[tuple[str, str]]) -> str:
    """The command by which the job requires these labels instead."""
    labels = ",".join(f"{role}={label}" if role else label for role, label in required)
    return annotating(view, f"{contract.REQUIRED_TOPOLOGY}={labels} --overwrite")


def annotating(view: JobView, changes: str) -> str:
    """The command that changes annotations of its Jobs with a topology."""
    jobs = " ".join(role.job for role in view.job.live if role.spec.topology)
    return f"kubectl annotate job {jobs} {changes} {view.namespace_option}".strip()


def document(topology: Topology, counts: Sequence[DomainCounts] | None) -> TopologyDocument | None:
    """The document for `-o json`; null without a topology. `counts` is None if unknown."""
    if (fields := _request_document(topology)) is None:
        return None
    return {**fields, "domains": None if counts is None else domains_document(counts)}


def waiting_document(topology: Topology, reason: Reason | None) -> TopologyWaitDocument | None:
    """The document for a job that waits for this reason; null without a topology."""
    if (fields := _request_document(topology)) is None:
        return None
    return {**fields, "nearest": nearest_document(reason)}


def _request_document(topology: Topology) -> TopologyRequestDocument | None:
    if not topology:
        return None
    return {
        "required": [
            {"role": role or None, "topologyKey": label} for role, label in topology.required
        ],
        "preferred": list(topology.preferred),
    }


def domains_document(counts: Sequence[DomainCounts]) -> list[DomainPodsDocument]:
    return [
        {"role": entry.role, "topologyKey": entry.label, "value": value or None, "pods": pods}
        for entry in counts
        for value, pods in entry.domains
    ]


def nearest(reason: Reason | None) -> str:
    """`example.com/rack=r3: 6 of 8 pods fit`; empty if no domain is required."""
    shortage = _shortage(reason)
    if reason is None or shortage is None:
        return ""
    fit = "would fit if no training job ran" if reason.code is Code.NEVER_FITS else "fit"
    pods = sum(need.pods for need in shortage.needs)
    return f"{', '.join(map(str, shortage.domains))}: {shortage.fitting} of {pods} pods {fit}"


def nearest_document(reason: Reason | None) -> NearestDomainsDocument | None:
    """The domains where most pods fit; null if none is required or all pods fit."""
    shortage = _shortage(reason)
    if reason is None or shortage is None:
        return None
    return {
        "domains": places_document(shortage.domains),
        "schedulablePods": shortage.fitting,
        "pods": sum(need.pods for need in shortage.needs),
        "neverFits": reason.code is Code.NEVER_FITS,
    }


def places_document(domains: Iterable[Domain]) -> list[DomainDocument]:
    return [
        {
            "role": domain.role or None,
            "topologyKey": domain.label,
            "value": None if is_added(domain.value) else domain.value,
        }
        for domain in domains
    ]


def _shortage(reason: Reason | None) -> Shortage | None:
    about = reason.about if reason else None
    return about if isinstance(about, Shortage) and about.domains else None
