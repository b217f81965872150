"""What-if for one job's max, with the engine of `kubectl edl simulate --live`."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from typing import Final

from msgspec import structs

from edl.model import ClusterState, TrainingJob
from edl.model.jobs import queue_order
from edl.planner.published_settings import Settings
from edl.simulator import Elastic, JobResult, Result, Watcher, simulate
from edl.writes import Json
from kubectl_edl.cli.command_errors import Refused
from kubectl_edl.client.reconciler_settings import EffectiveSettings
from kubectl_edl.dashboard.cluster_reader import DashboardSnapshot
from kubectl_edl.simulate import what_if

HORIZON: Final = 600.0
"""Seconds to simulate, as in `kubectl edl simulate --live`."""
_PATIENCE: Final = 10.0
_MAX_OTHER_ROWS: Final = 50


@dataclass(frozen=True, slots=True)
class WhatIfRequest:
    namespace: str
    name: str
    max: int


class _TooLongError(Exception):
    """Aborts a simulation that exceeds its time limit."""


@dataclass(slots=True)
class WhatIfEngine:
    """Computes one answer at a time: a simulation occupies the interpreter of the server."""

    monotonic: Callable[[], float] = time.monotonic
    patience: float = _PATIENCE
    _lock: Lock = field(default_factory=Lock)
    _baseline: tuple[ClusterState, Settings, Result] | None = None
    """The run without the change, which is the same for each position of the slider."""

    def answer(self, snapshot: DashboardSnapshot | None, request: WhatIfRequest) -> Json:
        """The final size of each role, with and without the change. Raises Refused, Missing."""
        if snapshot is None:
            raise Refused("the cluster has not been read yet; try again in a moment")
        if snapshot.state is None or snapshot.deciding is None:
            raise Refused("what-if needs the whole cluster, and you may not read it")
        state, by = snapshot.state, snapshot.deciding
        setting = f"job/{request.namespace}/{request.name}.max={request.max}"
        try:
            changed_state = what_if.with_setting(state, setting, request.namespace)
        except Refused as error:
            raise Refused(re.sub(r"^--set [^:]*: ", "", str(error))) from None
        shown = {job.key for job in snapshot.jobs}
        jobs = [job for job in sorted(state.jobs, key=queue_order) if job.live and job.key in shown]
        late = self.monotonic() + self.patience
        if not self._lock.acquire(timeout=self.patience):
            raise Refused("another what-if is running; retry in a moment")
        try:
            as_is, changed = self._as_is(state, by, late), self._run(changed_state, by, late)
        except _TooLongError:
            raise Refused(
                f"{HORIZON / 60:g} minutes of this cluster take longer than {self.patience:g} s to "
                f"simulate; with more patience: kubectl edl simulate --live -A --set {setting}"
            ) from None
        finally:
            self._lock.release()
        before, after = ({job.key: job for job in run.jobs} for run in (as_is, changed))
        return _answer([_row(job, before[job.key], after[job.key]) for job in jobs], request, by)

    def _as_is(self, state: ClusterState, by: EffectiveSettings, late: float) -> Result:
        if self._baseline is not None:
            earlier, settings, result = self._baseline
            # The incremental state reuses unchanged objects, so this compares few of them.
            same_time = structs.replace(earlier, observed_at=state.observed_at)
            if (same_time, settings) == (state, by.settings):
                return result
        result = self._run(state, by, late)
        self._baseline = (state, by.settings, result)
        return result

    def _run(self, state: ClusterState, by: EffectiveSettings, late: float) -> Result:
        def passed(_now: float) -> None:
            if self.monotonic() > late:
                raise _TooLongError

        limits = by.settings.limits
        scenario = what_if.scenario_of(state, limits)
        control_mode = Elastic(by.settings.policy_to_apply(), limits)
        return simulate(scenario, control_mode, HORIZON, Watcher(passed=passed))


def _answer(rows: list[Json], request: WhatIfRequest, by: EffectiveSettings) -> Json:
    """The row of the job itself, then those of other jobs that the change affects."""
    asked = (request.namespace, request.name)
    changed = [row for row in rows if (row["namespace"], row["name"]) == asked]
    others = [row for row in rows if row not in changed and _differs(row)]
    return {
        "max": request.max,
        "minutes": HORIZON / 60,
        "deciding": by.text,
        "rows": [*changed, *others[:_MAX_OTHER_ROWS]],
        "untouched": len(rows) - len(changed) - len(others),
        "more": len(others[_MAX_OTHER_ROWS:]),
    }


def _row(job: TrainingJob, as_is: JobResult, changed: JobResult) -> Json:
    """Sizes and bounds of its elastic role."""
    role = next(role for role in job.roles if role.name == as_is.role)
    return {
        "namespace": job.key.namespace,
        "name": job.key.name,
        "now": role.status.desired,
        "asIs": _outcome(as_is),
        "whatIf": _outcome(changed),
    }


def _differs(row: Json) -> bool:
    """Whether the outcome differs; the message alone does not count."""
    return any(row["asIs"][what] != row["whatIf"][what] for what in ("size", "starts", "ends"))


def _outcome(result: JobResult) -> Json:
    """`size` at the end, None for a job that has ended; seconds until start and end."""
    track = result.track
    return {
        "size": track.wanted.at(result.until) if track.ended is None else None,
        "max": result.max,
        "starts": track.started,
        "ends": track.ended,
        "message": track.reason,
    }
