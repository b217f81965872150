"""Pods that wait behind the gate `edl.dev/placement`: one patch gives each its node.

A pod whose node was taken by others is deleted, and its replacement waits behind the gate again.

An assignment is stored on the pod itself, so the next round continues with the other pods.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime

from edl import contract, node_affinity, reasons
from edl.model import Pod, ResizePolicy, Role, TrainingJob
from edl.planner.plan import NodeAssignment
from edl.steps import pod_removal, preconditioned_patches
from edl.steps.provisioning import capacity_requests
from edl.steps.start import told_at_start
from edl.writes import Action, Patch, Step


def placed(job: TrainingJob, found: Sequence[NodeAssignment], now: datetime) -> tuple[Step, ...]:
    """A step a pod: none waits for another, and what one of them meets ends nothing but itself."""
    return (*_replaced(job, found), *_given(job, found, now))


def _replaced(job: TrainingJob, found: Sequence[NodeAssignment]) -> Iterator[Step]:
    """Pods that lost their nodes to others end, uncounted; the Job controller makes them again."""
    names = {(one.role, pod) for one in found for pod in one.replaced_pods}
    for role in job.live:
        for pod in role.status.pods:
            if (role.name, pod.name) in names and pod.active:
                reason = reasons.node_full(pod.name)
                note = preconditioned_patches.note(job.key, role, Action.REPLACED, reason)
                yield Step(job.key, pod_removal.untracked_end(job, pod), (note,))


def _given(job: TrainingJob, found: Sequence[NodeAssignment], now: datetime) -> tuple[Step, ...]:
    told = told_at_start(job, {role.name: role.status.size for role in job.roles})
    if told and any(role.status.suspended for role in job.live):
        return ()  # A job that is yet to start may do so at another size.
    annotations = {**told, contract.PLACED_AT: preconditioned_patches.timestamp(now)}
    nodes = {(one.role, pod): node for one in found for pod, node in one.nodes}
    return tuple(
        Step(
            job.key,
            (_patch(job, role, pod, nodes[role.name, pod.name], annotations),),
        )
        for role in job.live
        if not role.status.suspended
        for pod in role.status.pods
        if (role.name, pod.name) in nodes and pod.name not in role.request.removing
        if pod.unplaced and pod.active
    )


def _own(job: TrainingJob, role: Role, pod: Pod, node: str) -> dict[str, str]:
    """What autoscalers are told of a pod of the minimum.

    It uses the nodes that were made for it. None is to move it: its training job would lose work.
    An extra may go at any time, and so may a work item. What its template says wins.
    """
    if pod.index >= role.spec.min:
        return {}
    consumes = capacity_requests.consumption(job) if node else {}
    moves = role.spec.resizing is ResizePolicy.ITEMS or pod.planned.says_disruption
    return consumes if moves else {**contract.UNDISRUPTED, **consumes}


def _patch(job: TrainingJob, role: Role, pod: Pod, node: str, told: dict[str, str]) -> Patch:
    """All at once: a pod whose gate is gone has its node, and what its start needs."""
    annotations = told | _own(job, role, pod, node)
    given = {contract.ASSIGNED_NODE: node} if node else {}
    affinity = {"affinity": node_affinity.narrowed(pod.planned.own_affinity, node)} if node else {}
    return preconditioned_patches.pod(
        job.key,
        pod,
        annotations | given,
        affinity | preconditioned_patches.ungated(pod, contract.PLACEMENT_GATE),
    )
