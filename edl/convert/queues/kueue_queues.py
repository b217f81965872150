"""Kueue's ClusterQueue, Cohort, LocalQueue and ResourceFlavor.

Fields: sigs.k8s.io/kueue apis/kueue, v1beta1 and v1beta2 (`cohort` became `cohortName`), and a
Cohort's v1alpha1.
"""

from typing import Any, Final

from edl.convert.diagnostics import FieldPath
from edl.convert.queues import flavor_quotas
from edl.convert.queues.queue_facts import (
    CLUSTER_QUEUE,
    COHORT,
    NamespaceClaim,
    QueueFacts,
    name_of,
)
from edl.convert.queues.resource_amounts import weight
from edl.convert.template_schema import FieldShape
from edl.convert.tracked_object import Fields
from edl.model import Requirement

_SELECTOR: Final[FieldShape] = {
    "matchLabels": {...: str},
    "matchExpressions": [{"key": str, "operator": str, "values": [str]}],
}
_QUEUE_FIELDS: Final = {
    **dict.fromkeys(
        ("admissionChecks", "admissionChecksStrategy"),
        "the reconciler requests nodes itself: --provisioner=pods, or provisioning-request as "
        "Kueue's ProvisioningRequest checks do",
    ),
    "admissionScope": "jobs of one team start in the order of the queue",
    "concurrentAdmissionPolicy": "jobs choose nodes by their node affinity",
}
_LOCAL_QUEUE_FIELDS: Final = {
    "fairSharing": "make a team of the namespace, with a weight, below the ClusterQueue's"
}
_FLAVOR_FIELDS: Final = {
    "nodeLabels": "write them into the nodeSelector of the jobs that need such nodes",
    "nodeTaints": "the plan reads the taints of the nodes themselves",
    "tolerations": "write them into the pod templates of the jobs that need such nodes",
    "topologyName": "annotate jobs with edl.dev/required-topology",
}
_PAUSE: Final = "pause its jobs with kubectl edl pause"
_PREEMPTION: Final = (
    "whole jobs of lower priority go with reconciler.planning.preempt, in all teams"
)


def read_cluster_queue(document: Fields) -> QueueFacts:
    _, name = name_of(document)
    spec = document.fields("spec")
    parent, place = _first(spec, ("cohortName", "cohort"))
    capacity = flavor_quotas.read(spec, is_on_top=False)
    spec.value("flavorFungibility")  # no effect with one flavor; more flavors are reported
    _queueing(spec)
    _stop_policy(spec)
    for field, instead in _QUEUE_FIELDS.items():
        spec.drop(field, instead=instead)
    return QueueFacts(
        kind=CLUSTER_QUEUE,
        name=name,
        fields=document,
        parent=parent,
        parent_place=place,
        capacity=capacity,
        weight=weight(spec.fields("fairSharing"), "weight") or 1.0,
        reclaims_jobs=_preemption(spec.fields("preemption")),
        selector=_selector(spec),
    )


def read_cohort(document: Fields) -> QueueFacts:
    _, name = name_of(document)
    spec = document.fields("spec")
    parent, place = _first(spec, ("parentName", "parent"))
    return QueueFacts(
        kind=COHORT,
        name=name,
        fields=document,
        parent=parent,
        parent_place=place,
        capacity=flavor_quotas.read(spec, is_on_top=True),
        weight=weight(spec.fields("fairSharing"), "weight") or 1.0,
    )


def read_local_queue(document: Fields) -> NamespaceClaim:
    namespace, _ = name_of(document)
    spec = document.fields("spec")
    queue = spec.text("clusterQueue")
    _stop_policy(spec)
    for field, instead in _LOCAL_QUEUE_FIELDS.items():
        spec.drop(field, instead=instead)
    return NamespaceClaim(namespace, queue, document)


def read_flavor(document: Fields) -> None:
    """A team has nothing for a flavor: jobs select their nodes themselves."""
    name_of(document)
    spec = document.fields("spec")
    for field, instead in _FLAVOR_FIELDS.items():
        spec.drop(field, instead=instead)


def _first(spec: Fields, names: tuple[str, ...]) -> tuple[str, FieldPath]:
    """The first of these fields that is set: its text and path."""
    field = next((name for name in names if spec.has(name)), names[0])
    return spec.text(field), (*spec.place, field)


def _queueing(spec: Fields) -> None:
    strategy = spec.choice("queueingStrategy", ("BestEffortFIFO", "StrictFIFO"))
    if strategy == "StrictFIFO":
        what = "StrictFIFO has no counterpart"
        instead = "smaller jobs may pass one that does not fit, for five minutes"
        spec.lose("queueingStrategy", what, instead)
    elif strategy:
        what = "smaller jobs may pass one that does not fit, for five minutes"
        spec.note("queueingStrategy", what)


def _stop_policy(spec: Fields) -> None:
    policy = spec.text("stopPolicy")
    if policy not in ("", "None"):
        spec.lose("stopPolicy", f"{policy[:63]} has no counterpart", _PAUSE)


def _preemption(fields: Fields) -> bool:
    """Whether the guarantee reclaims whole jobs of borrowers."""
    reclaim = fields.text("reclaimWithinCohort")
    if reclaim == "LowerPriority":
        what = "LowerPriority has no counterpart: only replicas above minimums are taken"
        instead = "reclaim: jobs takes whole borrowing jobs, the lowest priority first"
        fields.lose("reclaimWithinCohort", what, instead)
    elif reclaim not in ("", "Any", "Never"):
        fields.wrong("reclaimWithinCohort", f'"{reclaim[:63]}"', "Never, LowerPriority or Any")
    within = fields.text("withinClusterQueue")
    if within not in ("", "Never"):
        fields.lose("withinClusterQueue", f"{within[:63]} has no counterpart", _PREEMPTION)
    borrow = fields.fields("borrowWithinCohort")
    policy = borrow.text("policy")
    if policy not in ("", "Never"):
        borrow.lose("policy", f"{policy[:63]} has no counterpart", _PREEMPTION)
    borrow.drop("maxPriorityThreshold", instead=_PREEMPTION)
    return reclaim == "Any"


def _selector(spec: Fields) -> tuple[Requirement, ...] | None:
    selector: Any = spec.shaped("namespaceSelector", _SELECTOR)
    if selector is None:
        return None
    labels = selector.pop("matchLabels", None) or {}
    listed = selector.pop("matchExpressions", None) or []
    for name in selector:
        spec.wrong(
            "namespaceSelector", f'unknown field "{name[:63]}"', "matchLabels, matchExpressions"
        )
    requirements = {Requirement(key, "In", (value or "",)) for key, value in labels.items()}
    for entry in listed:
        values = tuple(sorted(set(entry.get("values") or ())))
        requirements.add(Requirement(entry.get("key") or "", entry.get("operator") or "", values))
    return tuple(sorted(requirements, key=lambda one: (one.key, one.operator, one.values)))
