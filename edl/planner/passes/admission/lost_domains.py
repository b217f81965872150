"""Gangs that a loss of nodes leaves in a required domain that cannot hold their minimum.

They train nothing there: their lost pods are created after the gang limit only, and would wait in
the old domain.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from msgspec.structs import replace

from edl.feasibility.eligibility import EligibleNodes
from edl.feasibility.horizon import Horizon
from edl.job_state.lost_pods import why_returns
from edl.planner.gangs.gang import gang_to_start
from edl.planner.packing.node_capacity import NO_NODE
from edl.planner.packing.pack_order import pack_in_best_order
from edl.planner.packing.placement import reserve_in
from edl.planner.packing.pod_class import PodClass, PodSetRequest
from edl.planner.passes.admission.claim_sources import ClaimSources
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.role_allocation import RoleAllocation, by_job


def leave_lost_domains(sources: ClaimSources) -> None:
    """Queue gangs again that could start in another domain, now or, if theirs is gone, ever."""
    snapshot, reserved = sources.snapshot, []
    for allocations in _in_lost_domains(sources):
        job = allocations[0].job
        roles = tuple(role.changed(suspended=True, pods=()) for role in job.roles)
        gang = gang_to_start(snapshot, replace(job, roles=roles))
        if _holds_minimum(snapshot, allocations, partial(_with_unready_nodes, snapshot)):
            there = sources.reserve(gang, sources.scope_of(gang))
            reserved += [there] if there else []
            leaves = there is not None
        else:
            leaves = sources.without_jobs.fits(gang)
        if leaves:
            sources.results.suspended[job.key] = why_returns(job, confined=True)
    for there in reversed(reserved):  # the start is after the Job controller's back-off
        there.discard(sources.reclaimable)
    sources.forget_reclaimable()


def _in_lost_domains(sources: ClaimSources) -> Iterator[list[RoleAllocation]]:
    """The roles of each such gang."""
    snapshot, waiting = sources.snapshot, sources.standing_still
    for allocations in by_job(snapshot.allocations) if waiting else ():
        job = allocations[0].job
        stays = job.problem or job.keeps_running or not job.topology.required
        if job.key in waiting and not (stays or _holds_minimum(snapshot, allocations)):
            yield allocations


def _holds_minimum(
    snapshot: Snapshot,
    allocations: Iterable[RoleAllocation],
    usable: Callable[[PodClass], PodClass] = lambda pod_class: pod_class,
) -> bool:
    """Whether its domains could hold what its minimum lacks if no other training job ran."""
    room, requests = snapshot.capacity_without_training_jobs.copy(), []
    for allocation in allocations:  # pods stay where they are, also on cordoned nodes
        bound = [placement for placement in allocation.placements if placement.node != NO_NODE]
        reserve_in(allocation.pod_class, room, bound)
        lacking = max(allocation.min_replicas - len(bound), 0)
        requests.append(PodSetRequest(usable(allocation.pod_class), lacking))
    fitting = pack_in_best_order(room, requests, Horizon.EMPTY)
    return fitting == [request.pods for request in requests]


def _with_unready_nodes(snapshot: Snapshot, pod_class: PodClass) -> PodClass:
    """The pod class on all nodes of its domains, also those that are cordoned or not ready."""
    eligibility, shape = snapshot.eligibility, pod_class.shape
    nodes = eligibility.selected(shape) & (
        eligibility.tolerated(shape) | ~snapshot.capacity.schedulable
    )
    for domain in snapshot.domains.kept_to(pod_class):
        nodes &= snapshot.domains.mask(domain)
    return PodClass(snapshot.capacity, shape, EligibleNodes.of(nodes))
