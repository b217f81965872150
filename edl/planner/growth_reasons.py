"""Why roles below their max do not grow further, once all passes have run."""

from dataclasses import dataclass, field

from edl import reasons
from edl.feasibility.horizon import FUTURE_IDLE
from edl.model import Reason
from edl.planner.fit_errors.fit_error import one_pod_error
from edl.planner.packing.node_capacity import NO_NODE
from edl.planner.packing.pod_class import PodClass
from edl.planner.passes.growth import GrowthCeiling
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.role_allocation import RoleAllocation


@dataclass(slots=True)
class GrowthReasons:
    """The reasons of one decision; what roles have in common is computed once."""

    snapshot: Snapshot
    ceiling: GrowthCeiling
    _fit_errors: dict[PodClass, Reason] = field(default_factory=dict)

    def why_no_more(self, allocation: RoleAllocation) -> Reason:
        """The reason why a role below its max, which is not held, does not grow further."""
        if allocation.size > allocation.planned_size:
            if self.snapshot.waits_for_moves(allocation, allocation.allocated):
                return reasons.moving(self.snapshot.moves.recipient, allocation.job.key)
            return reasons.leaving(allocation.size - allocation.planned_size)
        request, pod_class = allocation.quota_request, allocation.pod_class
        quota = request.exceeded(FUTURE_IDLE) or request.unlent()
        # What teams keep is the reason only where there is room for one more.
        if quota and not (quota.spec.lendable and self._lacks_room(pod_class)):
            return reasons.insufficient_quota(quota.spec, request.amount(quota), quota.used)
        if pod_class not in self._fit_errors:
            self._fit_errors[pod_class] = self._fit_error(pod_class)
        return self._fit_errors[pod_class]

    def _lacks_room(self, pod_class: PodClass) -> bool:
        return pod_class.future_idle.find() == NO_NODE or bool(self._above_ceiling(pod_class))

    def _above_ceiling(self, pod_class: PodClass) -> str:
        """The resource of which one more pod would exceed the ceiling, or ""."""
        capacity = self.snapshot.capacity
        totals = capacity.total_future_idle, capacity.total_idle
        return next(filter(None, (self.ceiling.exceeded(pod_class, idle) for idle in totals)), "")

    def _fit_error(self, pod_class: PodClass) -> Reason:
        over = self._above_ceiling(pod_class)
        if over and pod_class.future_idle.find() != NO_NODE:
            return reasons.ceiling(self.snapshot.limits.load_ceiling, over)
        return one_pod_error(self.snapshot, pod_class)
