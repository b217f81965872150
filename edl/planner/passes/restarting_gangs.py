"""Restarting jobs: gangs that were stopped to resize, and start again before the queue."""

from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import TypeAlias

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

_Placed: TypeAlias = tuple[Sequence[PodSetRequest], NodesByRequest]


@dataclass(slots=True)
class RestartingGangs:
    """Starts them where their stop has freed capacity, or wherever they fit."""

    claims: GangClaims

    def run(self, gangs: Sequence[Gang], anew: Container[JobKey]) -> set[JobKey]:
        """Start restarting jobs, before the queue: their capacity was freed for these starts.

        Returns those that start or reserve their capacity. If it is gone, a job queues for its
        minimum like any other. Those of `anew` are packed anew, so that a waiting gang may fit
        beside them; none takes the nodes on which another is to start.
        """
        assigned = [self._kept(gang) if len(gangs) > 1 else None for gang in gangs]
        restarted = set()
        for gang, placed in zip(gangs, assigned, strict=True):
            for request, nodes in zip(*placed, strict=True) if placed else ():
                for node in nodes:
                    request.pod_class.at(_horizon(self.claims.snapshot, gang)).release(node)
            if self._restart(gang, anew=gang.job.key in anew):
                restarted.add(gang.job.key)
        return restarted

    def _kept(self, gang: Gang) -> _Placed | None:
        """Reserve the nodes on which a restarting gang is to start; None if they are gone."""
        horizon, request = _horizon(self.claims.snapshot, gang), gang.quota_request
        if why_unreserved(self.claims.snapshot, gang) or not request.allows(horizon):
            return None
        there = place_on_assigned_nodes(self.claims.snapshot, gang, horizon)
        return (there[0].requests, there[1]) if there else None

    def _restart(self, gang: Gang, *, anew: bool) -> bool:
        if why_unreserved(self.claims.snapshot, gang):
            return False
        if not has_previous_pods(self.claims.snapshot, gang):
            stays = self._off_vacated(gang)
            placed = self._placed_again(stays, anew=anew) or self._placed_again(gang, anew=anew)
            if placed is not None:
                self.claims.admit(*placed, gang.reason)
            return placed is not None
        if returns := self._reserved_again(gang, anew=anew):
            reserve_idle_part(*returns)
            self.claims.results.pipeline(*returns, gang.job.key)
            self.claims.results.hold(gang.job.key, reasons.PODS_TERMINATING)
        return returns is not None

    def _reserved_again(self, gang: Gang, *, anew: bool) -> _Placed | None:
        """Reserve future idle capacity for a restart, on its assigned nodes if it fits there."""
        there = None if anew else self._kept(gang)
        if there is None and (made := self.claims.sources.reserve(gang, NONE_IN_REACH)):
            return made.requests, made.nodes
        if there := there or self._kept(gang):
            gang.quota_request.reserve(FUTURE_IDLE)
        return there

    def _placed_again(self, gang: Gang, *, anew: bool) -> tuple[Gang, NodesByRequest] | None:
        may = gang.quota_request.allows(IDLE)
        placed = self.claims.placed(gang) if anew else None
        there = (
            place_on_assigned_nodes(self.claims.snapshot, gang, IDLE)
            if may and not placed
            else None
        )
        return placed or there or (None if anew else self.claims.placed(gang))

    def _off_vacated(self, gang: Gang) -> Gang:
        """The gang without the overdue unneeded nodes, if it was stopped to leave those."""
        if gang.stop_reason is None or gang.stop_reason.code is not Code.NODE_UNNEEDED:
            return gang
        stays = ~overdue(self.claims.snapshot)
        requests = (
            PodSetRequest(pod_class.within(stays), pods) for pod_class, pods in gang.requests
        )
        return replace(gang, requests=tuple(requests))


def _horizon(snapshot: Snapshot, gang: Gang) -> Horizon:
    """The horizon at which a restarting gang may have its nodes."""
    return FUTURE_IDLE if has_previous_pods(snapshot, gang) else IDLE
