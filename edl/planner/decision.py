"""What all passes decided about the cluster, before a plan is built of it."""

from dataclasses import dataclass

from edl.model import JobKey, Reason
from edl.model.causes.reason_codes import PROMISING_CODES
from edl.planner.pass_results import PassResults
from edl.planner.passes.growth import GrowthCeiling
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.role_allocation import RoleAllocation


@dataclass(frozen=True, slots=True)
class Decision:
    """The snapshot after all passes, and their results; questions, and a plan, change neither."""

    snapshot: Snapshot
    ceiling: GrowthCeiling
    results: PassResults

    def starts(self, key: JobKey) -> bool:
        """Whether a waiting training job starts."""
        return key in self.results.admitted

    def why_stopped(self, key: JobKey) -> Reason | None:
        """Why a training job is suspended; None if it is not."""
        return self.results.suspended.get(key)

    def why_waits(self, key: JobKey) -> Reason | None:
        """Why a training job waits, or pods of its minimum do; None if neither does."""
        return self.results.wait_reasons.get(key)

    def gives_room(self, key: JobKey) -> bool:
        """Whether a waiting training job starts, or has capacity reserved."""
        why = self.why_waits(key)
        return self.starts(key) or (why is not None and why.code in PROMISING_CODES)

    def allocation(self, key: JobKey, role: str) -> RoleAllocation | None:
        """The allocation of a role that is started, or starts now; else None."""
        allocations = (one for one in self.snapshot.allocations if one.job.key == key)
        return next((one for one in allocations if one.role.name == role), None)
