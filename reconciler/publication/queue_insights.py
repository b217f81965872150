"""Estimates when queued training jobs start, and explains what blocks them, in a share of the time.

An estimate simulates the cluster and an explanation makes many decisions, so both get a small part
of the time. In a large cluster not every job has an explanation, and some results are older than
the plan.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from time import thread_time
from typing import TYPE_CHECKING, Final, NamedTuple

from edl.forecast.estimate import Certainty, Estimate
from edl.forecast.forecast import forecast
from edl.model import JobKey, Reason
from edl.model.causes.reason_codes import PROMISING_CODES
from edl.planner.explain.blocker_search import find_start_blockers
from edl.planner.explain.what_if_state import DecisionInput
from edl.planner.plan import WaitingJob
from edl.planner.published_settings import Settings
from edl.visibility.queue_documents import Insight
from reconciler.metrics.state_metrics import LastDecision

if TYPE_CHECKING:
    from edl.planner.explain.blocker_search import BlockerSearch

PART: Final = 0.05
"""The fraction of the time that is spent here: the same process decides."""
LONGEST: Final = 1.0
"""Seconds of processor time after which a run begins no further instant of the simulation; the same
for explanations."""
SLOWEST: Final = 5
"""How many times longer either may take on a machine that gives this thread less than its time."""


class Stopwatches(NamedTuple):
    """Two clocks in seconds: of the time that passes, and of this thread's processor time."""

    monotonic: Callable[[], float]
    processor: Callable[[], float] = thread_time

    def limit(self) -> Callable[[], bool]:
        """A function that tells whether LONGEST has passed since this call."""
        begun, worked = self.monotonic(), self.processor()

        def is_over() -> bool:
            if self.monotonic() - begun > SLOWEST * LONGEST:
                return True
            return self.processor() - worked > LONGEST

        return is_over


class QueueInsights:
    """The latest estimate and explanation of each job that still waits."""

    def __init__(self, settings: Settings, clocks: Stopwatches) -> None:
        self._settings = settings
        self._clocks = clocks
        self._rested = float("-inf")
        self._estimates: dict[JobKey, Estimate] = {}
        self._starts: dict[JobKey, tuple[Reason, BlockerSearch]] = {}
        """In the order in which they were computed."""

    def refreshed(
        self, decided: LastDecision, waiting: Sequence[WaitingJob]
    ) -> Mapping[JobKey, Insight]:
        """The insights of the jobs in `waiting`, which has the most important first."""
        self._forget(waiting)
        begun = self._clocks.monotonic()
        if begun >= self._rested:
            self._estimate(decided, waiting)
            self._explain(decided, waiting)
            ended = self._clocks.monotonic()
            self._rested = ended + (ended - begun) / PART
        return {entry.job: self._known(entry.job) for entry in waiting}

    def _known(self, key: JobKey) -> Insight:
        start = self._starts.get(key)
        return Insight(self._estimates.get(key), start[1] if start else None)

    def _forget(self, waiting: Sequence[WaitingJob]) -> None:
        """Drops insights of jobs that no longer wait, or whose explanation is of another reason."""
        reasons = {entry.job: entry.reason for entry in waiting}
        self._estimates = {
            key: estimate for key, estimate in self._estimates.items() if key in reasons
        }
        self._starts = {
            key: (explained, search)
            for key, (explained, search) in self._starts.items()
            if key in reasons and _still_explains(explained, reasons[key])
        }

    def _estimate(self, decided: LastDecision, waiting: Sequence[WaitingJob]) -> None:
        state, asked = decided.state, [entry.job for entry in waiting]
        is_over = self._clocks.limit()
        starts = forecast(state, self._settings, asked, is_over, decided.plan).starts
        for key, estimate in starts.items():
            bound = estimate.at or state.observed_at
            unreached = estimate.certainty is Certainty.LATER
            if not (unreached and _is_after(self._estimates.get(key), bound)):
                self._estimates[key] = estimate

    def _explain(self, decided: LastDecision, waiting: Sequence[WaitingJob]) -> None:
        """Explains jobs without an explanation first, then those with the oldest; at least one."""
        is_over = self._clocks.limit()
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
            if is_over():
                return


_TIMES: Final = frozenset({Certainty.ABOUT, Certainty.LATEST})


def _is_after(before: Estimate | None, bound: datetime) -> bool:
    """Whether an earlier estimate is not before the time that this run reached: it stays."""
    starts = before.at if before and before.certainty in _TIMES else None
    return starts is not None and starts >= bound  # both are rounded


def _still_explains(explained: Reason, reason: Reason) -> bool:
    """Whether an explanation of a job that waited for one reason is of use for the other.

    Figures in a reason change with each decision, and reasons that pass by themselves come and go
    while others yield.
    """
    return reason.code is explained.code or reason.code in PROMISING_CODES
