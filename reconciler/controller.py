"""The loop: observe → decide → act, whenever something changed."""

import gc
import logging
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Final, NamedTuple

import msgspec
from msgspec.structs import replace

from edl.backoff import Backoff
from edl.errors import is_refusal
from edl.kube.writer.executor import StepFailure, StepReport, never
from edl.model import ClusterState, JobKey
from edl.planner.growth_waits import GrowthWaits
from edl.planner.plan import Plan
from edl.planner.round_memory import RoundMemory
from edl.steps.plan_steps import Steps
from edl.steps.step_collector import StepError
from edl.writes import Step
from reconciler.job_backoff import AFTER_CONFLICT, JobBackoff
from reconciler.leader_election import Clocks, LeaderState
from reconciler.leader_only_cluster import NotLeading
from reconciler.memory.unrecorded_refusals import UnrecordedRefusals
from reconciler.memory.writes_in_flight import WritesInFlight
from reconciler.metrics.decision_log import DecisionLog
from reconciler.metrics.state_metrics import LastDecision
from reconciler.trigger import DebouncedTrigger

_log: Final = logging.getLogger(__name__)

RESYNC: Final = 60.0
"""Seconds until a round without a trigger: a safety net."""
SOONEST: Final = 0.05
FOLLOWING: Final = 1.0
"""Seconds between a standby's checks of the leadership."""
AFTER_ERROR: Final = Backoff(1.0, 60.0)
LONGEST_ACT: Final = 1.0
"""Seconds of writing; the rest of a long plan is decided again from fresh state."""
MAX_DECIDING_FRACTION: Final = 0.02
"""The largest fraction of time for decisions: writing lasts longer where deciding is slow."""
LONGEST_WRITING: Final = 10.0
"""Seconds of writing at most, however slow decisions are: preconditions refuse what is outdated."""
RESTS: Final = 4.0
"""After a round the loop rests for this multiple of the round's duration."""
LONGEST_REST: Final = 1.0
"""The longest such rest, in seconds. Deciding all the time would take CPU from other components;
the time spent on writes counts as rest."""


class DecisionPipeline(msgspec.Struct, frozen=True):
    """The pure functions: what is known of the cluster, and what to do about it."""

    observe: Callable[[datetime], ClusterState]
    decide: Callable[[ClusterState], Plan]
    steps: Callable[[Plan, ClusterState, Callable[[JobKey], bool]], Steps]
    """The last argument tells whether a job backs off after failed writes: it gets no steps."""
    follow: Callable[[], None]
    """Called while another process leads, whose decisions make what this process remembers
    outdated."""
    memories: tuple[RoundMemory, ...] = ()
    """In the order in which the state gets what they remember, before those of the loop itself."""


class Pause(NamedTuple):
    """The wait for the next round, in seconds.

    It ends when a timed rule requires this round, or after an event, but not before the rest is
    over.
    """

    until_due: float
    rest: float


def free_decision() -> None:
    """Frees the working copy of a decision, whose objects refer to each other, in milliseconds.

    Objects that existed before the decision are not traversed.
    """
    gc.collect(1)


class Controller:
    """Runs one round after another, until the trigger is stopped."""

    def __init__(
        self,
        pipeline: DecisionPipeline,
        act: Callable[[Sequence[Step], Callable[[], bool]], StepReport],
        decisions: DecisionLog,
        clocks: Clocks,
    ) -> None:
        """`act` begins one step after the other until its last argument holds."""
        self._pipeline = pipeline
        self._perform = act
        self._decisions = decisions
        self._clocks = clocks
        self._backoff = JobBackoff()
        self._refusals = UnrecordedRefusals()
        self._in_flight = WritesInFlight()
        self._uids: Mapping[JobKey, str] = {}
        of_loop = (self._refusals, GrowthWaits(), self._in_flight)
        self._memories: tuple[RoundMemory, ...] = (*pipeline.memories, *of_loop)
        self._errors = 0
        self._since_event: Callable[[], float | None] = lambda: None
        self.beat = clocks.monotonic()
        """When the loop last made progress; while it waits, the end of the wait."""
        self.decision_seconds = 0.0
        """How long the last decision took."""

    def run(self, trigger: DebouncedTrigger, leadership: LeaderState) -> None:
        self._since_event = trigger.since_ring
        while not trigger.stopped:
            self.beat = self._clocks.monotonic()
            if leadership.leading:
                pause = self._guarded_round(lambda: trigger.stopped or not leadership.leading)
                free_decision()
                self.beat = self._clocks.monotonic() + pause.until_due
                trigger.wait(*pause)
            else:
                self._decisions.follows()
                self._pipeline.follow()
                for memory in self._memories:
                    memory.forget()
                trigger.wait(FOLLOWING)

    def round(self, ended: Callable[[], bool] = never) -> Pause:
        """Decides and acts once. Once `ended()` holds, no further step is begun."""
        started = self._clocks.monotonic()
        if self._in_flight:
            self._act((), never)  # the outcomes of those that have ended
        state = self._pipeline.observe(self._clocks.now())
        for memory in self._memories:
            state = memory.recall(state)
        self._uids = _written(state)
        self._backoff.keep(self._uids)
        plan = self._pipeline.decide(state)
        for memory in self._memories:
            memory.note(plan, state)
        steps = self._pipeline.steps(plan, state, partial(self._waits, now=started))
        decided = self.decision_seconds = self._clocks.monotonic() - started
        self._decisions.decided(LastDecision(state, plan), decided, self._since_event())
        self._leave_out(steps.errors)
        begun = self._clocks.monotonic()
        ends = begun + _acting(decided)
        due = self._backoff.due(steps.steps, started, self._in_flight)
        report = self._act(due, lambda: ended() or self._clocks.monotonic() > ends)
        wrote = self._clocks.monotonic() - begun
        self._decisions.wrote(wrote)
        if report.left:
            return Pause(0.0, 0.0)
        rest = max(min(RESTS * decided, LONGEST_REST) - wrote, 0.0)
        asked = steps.recheck_after.total_seconds() if steps.recheck_after else None
        now = self._clocks.monotonic()
        retry = self._backoff.next(now, started)
        if report.conflicts:  # their back-off is short, and a job may depend on the write
            rest = min(rest, AFTER_CONFLICT.first)
        again = SOONEST if self._refusals.has_unseen else RESYNC
        soonest = min(time for time in (again, asked, retry) if time is not None)
        return Pause(max(soonest, SOONEST, rest), rest)

    def _waits(self, job: JobKey, now: float) -> bool:
        """Whether a job gets no steps: after a failure, or while an earlier one is in flight."""
        return job in self._in_flight or self._backoff.is_backing_off(job, now)

    def _leave_out(self, broken: Sequence[StepError]) -> None:
        """Jobs whose steps could not be computed back off; each attempt is logged."""
        now = self._clocks.monotonic()
        for error in broken:
            if not self._backoff.is_backing_off(error.job, now):
                self._backoff.failed(error.job, now)
                self._decisions.left_out(error)

    def _guarded_round(self, ended: Callable[[], bool]) -> Pause:
        try:
            pause = self.round(ended)
        except Exception:  # noqa: BLE001 - the next round may succeed
            self._errors += 1
            self._decisions.failed()
            _log.exception("reconcile round failed, retrying")
            # Events do not end this wait: they arrive all the time, and would repeat the failure.
            rest = AFTER_ERROR.after(self._errors)
            return Pause(rest, rest)
        self._errors = 0
        return pause

    def _act(self, steps: Sequence[Step], enough: Callable[[], bool]) -> StepReport:
        report = _without_lost_lead(self._perform(steps, enough))
        refused = self._remember(report)
        self._in_flight.replace_by(report.running, self._uids)
        self._decisions.acted(report, refused)
        return report

    def _remember(self, report: StepReport) -> list[StepFailure]:
        """Notes what backs off and what was refused; returns the failures that are refusals.

        Others, such as a timeout, become refusals if they last: until then the same write may
        succeed.
        """
        now = self._clocks.monotonic()
        # Several steps of one job may meet the same error: that counts as one failure.
        failed = defaultdict[JobKey, list[StepFailure]](list)
        for failure in report.failed:
            job = failure.step.job
            if self._in_flight.were_begun_for(job, self._uids.get(job)):
                failed[job].append(failure)
        bad = {(failure.step.job, failure.step.part) for failure in report.failed}
        for step in report.done:
            if (step.job, step.part) not in bad:
                self._backoff.succeeded(step, now)
            if step.starts:
                self._refusals.forget_start(step.job)
        for job, part in {(step.job, step.part) for step in report.conflicts}:
            self._backoff.conflicted(job, now, part)
        refused = []
        for job, failures in failed.items():
            lasting = [one for one in failures if self._is_refusal(one, now)]
            recorded = self._refusals.remember(job, lasting, self._clocks.now())
            for part in {failure.step.part for failure in failures}:
                if part or not recorded:
                    self._backoff.failed(job, now, part)
            refused += lasting
        return refused

    def _is_refusal(self, failure: StepFailure, now: float) -> bool:
        step = failure.step
        return is_refusal(failure.error) or self._backoff.is_lasting(step.job, now, step.part)


def _written(state: ClusterState) -> Mapping[JobKey, str]:
    """The keys of all steps that this state may need, each with the uid of its object."""
    return (
        {JobKey(target.namespace, target.name): uid for target, uid in state.orphans}
        | {job.key: job.uid for job in (*state.jobs, *state.unplanned_jobs)}
        | {conflict.key: conflict.uid for job in state.jobs for conflict in job.conflicting}
    )


def _without_lost_lead(report: StepReport) -> StepReport:
    """The report with steps that the loss of the leadership ended as left, not as failed."""
    lost = [failure.step for failure in report.failed if isinstance(failure.error, NotLeading)]
    failed = tuple(one for one in report.failed if not isinstance(one.error, NotLeading))
    return replace(report, failed=failed, left=(*report.left, *lost))


def _acting(decided: float) -> float:
    """Seconds of writing for a plan that took `decided` seconds to decide."""
    return min(max(LONGEST_ACT, decided / MAX_DECIDING_FRACTION), LONGEST_WRITING)
