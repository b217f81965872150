"""Observe → decide → act, whenever something changed."""

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from edl.kube.act import Actuator, Report
from edl.model import ClusterState
from edl.planner.plan import Plan
from edl.steps import Broken, Steps
from edl.writes import Step
from reconciler.alarm import Alarm
from reconciler.journal import Journal
from reconciler.leader import Clocks, Leadership
from reconciler.postponed import AFTER_CONFLICT, AFTER_FAILURE, Pause, Postponed

_log: Final = logging.getLogger(__name__)

RESYNC: Final = 60.0
"""Seconds until a round without any ring: a net that nothing should fall into."""
SOONEST: Final = 0.05
FOLLOWING: Final = 1.0
"""Seconds between a follower's looks at the leadership."""
AFTER_ERROR: Final = Pause(1.0, 60.0)
BATCH: Final = 64
"""Steps taken between two looks at the clock."""
LONGEST_ACT: Final = 1.0
"""Seconds after which the rest of a long plan is decided again from fresh state."""


@dataclass(frozen=True, slots=True)
class Mind:
    """The pure part: the state as it is known now, and what to do about it."""

    observe: Callable[[datetime], ClusterState]
    decide: Callable[[ClusterState], Plan]
    steps: Callable[[Plan, ClusterState], Steps]


class Loop:
    """One round after another, until the alarm is stopped."""

    def __init__(self, mind: Mind, actuator: Actuator, journal: Journal, clocks: Clocks) -> None:
        self._mind = mind
        self._actuator = actuator
        self._journal = journal
        self._clocks = clocks
        self._postponed = Postponed()
        self._errors = 0
        self.beat = clocks.monotonic()
        """When the loop was last seen alive."""

    def run(self, alarm: Alarm, leadership: Leadership) -> None:
        while not alarm.stopped:
            self.beat = self._clocks.monotonic()
            if leadership.leading:
                alarm.wait(self._guarded_round())
            else:
                self._journal.follows()
                alarm.wait(FOLLOWING)

    def round(self) -> float:
        """Decide and act once; seconds until time alone asks for the next round."""
        started = self._clocks.monotonic()
        state = self._mind.observe(self._clocks.now())
        plan = self._mind.decide(state)
        steps = self._mind.steps(plan, state)
        self._postponed.keep({job.key for job in state.jobs})
        self._journal.decided(plan, state, self._clocks.monotonic() - started)
        self._leave_out(steps.broken)
        finished = self._act(plan, steps.steps)
        if not finished:
            return 0.0
        asked = steps.recheck_after.total_seconds() if steps.recheck_after else None
        retry = self._postponed.next(self._clocks.monotonic())
        soonest = min(time for time in (RESYNC, asked, retry) if time is not None)
        return max(soonest, SOONEST)

    def _leave_out(self, broken: Sequence[Broken]) -> None:
        """Say so once in a while, not each round."""
        now = self._clocks.monotonic()
        for found in broken:
            if not self._postponed.waits(found.job, now):
                self._postponed.postpone(found.job, AFTER_FAILURE, now)
                self._journal.left_out(found)

    def _guarded_round(self) -> float:
        try:
            pause = self.round()
        except Exception:  # noqa: BLE001 - whatever it is, the next round may do better
            self._errors += 1
            self._journal.failed()
            _log.exception("a round failed; the next one comes")
            return AFTER_ERROR.after(self._errors)
        self._errors = 0
        return pause

    def _act(self, plan: Plan, steps: Sequence[Step]) -> bool:
        """Take the steps of jobs that need not wait; false when there was no time for all."""
        started = self._clocks.monotonic()
        due = [step for step in steps if not self._postponed.waits(step.job, started)]
        for batch in _batches(due):
            if self._clocks.monotonic() - started > LONGEST_ACT:
                return False
            report = self._actuator.act(batch)
            self._remember(report)
            self._journal.acted(plan, report)
        return True

    def _remember(self, report: Report) -> None:
        now = self._clocks.monotonic()
        for step in report.done:
            self._postponed.forget(step.job)
        for step in report.conflicts:
            self._postponed.postpone(step.job, AFTER_CONFLICT, now)
        for failure in report.failed:
            self._postponed.postpone(failure.step.job, AFTER_FAILURE, now)


def _batches(steps: Sequence[Step]) -> Iterator[Sequence[Step]]:
    for start in range(0, len(steps), BATCH):
        yield steps[start : start + BATCH]
