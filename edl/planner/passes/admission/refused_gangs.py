"""Gangs that did not fit: an equal gang later in the queue cannot fit either."""

from collections.abc import Hashable
from dataclasses import dataclass, field

from edl.model import Reason
from edl.planner.gangs.gang import Gang
from edl.planner.passes.admission.claim_sources import ClaimSources
from edl.planner.snapshot.extras.reclaimable import reclaim_priority_of
from edl.planner.teams.reclaim_priority import ReclaimScope


@dataclass(slots=True)
class RefusedGangs:
    """Why searches failed, by what the gang needs and its priority, then by what its team may take.

    Requested pods count in quotas, so the reasons are dropped once nodes are requested.
    """

    sources: ClaimSources
    _reasons: dict[Hashable, dict[Hashable, Reason]] = field(default_factory=dict)

    def add(self, gang: Gang, scope: ReclaimScope, reason: Reason) -> None:
        reasons_by_team = self._reasons.setdefault((gang.signature, scope.priority), {})
        reasons_by_team[self._covered(gang, scope)] = reason

    def reason_of_equal(self, gang: Gang) -> Reason | None:
        """Why an equal gang was refused; None if none was."""
        priority = reclaim_priority_of(self.sources.snapshot, gang.job)
        reasons_by_team = self._reasons.get((gang.signature, priority))
        if not reasons_by_team:
            return None
        return reasons_by_team.get(self._covered(gang, self.sources.scope_of(gang, ())))

    def clear(self) -> None:
        self._reasons.clear()

    def _covered(self, gang: Gang, scope: ReclaimScope) -> tuple[int, int] | None:
        """Nodes that are too small, or not eligible, refuse a gang whatever its team may take."""
        right, empty_cluster = scope.right, self.sources.without_jobs
        if right and (gang.quota_request.is_bounded or empty_cluster.has_capacity_for(gang)):
            return right.team, right.covered_by
        return None
