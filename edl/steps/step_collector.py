"""Collects the steps of one round, job by job: an error of one job stops no other."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import NamedTuple, ParamSpec

import msgspec

from edl.model import JobKey
from edl.writes import Step

_Args = ParamSpec("_Args")


class DueSteps(NamedTuple):
    """Steps of one job, and the time after which to check it again without a change."""

    steps: tuple[Step, ...]
    recheck_after: timedelta | None = None


class StepError(msgspec.Struct, frozen=True):
    """A job for which computing a step raised: a defect, or an unforeseen manifest."""

    job: JobKey
    error: Exception


@dataclass(slots=True)
class StepCollector:
    """The steps so far, in order, without those that write nothing.

    A job that `backs_off` gets none.
    `rechecks`: times after which to check single jobs again.
    """

    backs_off: Callable[[JobKey], bool]
    steps: list[Step] = field(default_factory=list)
    rechecks: list[timedelta] = field(default_factory=list)
    errors: list[StepError] = field(default_factory=list)

    def add(
        self,
        job: JobKey,
        compute: Callable[_Args, DueSteps],
        *args: _Args.args,
        **kwargs: _Args.kwargs,
    ) -> None:
        """Compute a job's steps now; an exception becomes an error of this job."""
        if self.backs_off(job):
            return
        try:
            steps, recheck_after = compute(*args, **kwargs)
        except Exception as error:  # noqa: BLE001 - one job must not stop all others
            self.errors.append(StepError(job, error))
            return
        self.steps += [step for step in steps if step.writes]
        if recheck_after:
            self.rechecks.append(recheck_after)

    def extend(self, steps: Iterable[Step]) -> None:
        """Append the steps whose jobs do not back off."""
        self.steps += [step for step in steps if not self.backs_off(step.job)]
