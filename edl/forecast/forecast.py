"""Estimates start and growth times by simulating the cluster forward.

Jobs without a known end never end in the simulation: so starts that do not need their capacity are
found, and starts that do are reported as unknown.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, TypeAlias

import msgspec
from msgspec.structs import replace

from edl import messages, reasons
from edl.forecast.contention import Contention
from edl.forecast.estimate import HORIZON, Certainty, Estimate, passed, rounded, waiting_for
from edl.forecast.never_fits import awaits_turn, hopeless
from edl.forecast.own_obstacles import ends_earlier, own_obstacle
from edl.forecast.remaining_work import RemainingWork, left
from edl.job_state.phases import ending
from edl.model import ClusterState, Code, JobKey, Reason, TrainingJob
from edl.model.causes.reason_codes import PROMISING_CODES, TIMED_CODES
from edl.model.causes.scarcity import NoRoom, Shortage
from edl.planner.decide import decide
from edl.planner.plan import Plan, is_never
from edl.planner.published_settings import Settings
from edl.simulator import Elastic, Simulation, Timing, Watcher, Work, from_state

_NAMED: Final = 2
_TOO_LONG: Final = "it was not computed within the time limit"
_SOON: Final = 60
"""Seconds; a sooner start is as good."""
_ROUND: Final = 5
"""Seconds between two decisions after the first minute, within what estimates are rounded to."""
_PASSING: Final = TIMED_CODES | PROMISING_CODES
_Reasons: TypeAlias = dict[JobKey, Reason]
_TRIED: Final = 20
"""Most jobs without a simulated start to try in an empty cluster, at a decision each."""


class Forecast(msgspec.Struct, frozen=True):
    """Estimates of the starts of waiting jobs, and of the growth of started ones."""

    starts: Mapping[JobKey, Estimate]
    grows: Mapping[JobKey, Estimate]


@dataclass(slots=True)
class _Seen:
    """The first start and growth of each job, in simulated seconds, and its last reason.

    `short`: by the first decision, which requests no nodes, jobs that can never start with the
    present nodes and quotas.
    `lacks`: the resources that nodes lacked for each job; "" for another reason that
    does not pass by itself.
    `codes`: all codes of each job's reasons.
    `over`: jobs that have ended.
    `stopped`: whether the simulation was ended early, and `until`: no event before was left out.
    """

    start: dict[JobKey, float] = field(default_factory=dict)
    growth: dict[JobKey, float] = field(default_factory=dict)
    reason: dict[JobKey, Reason] = field(default_factory=dict)
    short: dict[JobKey, Reason] = field(default_factory=dict)
    lacks: defaultdict[JobKey, set[str]] = field(default_factory=lambda: defaultdict(set))
    codes: defaultdict[JobKey, set[Code]] = field(default_factory=lambda: defaultdict(set))
    over: frozenset[JobKey] = frozenset()
    stopped: bool = False
    until: float = 0

    def note(self, now: float, _state: ClusterState, plan: Plan) -> None:
        if not self.reason:
            short = (entry for entry in plan.waiting if is_never(entry.reason))
            self.short = {entry.job: entry.reason for entry in short}
        for admission in plan.admissions:
            self.start.setdefault(admission.job, now)
        for resize in plan.resizes:
            if resize.after > resize.before:
                self.growth.setdefault(resize.job, now)
        self.reason = {entry.job: entry.reason for entry in plan.waiting}
        for entry in plan.waiting:
            self.codes[entry.job].add(entry.reason.code)
            if entry.reason.code not in _PASSING:
                self.lacks[entry.job].add(_lacked_resource(entry.reason))


def forecast(
    state: ClusterState,
    settings: Settings,
    asked: Iterable[JobKey],
    enough: Callable[[], bool] = lambda: False,
    plan: Plan | None = None,
) -> Forecast:
    """The forecast of the jobs `asked`. `enough` ends the simulation early: the rest is `LATER`.

    `plan`: that of `state`, if it is known. The simulation's first one requests no nodes, so with
    an autoscaler the reasons of jobs that lack nodes are read from this plan, and so are always the
    jobs that wait for pods ahead of them.
    """
    jobs = {job.key: job for job in state.jobs if job.live and ending(job) is None}
    keys = [key for key in asked if key in jobs]
    remaining = {key: left(job, state.observed_at) for key, job in jobs.items()}
    contention = Contention(state, settings)
    seen = _simulated(state, settings, keys, remaining, enough)
    short, never_by_plan = _never_by_plan(state, settings, seen.short, plan)
    waiting = {key for key in keys if any(role.status.suspended for role in jobs[key].live)}
    unseen = [key for key in keys if key in waiting and key not in seen.start]
    if not all(node.schedulable for node in state.nodes):  # a cordoned node may be uncordoned
        never_by_plan = {}
    never = {key: never_by_plan[key] for key in unseen if key in never_by_plan}
    rest = [jobs[key] for key in unseen if key not in never]
    never |= _never_in_empty_cluster(state, settings, rest, enough)
    planned = plan.waiting if plan else ()
    behind = (entry.job for entry in planned if entry.reason.code is Code.PLACEMENT_ORDER)
    ordered = dict.fromkeys(behind, settings.limits.pending_limit)
    turns = frozenset(entry.job for entry in planned if awaits_turn(entry.reason))
    facts = (state.observed_at, jobs, remaining, contention, seen, short, never, ordered, turns)
    estimates = _Estimates(*facts)
    return Forecast(
        starts={key: estimates.estimate(key, seen.start) for key in keys if key in waiting},
        grows={key: estimates.estimate(key, seen.growth) for key in keys if key not in waiting},
    )


def _simulated(
    state: ClusterState,
    settings: Settings,
    keys: list[JobKey],
    remaining: Mapping[JobKey, RemainingWork],
    enough: Callable[[], bool],
) -> _Seen:
    """What the simulation saw until each of these jobs had started or grown."""
    seen = _Seen()

    def work_of(job: TrainingJob) -> Work | None:
        return remaining[job.key].work if job.key in remaining else None

    observed = from_state(state, settings.limits, work_of)
    scenario = replace(observed, settings=Timing(later_round=_ROUND))
    control_mode = Elastic(settings.policy_to_apply(), settings.limits)
    simulation = Simulation(scenario, control_mode, Watcher(decided=seen.note))
    while simulation.next <= HORIZON.total_seconds():
        if all(key in seen.start or key in seen.growth for key in keys):
            break
        if enough():
            seen.stopped, seen.until = True, simulation.next
            return seen
        simulation.run(simulation.next)
    going = {job.key for job in simulation.state().jobs if ending(job) is None}
    seen.over = frozenset(key for key in keys if key not in going)
    return seen


def _never_by_plan(
    state: ClusterState, settings: Settings, short: _Reasons, plan: Plan | None
) -> tuple[_Reasons, _Reasons]:
    """Why jobs wait that the present nodes and quotas cannot hold, and which jobs never start.

    These are the same, but with an autoscaler nodes may be added: then a plan that requests nodes
    tells both.
    """
    if not (short and settings.limits.expects_autoscaler(detected=state.autoscaled)):
        return short, short
    plan = plan or decide(state, settings.policy_to_apply(), settings.limits)
    waits = {entry.job: entry.reason for entry in plan.waiting if entry.job in short}
    return waits, {entry.job: entry.reason for entry in plan.waiting if entry.never}


def _lacked_resource(reason: Reason) -> str:
    match reason.about:
        case Shortage(lack=lack) | NoRoom(lack=lack):
            return lack.resource
    return ""


def _never_in_empty_cluster(
    state: ClusterState, settings: Settings, unseen: list[TrainingJob], enough: Callable[[], bool]
) -> _Reasons:
    """The jobs that would not start even in an empty cluster, and why; of the first `_TRIED`."""
    never: _Reasons = {}
    for job in unseen[:_TRIED]:
        if enough():
            break
        if not own_obstacle(job) and (reason := hopeless(state, settings, job)):
            never[job.key] = reason
    return never


class _Estimates(msgspec.Struct, frozen=True):
    """Turns simulated seconds into estimates."""

    now: datetime
    jobs: Mapping[JobKey, TrainingJob]
    remaining: Mapping[JobKey, RemainingWork]
    contention: Contention
    seen: _Seen
    short: Mapping[JobKey, Reason]
    """Why jobs wait that the present nodes and quotas cannot hold."""
    never: Mapping[JobKey, Reason]
    ordered: Mapping[JobKey, timedelta]
    """How long jobs may wait for pods ahead of them, which the simulation binds at once."""
    turns: frozenset[JobKey]

    def estimate(self, key: JobKey, times: Mapping[JobKey, float]) -> Estimate:
        job, after = self.jobs[key], times.get(key)
        if obstacle := own_obstacle(job):
            return obstacle
        if after is None:
            return self._without_time(key)
        codes, ordered = self.seen.codes[key], self.ordered.get(key, timedelta())
        if timedelta(seconds=after) < ordered:
            time = rounded(self.now, ordered, up=True)
            return Estimate(Certainty.LATEST, time, "sooner if pods ahead of it get nodes earlier")
        # No other job's end shortens a back-off, and none matters for a wait of seconds.
        timed = after < _SOON or (codes and codes <= TIMED_CODES)
        endless = [] if timed else self._endless(key, after)
        if not after:
            return Estimate(Certainty.NOW, self.now)
        sooner = f"{_names(endless)} ends" if endless else ends_earlier(job)
        time = rounded(self.now, timedelta(seconds=after), up=bool(sooner))
        if sooner:
            return Estimate(Certainty.LATEST, time, f"sooner if {sooner}")
        return Estimate(Certainty.ABOUT, time)

    def _without_time(self, key: JobKey) -> Estimate:
        asked, never = self.jobs[key].provisioning, self.never.get(key)
        if asked.has_requests:
            return waiting_for(Certainty.UNKNOWN, reasons.waits_for_nodes(0, asked.message, never))
        if never:
            return waiting_for(Certainty.NEVER, never)
        if key in self.short and not self.seen.stopped:
            return waiting_for(Certainty.UNKNOWN, self.short[key])
        endless = self._endless(key, None)
        if self.seen.stopped:
            return self._later(endless)
        return Estimate(Certainty.UNKNOWN, reason=self._why(key, endless))

    def _later(self, endless: list[JobKey]) -> Estimate:
        """That it did not start before the simulation was ended early."""
        time = passed(self.now, timedelta(seconds=self.seen.until))
        sooner = f"; sooner if {_names(endless)} ends" if endless else ""
        return Estimate(Certainty.LATER, time, f"{_TOO_LONG}{sooner}")

    def _endless(self, key: JobKey, before: float | None) -> list[JobKey]:
        """Jobs without a known end that run before that time and compete with it, by name."""
        return [
            other
            for other, remaining in sorted(self.remaining.items())
            if remaining.work is None
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
        reason = self.seen.reason.get(key)
        if reason and reason.code is Code.QUOTA_EXCEEDED:
            # Running jobs of other namespaces do not use that quota.
            return self._reason(key)
        turn = messages.message(reasons.QUEUE_ORDER) if key in self.turns else ""
        overdue = [other for other in endless if self.remaining[other].overdue]
        verb = "have" if len(overdue or endless) > 1 else "has"
        if overdue:
            return f"{_names(overdue)} {verb} run longer than declared"
        if endless:
            full = turn or (self._reason(key) if _is_confined(reason) else "")
            return f"{full}{', and ' * bool(full)}{_names(endless)} {verb} no known end"
        over = turn or ("it ends before it can be scaled up" if key in self.seen.over else "")
        return over or self._reason(key) or "not even once all jobs with a known end have ended"

    def _reason(self, key: JobKey) -> str:
        """The last reason, without figures, which would be those of a simulated time."""
        reason = self.seen.reason.get(key)
        return messages.lasting(reason) if reason else ""


def _is_confined(reason: Reason | None) -> bool:
    """Whether growth needs capacity in the topology domain of the job's pods."""
    about = reason.about if reason else None
    return isinstance(about, NoRoom) and bool(about.domains)


def _names(keys: list[JobKey]) -> str:
    rest = f" or {len(keys) - _NAMED} more" if len(keys) > _NAMED else ""
    return " or ".join(map(str, keys[:_NAMED])) + rest
