"""Assigns nodes to pods behind the scheduling gate `edl.dev/placement`, by one patch per pod.

A pod whose node other pods have taken is deleted; its replacement is gated again. The assignment is
stored on the pod itself, so the next round continues with the remaining pods.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime

from edl import contract, node_affinity, reasons
from edl.annotations.time_text import timestamp
from edl.model import Pod, ResizePolicy, Role, TrainingJob
from edl.planner.disruption_budgets import protected_size
from edl.planner.plan import NodeAssignment
from edl.steps import pod_removal
from edl.steps.preconditioned_patches import job_event, pod_patch, spec_without_gate
from edl.steps.provisioning import capacity_requests
from edl.steps.sizes.start import member_annotations
from edl.steps.step_collector import DueSteps
from edl.writes import Action, Patch, Step


def placement_steps(job: TrainingJob, entries: Sequence[NodeAssignment], now: datetime) -> DueSteps:
    """One step per pod, so that the failure of one stops no other."""
    return DueSteps((*_replacements(job, entries), *_assignments(job, entries, now)))


def _replacements(job: TrainingJob, entries: Sequence[NodeAssignment]) -> Iterator[Step]:
    """Deletes pods that lost their nodes, uncounted; the Job controller recreates them.

    The text names no pod, so that all of them are one Event with a count.
    """
    names = {(entry.role, pod) for entry in entries for pod in entry.replaced_pods}
    for role in job.live:
        for pod in role.status.pods:
            if (role.name, pod.name) in names and pod.active:
                event = job_event(job.key, role, Action.REPLACED, reasons.NODE_FULL)
                yield Step(job.key, pod_removal.untracked_end(job, pod), (event,))


def _assignments(
    job: TrainingJob, entries: Sequence[NodeAssignment], now: datetime
) -> tuple[Step, ...]:
    members = member_annotations(job, {role.name: role.status.size for role in job.roles})
    if members and any(role.status.suspended for role in job.live):
        return ()  # the rest of the job may still start at another size
    annotations = {**members, contract.PLACED_AT: timestamp(now)}
    nodes = {(entry.role, pod): node for entry in entries for pod, node in entry.nodes}
    return tuple(
        Step(job.key, (_patch(job, role, pod, nodes[role.name, pod.name], annotations),))
        for role in job.live
        if not role.status.suspended
        for pod in role.status.pods
        if (role.name, pod.name) in nodes and pod.name not in role.request.removing
        if pod.unplaced and pod.active
    )


def _autoscaler_annotations(job: TrainingJob, role: Role, pod: Pod, node: str) -> dict[str, str]:
    """Annotations for autoscalers on a pod of the minimum; none on extras.

    The pod consumes the nodes that were provisioned for its job. It must not be evicted, since its
    job would lose work, unless it processes work items or its template says otherwise.
    """
    if pod.index >= protected_size(role):
        return {}
    consumes = capacity_requests.consumption(job) if node else {}
    moves = role.spec.resizing is ResizePolicy.ITEMS or pod.planned.has_disruption_annotation
    return consumes if moves else {**contract.UNDISRUPTED, **consumes}


def _patch(job: TrainingJob, role: Role, pod: Pod, node: str, members: dict[str, str]) -> Patch:
    """One patch for the node, the annotations that the start needs, and the gate's removal."""
    annotations = members | _autoscaler_annotations(job, role, pod, node)
    given = {contract.ASSIGNED_NODE: node} if node else {}
    affinity = {"affinity": node_affinity.narrowed(pod.planned.node_affinity, node)} if node else {}
    return pod_patch(
        job.key,
        pod,
        annotations | given,
        affinity | spec_without_gate(pod, contract.PLACEMENT_GATE),
    )
