"""Logs and metrics of the loop: one log line per executed decision."""

import logging
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import datetime
from logging import ERROR, WARNING
from typing import Any, Final

import msgspec

from edl import messages, reasons
from edl.kube.writer.executor import StepFailure, StepReport, WriteDefect
from edl.model import Code, JobKey, Reason, TrainingJob, job_of
from edl.planner.plan import Plan
from edl.steps.preconditioned_patches import job_event
from edl.steps.step_collector import StepError
from edl.writes import Action, JobEvent, Step
from reconciler.metrics.counters import RESIZES, Metrics
from reconciler.metrics.resize_latency import ResizeLatency
from reconciler.metrics.state_metrics import LastDecision

_log: Final = logging.getLogger("reconciler")

_MAX_JOBS_WITH_DEFECTS: Final = 100
"""Jobs whose last defect is remembered; those in excess are logged with their traceback again."""
_ACTIONS: Final = {
    "admitted": Action.STARTED,
    "scaled_up": Action.SCALED_UP,
    "scaled_down": Action.SCALED_DOWN,
    "suspended": Action.SUSPENDED,
    "evacuated": Action.REMOVED,
    "replaced": Action.REPLACED,
}
"""The action of the Event that a decision's write announces."""


class _Decision(msgspec.Struct, frozen=True):
    """One entry of a plan, as counted and logged; `replicas` is how many it added or removed."""

    word: str
    job: JobKey
    facts: dict[str, Any]
    role: str = ""
    replicas: int = 0


class DecisionLog:
    """Turns plans and reports into log lines and metrics."""

    def __init__(
        self,
        metrics: Metrics,
        monotonic: Callable[[], float] = time.monotonic,
        record: Callable[[JobEvent], None] = lambda _event: None,
    ) -> None:
        self._metrics = metrics
        self._monotonic = monotonic
        self._record = record
        self._stalls = ResizeLatency()
        self._defects: dict[JobKey, str] = {}
        """The defect that each job's last write met, until one succeeds."""
        self._begun: dict[JobKey, LastDecision] = {}
        """The decisions that running steps carry out."""

    def follows(self) -> None:
        self._metrics.state.leading.set(0)
        self._metrics.latest.decided = None
        self._stalls.forget()
        self._begun.clear()

    def decided(self, decided: LastDecision, seconds: float, waited: float | None) -> None:
        """Records a decision.

        `waited` is the time since the first event it reacts to, in seconds.
        """
        metrics = self._metrics
        metrics.state.leading.set(1)
        metrics.latest.decided = decided
        metrics.decided.rounds.inc()
        metrics.decided.decide_seconds.observe(seconds)
        if waited is not None:
            metrics.decided.latency_seconds.observe(waited)
        for word, stall in self._stalls.ended(decided.state.jobs, self._monotonic()):
            metrics.decided.stall_seconds.labels(word).observe(stall)

    def wrote(self, seconds: float) -> None:
        """Records how long a round waited for its writes."""
        self._metrics.decided.act_seconds.observe(seconds)

    def acted(self, report: StepReport, refused: Collection[StepFailure]) -> None:
        """Records outcomes of this decision and of earlier ones; `refused` are announced."""
        latest = self._metrics.latest.decided
        for step in report.done:
            if step.job in self._begun:
                self._carried_out(self._begun[step.job], (step,))
        if latest is not None:
            self._carried_out(latest, [s for s in report.done if s.job not in self._begun])
            running = {step.job for step in report.running}
            self._begun = {job: self._begun.get(job, latest) for job in running}
        for step in report.done:
            self._defects.pop(step.job, None)
            for event in step.events:
                _log.debug(event.message, extra={"fields": {"job": str(step.job)}})
        self._metrics.api.conflicts.inc(len(report.conflicts))
        for failure in report.failed:
            self._failed_write(failure)
        for failure in refused:
            self._record_refusal(failure)

    def _failed_write(self, failure: StepFailure) -> None:
        kind = type(failure.error).__name__
        self._metrics.api.failures.labels(kind).inc()
        fields = {"job": str(failure.step.job), "kind": kind, "error": str(failure.error)}
        is_defect = isinstance(failure.error, WriteDefect) and self._is_new(failure)
        defect, level = (failure.error.__cause__, ERROR) if is_defect else (None, WARNING)
        _log.log(level, "write failed, retrying", exc_info=defect, extra={"fields": fields})

    def _is_new(self, failure: StepFailure) -> bool:
        """Whether this job's last write did not meet the same defect; remembers it."""
        job, text = failure.step.job, str(failure.error)
        is_new = self._defects.pop(job, "") != text
        if len(self._defects) >= _MAX_JOBS_WITH_DEFECTS:
            del self._defects[next(iter(self._defects))]
        self._defects[job] = text
        return is_new

    def _record_refusal(self, failure: StepFailure) -> None:
        """An Event: the API server may refuse to store the reason, as it refused the write."""
        decided = self._metrics.latest.decided
        job = job_of(decided.state.jobs if decided else (), failure.step.job)
        if job is not None and job.roles:
            code = Code.START_REFUSED if failure.step.starts else Code.WRITE_REFUSED
            why = reasons.quoted(code, str(failure.error))
            resized = dict(failure.step.sizes)
            role = next((role for role in job.roles if role.name in resized), job.roles[0])
            self._record(job_event(job.key, role, Action.REFUSED, why))

    def left_out(self, broken: StepError) -> None:
        self._metrics.api.failures.labels("steps").inc()
        fields = {"job": str(broken.job)}
        _log.error(
            "cannot compute a job's writes, skipping it",
            exc_info=broken.error,
            extra={"fields": fields},
        )

    def failed(self) -> None:
        self._metrics.api.failures.labels("round").inc()

    def _carried_out(self, decided: LastDecision, steps: Iterable[Step]) -> None:
        # Only the first part of a scale-down may be done: launchers must drop the hosts first.
        done = {(step.job, event.action) for step in steps for event in step.events}
        if not done:
            return
        late = sum((key, Action.WAITING) in done for key in decided.plan.unprovisioned)
        self._metrics.decided.provisioning_failures.inc(late)
        jobs = {job.key: job for job in decided.state.jobs}
        for decision in _decisions(decided.plan):
            if (decision.job, _ACTIONS[decision.word]) in done:
                self._metrics.decided.decisions.labels(decision.word).inc()
                self._measure(decision, jobs.get(decision.job), decided.state.observed_at)
                fields = {"job": str(decision.job), **decision.facts}
                _log.info(decision.word, extra={"fields": fields})

    def _measure(self, decision: _Decision, job: TrainingJob | None, now: datetime) -> None:
        if decision.replicas:
            self._metrics.decided.replicas.labels(decision.word).inc(decision.replicas)
        if decision.word in RESIZES:
            self._stalls.begin(decision.job, decision.word, decision.role, self._monotonic())
        # Only the first start counts: later waits are not queue time.
        if decision.word == "admitted" and job is not None and job.started_at is None:
            waited = (now - job.queued_at).total_seconds()
            self._metrics.decided.queue_wait_seconds.observe(waited)
        if job and decision.word == "admitted" and (since := job.provisioning.since):
            self._metrics.decided.provisioning_seconds.observe((now - since).total_seconds())


def _decisions(plan: Plan) -> Iterator[_Decision]:
    for admission in plan.admissions:
        sizes = {"sizes": dict(admission.sizes), **_why(admission.reason)}
        replicas = sum(size for _, size in admission.sizes)
        yield _Decision("admitted", admission.job, sizes, "", replicas)
    for resize in plan.resizes:
        facts = {"role": resize.role, "before": resize.before, "after": resize.after}
        word = "scaled_up" if resize.after > resize.before else "scaled_down"
        moved = abs(resize.after - resize.before)
        yield _Decision(word, resize.job, {**facts, **_why(resize.reason)}, resize.role, moved)
    for suspension in plan.suspensions:
        yield _Decision("suspended", suspension.job, _why(suspension.reason))
    for drain in plan.drains:
        facts = {"role": drain.role, "pods": drain.pods, **_why(drain.reason)}
        yield _Decision("evacuated", drain.job, facts, drain.role, len(drain.pods))
    for entry in plan.node_assignments:
        if entry.replaced_pods:
            facts = {"role": entry.role, "pods": entry.replaced_pods}
            yield _Decision("replaced", entry.job, facts, entry.role, len(entry.replaced_pods))


def _why(reason: Reason) -> dict[str, str]:
    return {"reason": reason.code.value, "text": messages.message(reason)}
