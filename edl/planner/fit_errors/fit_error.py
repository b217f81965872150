"""Why pods cannot be placed, in the detail of the plan's own reasons.

`edl.planner.explain.explanation` explains one job in more detail.
"""

from collections.abc import Callable, Sequence

import numpy as np
from msgspec.structs import replace

from edl import reasons
from edl.feasibility.eligibility import Ints, Mask
from edl.feasibility.horizon import FUTURE_IDLE, Horizon
from edl.model import Domain, Reason, Role, Shape
from edl.model.causes.blockers import NoUsableNode
from edl.model.causes.scarcity import Lack, NodeRule, NoEligibleNode, ResourceNeed, Scarce, Shortage
from edl.planner.fit_errors.unmet_constraint import unmet_constraint
from edl.planner.gangs.gang import Gang
from edl.planner.gangs.topology_placement import AttainedCapacity, closest_fit, fits_empty_cluster
from edl.planner.packing.pack_order import pack_in_best_order
from edl.planner.packing.pod_class import PodClass, PodSetRequest, pack
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.quantities import Resources


def gang_fit_error(
    snapshot: Snapshot, gang: Gang, attained: Callable[[], AttainedCapacity]
) -> Reason:
    """Why a gang does not fit now, or never can."""
    needs = tuple(
        ResourceNeed(role.name, request.pods, request.pod_class.shape.requests)
        for role, request in zip(gang.roles, gang.requests, strict=True)
    )
    for request in gang.requests:
        if error := no_node_error(snapshot, request.pod_class):
            return reasons.no_node(replace(error, needs=needs))
    never = not fits_empty_cluster(snapshot, gang)
    if never:
        room, horizon = snapshot.capacity_without_training_jobs, Horizon.EMPTY
        near = closest_fit(snapshot, gang, room, horizon)
    else:
        (room, near), horizon = attained(), FUTURE_IDLE
    if near is None:
        return reasons.no_node(no_domain_error(gang, needs))
    candidate, fitting = near
    missing = Shortage(
        needs, fitting, scarcest(snapshot, room, candidate.requests, horizon), candidate.domains
    )
    return reasons.gang(missing, never=never)


def minimum_fit_error(
    snapshot: Snapshot, roles: Sequence[str], requests: Sequence[PodSetRequest], room: Ints
) -> Shortage | NoEligibleNode:
    """Why these pods of a started job's minimum do not fit; one request for each of `roles`.

    `room`: what its claim may use; int64[resources, nodes].
    """
    needs = tuple(
        ResourceNeed(role, request.pods, request.pod_class.shape.requests)
        for role, request in zip(roles, requests, strict=True)
    )
    for request in requests:
        if error := no_node_error(snapshot, request.pod_class):
            return replace(error, needs=needs)
    fitting = sum(pack_in_best_order(room, requests, FUTURE_IDLE))
    return Shortage(needs, fitting, scarcest(snapshot, room, requests, FUTURE_IDLE))


def one_pod_error(snapshot: Snapshot, pod_class: PodClass) -> Reason:
    """Why no node has capacity for one more pod."""
    if error := no_node_error(snapshot, pod_class):
        return reasons.no_node(error)
    room = snapshot.capacity.future_idle
    lacks = scarcest(snapshot, room, [PodSetRequest(pod_class, 1)], FUTURE_IDLE)
    if lacks.scarce is Scarce.RESOURCE:
        lacks = resource_lack(snapshot, room, pod_class, _largest(pod_class))
    return reasons.no_room(pod_class.shape.requests, lacks, snapshot.domains.kept_to(pod_class))


def no_domain_error(gang: Gang, needs: tuple[ResourceNeed, ...] = ()) -> NoEligibleNode:
    """The error that no eligible node has the topology labels that a gang requires."""
    labels = tuple((label, "") for _, label in gang.job.topology.required)
    return NoEligibleNode(NodeRule.TOPOLOGY, labels, needs)


def no_node_error(snapshot: Snapshot, pod_class: PodClass) -> NoEligibleNode | None:
    """The rule that excludes a pod class from every node, or from each that is large enough.

    None if an eligible node is large enough, or no node at all.
    """
    if not pod_class.eligible.any():
        return _excluding_rule(snapshot, pod_class.shape, np.ones_like(pod_class.eligible))
    if pod_class.large_enough.any():
        return unmet_constraint(snapshot, pod_class)
    large = snapshot.capacity.large_enough(pod_class.amounts)
    if not large.any() or (large & snapshot.eligibility.mask(pod_class.shape)).any():
        return None
    return replace(_excluding_rule(snapshot, pod_class.shape, large), large_nodes=True)


def _excluding_rule(snapshot: Snapshot, shape: Shape, among: Mask) -> NoEligibleNode:
    """The node rule that excludes pods of `shape` from each node of the mask `among`."""
    eligibility = snapshot.eligibility
    if not (snapshot.capacity.schedulable & among).any():
        return NoEligibleNode(NodeRule.UNSCHEDULABLE)
    names = eligibility.absent_nodes(shape)
    if names:
        return NoEligibleNode(NodeRule.NODE_NAME, names=names)
    selected = eligibility.selected(shape) & among
    if not selected.any():
        if not (eligibility.selected(replace(shape, affinity=())) & among).any():
            return NoEligibleNode(NodeRule.NODE_SELECTOR, shape.node_selector)
        return NoEligibleNode(NodeRule.NODE_AFFINITY, shape.node_selector, affinity=shape.affinity)
    if not (selected & eligibility.tolerated(shape)).any():
        return NoEligibleNode(NodeRule.TAINTS, taints=eligibility.untolerated(shape, selected))
    return NoEligibleNode(NodeRule.OTHERS_UNSCHEDULABLE)


def no_usable_node(
    snapshot: Snapshot,
    role: Role,
    request: PodSetRequest,
    error: NoEligibleNode,
    domains: tuple[Domain, ...] = (),
) -> NoUsableNode:
    """The blocker of this error; whether a node lacks no more than to be uncordoned."""
    nowhere = error.rule is NodeRule.UNSCHEDULABLE and not error.large_nodes
    cordoned = nowhere and any(node.ready and node.cordoned for node in snapshot.state.nodes)
    requests = request.pod_class.shape.requests
    return NoUsableNode(role.name, request.pods, requests, error, domains, cordoned)


def scarcest(
    snapshot: Snapshot, room: Ints, requests: Sequence[PodSetRequest], horizon: Horizon
) -> Lack:
    """The resource that admits the fewest pods of the request that fits worst into `room`."""
    placed = pack(room, requests, horizon) if len(requests) > 1 else [0]  # one needs no comparison
    worst = min(zip(requests, placed, strict=True), key=lambda pair: pair[1] / max(pair[0].pods, 1))
    pod_class = worst[0].pod_class
    if not pod_class.amounts:
        return Lack(Scarce.NODES)
    fitting = pod_class.pods_by_resources(room)
    if not pod_class.is_unconstrained and int(fitting.sum()) >= worst[0].pods:
        return Lack(excluding_rule(pod_class, fitting, worst[0].pods, horizon))
    return Lack(Scarce.RESOURCE, scarce_resource(snapshot, room, pod_class))


def excluding_rule(pod_class: PodClass, fitting: Ints, pods: int, horizon: Horizon) -> Scarce:
    """The kind of rule that keeps `pods` pods off nodes with resources for `fitting` pods.

    Host ports only if they alone leave fewer places than that; without resources anywhere, fewer
    than all eligible nodes would have.
    """
    rules = pod_class.constraints
    if rules is None:
        return Scarce.DEVICES
    if not rules.ports:
        return Scarce.RULES
    places = fitting if fitting.any() else pod_class.eligible * pods
    empty, by_ports = horizon is Horizon.EMPTY, rules.by_ports
    allowed = by_ports.pods_per_node(places) if empty else by_ports.surely(places)
    return Scarce.PORTS if int(allowed.sum()) < min(pods, int(places.sum())) else Scarce.RULES


def resource_lack(snapshot: Snapshot, room: Ints, pod_class: PodClass, nodes: Ints | Mask) -> Lack:
    """The resources that `nodes` lack for one more pod in `room`, int64[resources, nodes]."""
    names = snapshot.capacity.resources
    most = room[:, nodes].max(axis=1, initial=0)
    short = {names[row]: amount for row, amount in pod_class.amounts if amount > most[row]}
    return Lack(Scarce.RESOURCE, scarce_resource(snapshot, room, pod_class), Resources.of(short))


def _largest(pod_class: PodClass) -> Ints | Mask:
    """The nodes that could hold a pod if they were empty; all eligible ones if none is."""
    return pod_class.large_enough if pod_class.large_enough.any() else pod_class.nodes


def scarce_resource(snapshot: Snapshot, room: Ints, pod_class: PodClass) -> str:
    """The resource that admits the fewest pods on nodes that could hold one.

    It is the same however many pods have been placed in `room`, int64[resources, nodes].
    """
    there = room[:, _largest(pod_class)]
    alone = [
        (int(np.maximum(there[row] // amount, 0).sum()), row) for row, amount in pod_class.amounts
    ]
    return snapshot.capacity.resources[min(alone)[1]]
