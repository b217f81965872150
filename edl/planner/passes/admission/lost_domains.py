"""Gangs that a loss of nodes leaves in a required domain that cannot hold their minimum."""

from msgspec.structs import replace

from edl.feasibility.horizon import Horizon
from edl.lost_pods import why_leaves_domain
from edl.model import JobKey, TrainingJob
from edl.planner.packing.pack_order import pack_in_best_order
from edl.planner.packing.pod_class import PodSetRequest
from edl.planner.passes.admission.claim_sources import ClaimSources
from edl.planner.passes.admission.empty_cluster import fits_without_training_jobs
from edl.planner.passes.admission.gang import gang_to_start
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.role_allocation import NO_NODE


def leave_lost_domains(sources: ClaimSources) -> None:
    """Queue gangs again that train nothing where they are, but could start in another domain.

    Their lost pods are created after the gang limit only, and would wait in the old domain.
    """
    snapshot, decisions = sources.snapshot, sources.decisions
    for job in snapshot.jobs if sources.standing_still else ():
        if (
            job.key in sources.standing_still
            and job.topology.required
            and not job.problem
            and not _holds_minimum(snapshot, job.key)
            and _fits_elsewhere(snapshot, job)
        ):
            decisions.suspended[job.key] = why_leaves_domain(job)


def _holds_minimum(snapshot: Snapshot, key: JobKey) -> bool:
    """Whether its domains could hold what its minimum lacks if no other training job ran."""
    allocations = [one for one in snapshot.allocations if one.job.key == key]
    room, requests = snapshot.capacity_without_training_jobs.copy(), []
    for one in allocations:  # pods stay where they are, also on cordoned nodes
        nodes = [placement.node for placement in one.placements if placement.node != NO_NODE]
        one.pod_class.release_from(room, nodes, -1)
        requests.append(PodSetRequest(one.pod_class, max(one.min_replicas - len(nodes), 0)))
    fitting = pack_in_best_order(room, requests, Horizon.EMPTY)
    return fitting == [request.pods for request in requests]


def _fits_elsewhere(snapshot: Snapshot, job: TrainingJob) -> bool:
    roles = tuple(role.changed(suspended=True, pods=()) for role in job.roles)
    return fits_without_training_jobs(snapshot, gang_to_start(snapshot, replace(job, roles=roles)))
