"""Since when roles wait for the last part of their growth, remembered from plan to plan."""

from typing import TYPE_CHECKING

from msgspec.structs import replace

from edl.model import ClusterState, TrainingJob
from edl.planner.plan import Plan
from edl.planner.round_memory import RoundMemory

if TYPE_CHECKING:
    from datetime import datetime

    from edl.model import JobKey


class GrowthWaits(RoundMemory):
    """The memory of one leader: each next one starts anew, so a wait begins again with it."""

    def __init__(self) -> None:
        self._since: dict[tuple[JobKey, str], datetime] = {}

    def recall(self, state: ClusterState) -> ClusterState:
        """The state, its roles with the times since which each plan has let them wait."""
        if not self._since:
            return state
        waiting = {key for key, _ in self._since}
        jobs = (self._with_waits(job) if job.key in waiting else job for job in state.jobs)
        return replace(state, jobs=tuple(jobs))

    def _with_waits(self, job: TrainingJob) -> TrainingJob:
        waits = ((role, self._since.get((job.key, role.name))) for role in job.roles)
        return replace(
            job, roles=tuple(role.changed(growth_awaited_since=since) for role, since in waits)
        )

    def forget(self) -> None:
        self._since = {}

    def note(self, plan: Plan, state: ClusterState) -> None:
        """Remember which roles wait in this plan, or stop waiting by it, and forget all others.

        A scale-up may not be carried out, such as after a conflict: its wait would begin again.
        """
        now = state.observed_at
        grown = (
            (resize.job, resize.role) for resize in plan.resizes if resize.after > resize.before
        )
        grown_since = {role: self._since[role] for role in grown if role in self._since}
        waiting_since = {
            role: self._since.get(role, now) for role in plan.growth_waits
        } | grown_since
        self._since = {role: min(since, now) for role, since in waiting_since.items()}
