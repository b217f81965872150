"""Estimates when queued training jobs start, and explains what blocks them, in a share of the time.

An estimate simulates the cluster and an explanation makes many decisions, so both get a small part
of the time. In a large cluster not every job has one, and some are older than the plan.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from edl.forecast.estimate import Certainty
from edl.forecast.forecast import forecast
from edl.model import JobKey
from edl.planner.explain.blocker_search import find_start_blockers
from edl.planner.explain.what_if_state import DecisionInput
from edl.planner.plan import WaitingJob
from edl.planner.published_settings import Settings
from edl.visibility.queue_documents import Insight
from reconciler.metrics.state_metrics import LastDecision

if TYPE_CHECKING:
    from edl.forecast.estimate import Estimate
    from edl.model import Reason
    from edl.planner.explain.blocker_search import BlockerSearch

PART: Final = 0.05
"""The fraction of the time that is spent here: the same process decides."""
LONGEST: Final = 1.0
"""Seconds after which no further simulation or explanation is begun in one run."""


class QueueInsights:
    """The latest estimate and explanation of each job that still waits for the same reason."""

    def __init__(self, settings: Settings, monotonic: Callable[[], float]) -> None:
        self._settings = settings
        self._monotonic = monotonic
        self._rested = float("-inf")
        self._estimates: dict[JobKey, Estimate] = {}
        self._starts: dict[JobKey, tuple[Reason, BlockerSearch]] = {}
        """In the order in which they were computed."""

    def refreshed(
        self, decided: LastDecision, waiting: Sequence[WaitingJob]
    ) -> Mapping[JobKey, Insight]:
        """The insights of the jobs in `waiting`, which has the most important first."""
        self._forget(waiting)
        begun = self._monotonic()
        if begun >= self._rested:
            self._estimate(decided, waiting, begun + LONGEST)
            self._explain(decided, waiting, begun + 2 * LONGEST)
            ended = self._monotonic()
            self._rested = ended + (ended - begun) / PART
        return {entry.job: self._known(entry.job) for entry in waiting}

    def _known(self, key: JobKey) -> Insight:
        start = self._starts.get(key)
        return Insight(self._estimates.get(key), start[1] if start else None)

    def _forget(self, waiting: Sequence[WaitingJob]) -> None:
        """Drops insights of jobs that no longer wait, or that wait for another reason."""
        reasons = {entry.job: entry.reason for entry in waiting}
        self._estimates = {key: one for key, one in self._estimates.items() if key in reasons}
        self._starts = {key: one for key, one in self._starts.items() if reasons.get(key) == one[0]}

    def _estimate(self, decided: LastDecision, waiting: Sequence[WaitingJob], until: float) -> None:
        late = False

        def enough() -> bool:
            nonlocal late
            late = late or self._monotonic() > until
            return late

        asked = [entry.job for entry in waiting]
        starts = forecast(decided.state, self._settings, asked, enough, decided.plan).starts
        if late:  # what is unknown then may be so for lack of time
            starts = {key: one for key, one in starts.items() if one.certainty is not _UNKNOWN}
        self._estimates = dict(starts)

    def _explain(self, decided: LastDecision, waiting: Sequence[WaitingJob], until: float) -> None:
        """Explains jobs without an explanation first, then those with the oldest; at least one."""
        situation = DecisionInput(
            decided.state, self._settings.policy_to_apply(), self._settings.limits
        )
        if not waiting:
            return
        decision = situation.run_passes()
        reasons = {entry.job: entry.reason for entry in waiting}
        new = [key for key in reasons if key not in self._starts]
        for key in (*new, *tuple(self._starts)):
            self._starts.pop(key, None)
            if search := find_start_blockers(situation, decision, key):
                self._starts[key] = (reasons[key], search)
            if self._monotonic() > until:
                return


_UNKNOWN: Final = Certainty.UNKNOWN
