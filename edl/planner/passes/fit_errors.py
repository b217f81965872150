"""Why pods find no place: said while a plan is made, so only what the plan's sentence needs.

`edl.planner.explain.explanation` says more, for whoever asks about one job.
"""

from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from edl import reasons
from edl.feasibility.gpu_shares import Horizon
from edl.model import Reason
from edl.model.scarcity import Lack, NodeRule, NoEligibleNode, ResourceNeed, Scarce, Shortage
from edl.planner.packing.node_capacity import Ints, by_scarcest_resource
from edl.planner.packing.pod_class import PodClass, PodSetRequest, pack
from edl.planner.passes.admission.gang import Gang
from edl.planner.passes.admission.topology_placement import closest_fit, fits_empty_cluster
from edl.planner.snapshot.cluster_snapshot import Snapshot


def gang_fit_error(board: Snapshot, found: Gang, reach: Ints) -> Reason:
    """Why a gang does not fit, or never can.

    `reach`: the room on `soon`, and what extras hold that yield to it.
    """
    needs = tuple(
        ResourceNeed(role.name, want.pods, want.pod_class.shape.requests)
        for role, want in zip(found.roles, found.requests, strict=True)
    )
    for want in found.requests:
        if not want.pod_class.eligible.any():
            return reasons.no_node(replace(no_node_error(board, want.pod_class), needs=needs))
    never = not fits_empty_cluster(board, found)
    room, horizon = (
        (board.capacity_without_training_jobs(), Horizon.EMPTY)
        if never
        else (reach, Horizon.FUTURE_IDLE)
    )
    near = closest_fit(board, found, room, horizon)
    if near and near[1] == found.pods and not never:  # rules or budgets keep it from extras
        room = board.capacity.future_idle
        near = closest_fit(board, found, room, horizon)
    if near is None:
        return reasons.no_node(no_domain_error(found, needs))
    gang, fitting = near
    missing = Shortage(needs, fitting, scarcest(board, room, gang.requests, horizon), gang.domains)
    return reasons.never(missing) if never else reasons.gang(missing)


def no_domain_error(found: Gang, needs: tuple[ResourceNeed, ...] = ()) -> NoEligibleNode:
    """No node that a gang may use has the labels that it requires."""
    labels = tuple((label, "") for _, label in found.job.topology.required)
    return NoEligibleNode(NodeRule.TOPOLOGY, labels, needs)


def no_node_error(board: Snapshot, fit: PodClass) -> NoEligibleNode:
    """Which rule keeps a shape off every node."""
    eligibility, shape = board.eligibility, fit.shape
    if not board.capacity.schedulable.any():
        return NoEligibleNode(NodeRule.UNSCHEDULABLE)
    if not eligibility.selected(shape).any():
        wanted = shape.node_selector
        return NoEligibleNode(NodeRule.NODE_SELECTOR if wanted else NodeRule.NODE_AFFINITY, wanted)
    if not (eligibility.selected(shape) & eligibility.tolerated(shape)).any():
        return NoEligibleNode(NodeRule.TAINTS)
    return NoEligibleNode(NodeRule.OTHERS_UNSCHEDULABLE)


def scarcest(board: Snapshot, room: Ints, wants: Sequence[PodSetRequest], horizon: Horizon) -> Lack:
    """Of what there is least, counted in pods of the want that fits worst."""
    placed = pack(room, wants, horizon)
    worst = min(zip(wants, placed, strict=True), key=lambda pair: pair[1] / max(pair[0].pods, 1))
    fit = worst[0].pod_class
    if not fit.amounts:
        return Lack(Scarce.NODES)
    ruled = fit.constraints is not None or fit.share_allocator is not None
    if ruled and int(_plain_capacity(room, fit).sum()) >= worst[0].pods:
        return Lack(Scarce.DEVICES if fit.constraints is None else Scarce.RULES)
    alone = [
        (int(np.where(fit.eligible, np.maximum(room[line] // amount, 0), 0).sum()), line)
        for line, amount in fit.amounts
    ]
    return Lack(Scarce.RESOURCE, board.capacity.resources[min(alone)[1]])


def _plain_capacity(room: Ints, fit: PodClass) -> Ints:
    """How many pods each node takes by its sums, whoever is there."""
    most = by_scarcest_resource(room[line] // amount for line, amount in fit.amounts)
    return np.where(fit.eligible, np.maximum(most, 0), 0)
