"""Estimates start and growth times by simulating the cluster forward.

Jobs without a known end never end in the simulation: so starts that do not need their capacity are
found, and starts that do are reported as unknown.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

import msgspec

from edl import messages, reasons
from edl.forecast.contention import Contention
from edl.forecast.estimate import HORIZON, Certainty, Estimate, rounded
from edl.forecast.never_fits import hopeless
from edl.forecast.remaining_work import Basis, RemainingWork, left
from edl.lost_pods import missing_pods
from edl.model import ClusterState, Code, JobKey, Reason, TrainingJob
from edl.model.causes.reason_codes import PROMISING_CODES, TIMED_CODES
from edl.model.causes.scarcity import NoRoom, Shortage
from edl.phases import blocked, ending
from edl.planner.decide import decide
from edl.planner.plan import Plan, is_never
from edl.planner.published_settings import Settings
from edl.simulator import Elastic, Simulation, Watcher, Work, from_state

_NAMED: Final = 2
_PASSING: Final = TIMED_CODES | PROMISING_CODES
_TRIED: Final = 20
"""Most jobs without a simulated start to try in an empty cluster, at a decision each."""


class Forecast(msgspec.Struct, frozen=True):
    """Estimates of the starts of waiting jobs, and of the growth of started ones."""

    starts: Mapping[JobKey, Estimate]
    grows: Mapping[JobKey, Estimate]


@dataclass(slots=True)
class _Seen:
    """The first start and growth of each job, in simulated seconds, and its last reason.

    `never`: by the first decision, jobs that can never start with the present nodes and quotas;
    with an autoscaler, what they wait for, as nodes may be added.
    `lacks`: the resources that nodes lacked for each job; "" for another reason that
    does not pass by itself.
    `codes`: all codes of each job's reasons.
    `over`: jobs that have ended.
    """

    start: dict[JobKey, float] = field(default_factory=dict)
    growth: dict[JobKey, float] = field(default_factory=dict)
    reason: dict[JobKey, Reason] = field(default_factory=dict)
    never: dict[JobKey, Reason] = field(default_factory=dict)
    lacks: defaultdict[JobKey, set[str]] = field(default_factory=lambda: defaultdict(set))
    codes: defaultdict[JobKey, set[Code]] = field(default_factory=lambda: defaultdict(set))
    over: frozenset[JobKey] = frozenset()

    def note(self, now: float, _state: ClusterState, plan: Plan) -> None:
        if not self.reason:
            self.never = {one.job: one.reason for one in plan.held if is_never(one.reason)}
        for admission in plan.admissions:
            self.start.setdefault(admission.job, now)
        for resize in plan.resizes:
            if resize.after > resize.before:
                self.growth.setdefault(resize.job, now)
        self.reason = {held.job: held.reason for held in plan.held}
        for held in plan.held:
            self.codes[held.job].add(held.reason.code)
            if held.reason.code not in _PASSING:
                self.lacks[held.job].add(_lacked_resource(held.reason))


def forecast(
    state: ClusterState,
    settings: Settings,
    asked: Iterable[JobKey],
    enough: Callable[[], bool] = lambda: False,
    plan: Plan | None = None,
) -> Forecast:
    """The forecast of the jobs `asked`. `enough` ends the simulation early: the rest is unknown.

    `plan`: that of `state`, if it is known. The simulation's first one requests no nodes, so with
    an autoscaler the reasons of jobs that lack nodes are read from this plan.
    """
    jobs = {job.key: job for job in state.jobs if job.live and ending(job) is None}
    keys = [key for key in asked if key in jobs]
    known = {key: left(job, state.observed_at) for key, job in jobs.items()}
    seen, stopped = _simulated(state, settings, (keys, known), enough)
    contention = Contention(state, settings)
    estimates = _Estimates(state.observed_at, jobs, known, contention, seen, stopped)
    waiting = {key for key in keys if any(role.status.suspended for role in jobs[key].live)}
    unseen = [jobs[key] for key in keys if key in waiting and key not in seen.start]
    if seen.never and settings.limits.expects_autoscaler(detected=state.autoscaled):
        plan = plan or decide(state, settings.policy_to_apply(), settings.limits)
        seen.never = {one.job: one.reason for one in plan.held if one.job in seen.never}
        never = {one.job: one.reason for one in plan.held if one.never}
    else:
        never = seen.never
    if all(node.schedulable for node in state.nodes):  # a cordoned node may be uncordoned
        estimates.never.update((one.key, never[one.key]) for one in unseen if one.key in never)
    rest = [job for job in unseen if job.key not in estimates.never]
    estimates.never.update(_never(state, settings, rest, enough))
    return Forecast(
        starts={key: estimates.estimate(key, seen.start) for key in keys if key in waiting},
        grows={key: estimates.estimate(key, seen.growth) for key in keys if key not in waiting},
    )


def _simulated(
    state: ClusterState,
    settings: Settings,
    asked: tuple[list[JobKey], Mapping[JobKey, RemainingWork]],
    enough: Callable[[], bool],
) -> tuple[_Seen, bool]:
    """What the simulation saw, and whether `enough` stopped it early."""
    keys, known = asked
    seen = _Seen()

    def remaining(job: TrainingJob) -> Work | None:
        return known[job.key].work if job.key in known else None

    scenario = from_state(state, settings.limits, remaining)
    control_mode = Elastic(settings.policy_to_apply(), settings.limits)
    simulation = Simulation(scenario, control_mode, Watcher(decided=seen.note))
    horizon = HORIZON.total_seconds()
    while simulation.next <= horizon:
        if all(key in seen.start or key in seen.growth for key in keys):
            break
        if enough():
            return seen, True
        simulation.run(simulation.next)
    going = {job.key for job in simulation.state().jobs if ending(job) is None}
    seen.over = frozenset(key for key in keys if key not in going)
    return seen, False


def _lacked_resource(reason: Reason) -> str:
    match reason.about:
        case Shortage(lack=lack) | NoRoom(lack=lack):
            return lack.resource
    return ""


def _never(
    state: ClusterState, settings: Settings, unseen: list[TrainingJob], enough: Callable[[], bool]
) -> Iterator[tuple[JobKey, Reason]]:
    """The jobs that would not start even in an empty cluster, and why; of the first `_TRIED`."""
    for job in unseen[:_TRIED]:
        if enough():
            return
        if not _own(job) and (reason := hopeless(state, settings, job)):
            yield job.key, reason


class _Estimates(msgspec.Struct, frozen=True):
    """Turns simulated seconds into estimates."""

    now: datetime
    jobs: Mapping[JobKey, TrainingJob]
    known: Mapping[JobKey, RemainingWork]
    contention: Contention
    seen: _Seen
    stopped: bool
    never: dict[JobKey, Reason] = msgspec.field(default_factory=dict)

    def estimate(self, key: JobKey, times: Mapping[JobKey, float]) -> Estimate:
        job, after = self.jobs[key], times.get(key)
        if own := _own(job):
            return Estimate(Certainty.UNKNOWN, reason=own)
        if after is None:
            return self._without_time(key)
        codes = self.seen.codes[key]
        timed = codes and codes <= TIMED_CODES  # no other job's end shortens a back-off
        endless = [] if timed else self._endless(key, after)
        if not after:
            return Estimate(Certainty.NOW, self.now)
        sooner = f"{_names(endless)} ends" if endless else _ends_earlier(job)
        at = rounded(self.now, timedelta(seconds=after), up=bool(sooner))
        if sooner:
            return Estimate(Certainty.LATEST, at, f"sooner if {sooner}")
        return Estimate(Certainty.ABOUT, at)

    def _without_time(self, key: JobKey) -> Estimate:
        asked, never = self.jobs[key].provisioning, self.never.get(key)
        if asked.has_requests:
            requested = reasons.waits_for_nodes(0, asked.message, never)
            return Estimate(Certainty.UNKNOWN, reason=messages.lasting(requested))
        if never:
            return Estimate(Certainty.NEVER, reason=messages.lasting(never))
        return Estimate(Certainty.UNKNOWN, reason=self._why(key, self._endless(key, None)))

    def _endless(self, key: JobKey, before: float | None) -> list[JobKey]:
        """Jobs without a known end that run before that time and compete with it, by name."""
        return [
            other
            for other, found in sorted(self.known.items())
            if found.work is None
            and other != key
            and (
                not any(role.status.suspended for role in self.jobs[other].live)
                or (
                    other in self.seen.start and (before is None or self.seen.start[other] < before)
                )
            )
            and self.contention.competes(self.jobs[key], self.jobs[other], self.seen.lacks[key])
        ]

    def _why(self, key: JobKey, endless: list[JobKey]) -> str:
        if self.stopped:
            return "it was not computed within the time limit"
        if key in self.seen.never:
            return messages.lasting(self.seen.never[key])
        reason = self.seen.reason.get(key)
        if reason and reason.code is Code.QUOTA_EXCEEDED:
            # Running jobs of other namespaces do not use that quota.
            return self._reason(key)
        overdue = [one for one in endless if self.known[one].basis is Basis.OVERDUE]
        if overdue:
            verb = "have" if len(overdue) > 1 else "has"
            return f"{_names(overdue)} {verb} run longer than declared"
        if endless:
            verb = "have" if len(endless) > 1 else "has"
            full = f"{self._reason(key)}, and " if _is_confined(reason) else ""
            return f"{full}{_names(endless)} {verb} no known end"
        over = "it ends before it can be scaled up" if key in self.seen.over else ""
        return over or self._reason(key) or "not even once all jobs with a known end have ended"

    def _reason(self, key: JobKey) -> str:
        """The last reason, without figures, which would be those of a simulated time."""
        reason = self.seen.reason.get(key)
        return messages.lasting(reason) if reason else ""


def _is_confined(reason: Reason | None) -> bool:
    """Whether growth needs capacity in the topology domain of the job's pods."""
    about = reason.about if reason else None
    return isinstance(about, NoRoom) and bool(about.domains)


def _ends_earlier(job: TrainingJob) -> str:
    """What would make it sooner: back-offs and grace periods are simulated at their longest."""
    if any(map(missing_pods, job.live)):
        return "the Job controller's back-off after lost pods ends earlier"
    pods = (pod for role in job.live for pod in role.status.pods)
    leaves = any(pod.terminating and pod.deletion.due_at for pod in pods)
    return "its previous pods end before their grace period does" if leaves else ""


def _own(job: TrainingJob) -> str:
    if job.paused:
        return "it is paused" if job.suspended else "its pause is requested"
    if why := blocked(job):
        return messages.message(why)
    if job.absent:
        return f"its Jobs of {', '.join(job.absent)} do not exist yet"
    return f"its Jobs of {', '.join(job.missing)} are left out of it" if job.missing else ""


def _names(keys: list[JobKey]) -> str:
    rest = f" or {len(keys) - _NAMED} more" if len(keys) > _NAMED else ""
    return " or ".join(map(str, keys[:_NAMED])) + rest
