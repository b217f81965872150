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
    return Table.of(columns(lambda one: one), counts)


def columns(counts: Callable[[_Item], DomainCounts]) -> tuple[Column[_Item], ...]:
    """Columns for a table whose items have these counts."""
    return (
        Column("ROLE", lambda one: counts(one).role),
        Column("TOPOLOGY", lambda one: counts(one).label),
        Column("RULE", lambda one: "required" if counts(one).required else "preferred"),
        Column("DOMAINS", lambda one: domains(counts(one).domains), shrinks=True),
    )


def domains(found: Sequence[tuple[str, int]]) -> str:
    """`r3 (8 pods)`, or `r3 (6), r4 (2)`; empty without pods."""
    if len(found) == 1:
        ((value, pods),) = found
        return f"{value or _UNLABELLED} ({pods} {'pod' if pods == 1 else 'pods'})"
    return listed([f"{value or _UNLABELLED} ({pods})" for value, pods in found], most=_NAMED)


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
    if (found := _asked(topology)) is None:
        return None
    return {**found, "domains": None if counts is None else domains_document(counts)}


def waiting_document(topology: Topology, reason: Reason | None) -> TopologyWaitDocument | None:
    """The document for a job that waits for this reason; null without a topology."""
    if (found := _asked(topology)) is None:
        return None
    return {**found, "nearest": nearest_document(reason)}


def _asked(topology: Topology) -> TopologyRequestDocument | None:
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
        {"role": one.role, "topologyKey": one.label, "value": value or None, "pods": pods}
        for one in counts
        for value, pods in one.domains
    ]


def nearest(reason: Reason | None) -> str:
    """`example.com/rack=r3: 6 of 8 pods fit`; empty if no domain is required."""
    found = _shortage(reason)
    if reason is None or found is None:
        return ""
    fit = "would fit if no training job ran" if reason.code is Code.NEVER_FITS else "fit"
    pods = sum(need.pods for need in found.needs)
    return f"{', '.join(map(str, found.domains))}: {found.fitting} of {pods} pods {fit}"


def nearest_document(reason: Reason | None) -> NearestDomainsDocument | None:
    """The domains where most pods fit; null if none is required or all pods fit."""
    found = _shortage(reason)
    if reason is None or found is None:
        return None
    return {
        "domains": places_document(found.domains),
        "schedulablePods": found.fitting,
        "pods": sum(need.pods for need in found.needs),
        "neverFits": reason.code is Code.NEVER_FITS,
    }


def places_document(found: Iterable[Domain]) -> list[DomainDocument]:
    return [
        {
            "role": one.role or None,
            "topologyKey": one.label,
            "value": None if is_added(one.value) else one.value,
        }
        for one in found
    ]


def _shortage(reason: Reason | None) -> Shortage | None:
    found = reason.about if reason else None
    return found if isinstance(found, Shortage) and found.domains else None
