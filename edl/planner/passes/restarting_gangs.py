"""Restarting jobs: gangs that were stopped to resize, and start again before the queue."""

from collections.abc import Container, Sequence

from msgspec.structs import replace

from edl import reasons
from edl.feasibility.horizon import FUTURE_IDLE, IDLE, Horizon
from edl.model import Code, JobKey
from edl.planner.gangs.gang import Gang, has_previous_pods, why_unreserved
from edl.planner.gangs.topology_placement import NodesByRequest, place_on_assigned_nodes
from edl.planner.packing.pack_order import reserve_idle_part
from edl.planner.packing.pod_class import PodSetRequest
from edl.planner.passes.admission.gang_claims import GangClaims
from edl.planner.passes.scale_down.needed_nodes import overdue
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.teams.reclaim_priority import NONE_IN_REACH


def start_again(claims: GangClaims, gangs: Sequence[Gang], anew: Container[JobKey]) -> set[JobKey]:
    """Start restarting jobs, before the queue: their capacity was freed for these starts.

    Returns those that start or reserve their capacity. If it is gone, a job queues for its
    minimum like any other. Those of `anew` are packed anew, so that a waiting gang may fit
    beside them; none takes the nodes on which another is to start.
    """
    gangs = [gang for gang in gangs if not why_unreserved(claims.snapshot, gang)]
    assigned = [_kept(claims, gang) if len(gangs) > 1 else None for gang in gangs]
    restarted = set()
    for gang, there in zip(gangs, assigned, strict=True):
        for request, nodes in zip(there[0].requests, there[1], strict=True) if there else ():
            for node in nodes:
                request.pod_class.at(_horizon(claims.snapshot, gang)).release(node)
        terminates = has_previous_pods(claims.snapshot, gang)
        if (_reserve if terminates else _start)(claims, gang, anew=gang.job.key in anew):
            restarted.add(gang.job.key)
    return restarted


def _start(claims: GangClaims, gang: Gang, *, anew: bool) -> bool:
    """Start a gang on idle capacity: on its assigned nodes, or packed anew."""
    ways = [_kept, GangClaims.placed]
    for candidate in (_off_vacated(claims.snapshot, gang), gang):
        for way in reversed(ways) if anew else ways:
            if placed := way(claims, candidate):
                claims.admit(*placed, gang.reason)
                return True
    return False


def _reserve(claims: GangClaims, gang: Gang, *, anew: bool) -> bool:
    """Reserve future idle capacity for a gang, on its assigned nodes if it fits there."""
    there = None if anew else _kept(claims, gang)
    if there is None and (made := claims.sources.reserve(gang, NONE_IN_REACH)):
        placed: tuple[Sequence[PodSetRequest], NodesByRequest] = made.requests, made.nodes
    elif there := there or _kept(claims, gang):
        gang.quota_request.reserve(FUTURE_IDLE)
        placed = there[0].requests, there[1]
    else:
        return False
    reserve_idle_part(*placed)
    claims.results.pipeline(*placed, gang.job.key)
    claims.results.let_wait(gang.job.key, reasons.PODS_TERMINATING)
    return True


def _kept(claims: GangClaims, gang: Gang) -> tuple[Gang, NodesByRequest] | None:
    """Reserve the nodes on which a restarting gang is to start; None if they are gone."""
    horizon = _horizon(claims.snapshot, gang)
    allowed = gang.quota_request.allows(horizon)
    return place_on_assigned_nodes(claims.snapshot, gang, horizon) if allowed else None


def _off_vacated(snapshot: Snapshot, gang: Gang) -> Gang:
    """The gang without the overdue unneeded nodes, if it was stopped to leave those."""
    if gang.stop_reason is None or gang.stop_reason.code is not Code.NODE_UNNEEDED:
        return gang
    stays = ~overdue(snapshot)
    requests = (PodSetRequest(pod_class.within(stays), pods) for pod_class, pods in gang.requests)
    return replace(gang, requests=tuple(requests))


def _horizon(snapshot: Snapshot, gang: Gang) -> Horizon:
    """The horizon at which a restarting gang may have its nodes."""
    return FUTURE_IDLE if has_previous_pods(snapshot, gang) else IDLE
