"""Waits for a phase or reason: `kubectl edl status --for Running --timeout 5m`."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Final

from edl.job_state.phases import ENDED
from edl.model import Code, Phase
from kubectl_edl.cli.command_errors import EndedOtherwise, Missing, TimedOut
from kubectl_edl.cli.context import CliContext, Scope
from kubectl_edl.job_views.training_job_view import JobView
from kubectl_edl.status.options import AwaitedPhase

_ALSO: Final[Mapping[Phase, frozenset[Phase]]] = {
    Phase.RUNNING: frozenset({Phase.RUNNING, Phase.SCALING})
}
"""Phases that count as another phase: a job that scales is running."""


_HINTED: Final = 3
"""Paused jobs that are named before the wait."""


class Wait:
    """`silent`: nothing is shown before the wait ends, so a paused job is hinted at."""

    def __init__(
        self, wanted: AwaitedPhase, cli: CliContext, scope: Scope, *, silent: bool = False
    ) -> None:
        self._wanted = wanted
        self._cli = cli
        self._scope = scope
        self._begun = cli.now()
        self._views: tuple[JobView, ...] = ()
        self._unhinted = silent
        phases = [goal for goal in wanted.goals if isinstance(goal, Phase)]
        self._phases = frozenset(also for phase in phases for also in _ALSO.get(phase, {phase}))
        self._codes = frozenset(goal for goal in wanted.goals if isinstance(goal, Code))

    def check(self, views: Sequence[JobView]) -> None:
        """Check the jobs. Raises EndedOtherwise if one ended without the goal, Missing if none."""
        self._views = tuple(views)
        if not self._wanted.goals:
            return
        if not views:
            every = f"kubectl edl status -A{self._scope.edl_flags}"
            raise Missing(f"no training job to wait for; all of them: {every}")
        for view in views:
            if view.phase in ENDED and not self._is_goal(view):
                raise EndedOtherwise(
                    f"{view.job.key.name} is {view.phase.value}: {view.why.message}"
                )
        paused = (view for view in views if view.phase is Phase.PAUSED and not self._is_goal(view))
        for view in islice(paused, _HINTED if self._unhinted else 0):
            resume = self._command("resume", view)
            self._cli.warn(f"hint: {view.job.key.name} does not run before it is resumed: {resume}")
        self._unhinted = False

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Raise Missing for a named job that an earlier report showed as one that was deleted."""
        try:
            yield
        except Missing as missing:
            if self._views and missing.name:
                whole = any(view.job.key.name == missing.name for view in self._views)
                kind = "training job" if whole else "Job"
                raise Missing(f'{kind} "{missing.name}" was deleted') from missing
            raise

    def until(self, changes: Iterator[None]) -> Iterator[None]:
        """Pass on changes until the goal is reached or the time is over."""
        while not (self._reached or self._late):
            if next(changes, changes) is changes:
                return
            yield

    def conclude(self) -> None:
        """Raise TimedOut if a goal was given and not reached."""
        missed = [view for view in self._views if not self._is_goal(view)]
        if self._wanted.goals and missed:
            names = ", ".join(f"{view.job.key.name} is {view.phase.value}" for view in missed)
            goals = " or ".join(goal.value for goal in self._wanted.goals)
            paused = missed[0].phase is Phase.PAUSED
            verb, then = ("resume", "to resume it:") if paused else ("status", "see")
            raise TimedOut(f"not {goals} in time: {names}; {then} {self._command(verb, missed[0])}")

    def _command(self, verb: str, view: JobView) -> str:
        key, scope = view.job.key, self._scope
        where = scope.within(key.namespace).job_flags if scope.job_flags else ""
        return f"kubectl edl {verb} {key.name}{where}"

    @property
    def _reached(self) -> bool:
        return bool(self._wanted.goals) and all(map(self._is_goal, self._views))

    def _is_goal(self, view: JobView) -> bool:
        return view.phase in self._phases or view.why.reason in self._codes

    @property
    def _late(self) -> bool:
        limit = self._wanted.timeout
        return limit is not None and self._cli.now() - self._begun >= limit
