"""What the loop says about itself: one log line a decision that was carried out, and metrics."""

import logging
from collections.abc import Iterator
from typing import Any, Final

from edl.kube.act import Report
from edl.model import ClusterState, JobKey
from edl.planner.plan import Plan
from edl.steps import Broken
from reconciler.metrics import Metrics

_log: Final = logging.getLogger("reconciler")

_NOTES: Final = {
    "admitted": "Started",
    "grown": "Grown",
    "shrunk": "Shrunk",
    "suspended": "Suspended",
}
"""The note that goes with a decision's own write."""


class Journal:
    """Turns plans and reports into lines and numbers."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def follows(self) -> None:
        self._metrics.leading.set(0)

    def decided(self, plan: Plan, state: ClusterState, seconds: float) -> None:
        self._metrics.leading.set(1)
        self._metrics.decide_seconds.observe(seconds)
        self._metrics.queued.set(sum(1 for held in plan.held if held.position))
        self._metrics.jobs.set(len(state.jobs))

    def acted(self, plan: Plan, report: Report) -> None:
        # A shrink may have been prepared only: the hosts that leave are taken off a list first.
        said = {(step.job, note.reason) for step in report.done for note in step.notes}
        for decision, job, facts in _decisions(plan):
            if (job, _NOTES[decision]) in said:
                self._metrics.decisions.labels(decision).inc()
                _log.info(decision, extra={"fields": {"job": str(job), **facts}})
        for step in report.done:
            for note in step.notes:
                _log.debug(note.message, extra={"fields": {"job": str(step.job)}})
        self._metrics.conflicts.inc(len(report.conflicts))
        for failure in report.failed:
            kind = type(failure.error).__name__
            self._metrics.failures.labels(kind).inc()
            fields = {"job": str(failure.step.job), "kind": kind, "error": str(failure.error)}
            _log.warning("a write failed; it will be tried again", extra={"fields": fields})

    def left_out(self, broken: Broken) -> None:
        self._metrics.failures.labels("steps").inc()
        fields = {"job": str(broken.job)}
        _log.error("a job is left out", exc_info=broken.error, extra={"fields": fields})

    def failed(self) -> None:
        self._metrics.failures.labels("round").inc()


def _decisions(plan: Plan) -> Iterator[tuple[str, JobKey, dict[str, Any]]]:
    for admission in plan.admissions:
        sizes = {"sizes": dict(admission.sizes), "reason": admission.reason}
        yield "admitted", admission.job, sizes
    for resize in plan.resizes:
        size = {"role": resize.role, "before": resize.before, "after": resize.after}
        decision = "grown" if resize.after > resize.before else "shrunk"
        yield decision, resize.job, {**size, "reason": resize.reason}
    for suspension in plan.suspensions:
        yield "suspended", suspension.job, {"reason": suspension.reason}
