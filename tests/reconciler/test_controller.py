import gc
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from threading import Timer
from typing import TYPE_CHECKING
from weakref import ref

import pytest
from msgspec.structs import replace

from edl import reasons
from edl.errors import ClusterError, Forbidden, Gone, Invalid, Unreachable
from edl.kube.writer.executor import StepFailure, StepReport, never
from edl.model import (
    ClusterState,
    Code,
    ConflictingJob,
    JobKey,
    ObjectRef,
    Quota,
    RefusedSize,
    RequestedSize,
    Role,
    TrainingJob,
    WriteRefusal,
)
from edl.model.causes.reason_subjects import Usage
from edl.planner.plan import Plan, Resize, WaitingJob
from edl.steps.plan_steps import Steps
from edl.steps.step_collector import StepError
from edl.writes import DEPENDENTS, Action, Create, JobEvent, Patch, Step, Write
from reconciler.controller import (
    LONGEST_ACT,
    LONGEST_REST,
    LONGEST_WRITING,
    MAX_DECIDING_FRACTION,
    RESYNC,
    SOONEST,
    Controller,
    DecisionPipeline,
)
from reconciler.job_backoff import AFTER_CONFLICT, AFTER_FAILURE
from reconciler.leader_election import AlwaysLeader
from reconciler.leader_only_cluster import NotLeading
from reconciler.metrics.counters import Metrics
from reconciler.metrics.decision_log import DecisionLog
from reconciler.trigger import DebouncedTrigger
from tests.edl.trainings import role
from tests.reasons import because
from tests.reconciler.times import Time

if TYPE_CHECKING:
    from edl.errors import EdlError

A, B = JobKey("web", "a"), JobKey("web", "b")
PLAN = Plan(
    resizes=(Resize(A, "worker", 1, 3, because("room")),),
    waiting=(WaitingJob(B, because("full"), 1),),
    growth_waits=((B, "worker"),),
)


def worker(key: JobKey, uid: str, *, suspended: bool) -> Role:
    return role("worker", 1, 4, job=f"{key.name}-worker", uid=uid, suspended=suspended)


class FakeExecutor:
    """An executor that remembers, and fails or conflicts for chosen jobs."""

    def __init__(self, time: Time) -> None:
        self.rounds: list[list[JobKey]] = []
        self.fails: dict[JobKey, EdlError] = {}
        self.fails_beside: EdlError | None = None
        """Fails the steps that write dependents."""
        self.one_fails: EdlError | None = None
        """Fails the first step of each round."""
        self.conflicts: set[JobKey] = set()
        self.lasts: set[JobKey] = set()
        """Jobs whose steps run on after the round that begins them."""
        self.running: list[Step] = []
        self.seconds = 0.0
        self.then: Callable[[], object] = never
        """Called when a round has acted."""
        self._time = time

    def act(self, steps: Sequence[Step], enough: Callable[[], bool] = never) -> StepReport:
        left = tuple(step for step in steps if self._is_left(enough))
        steps = [step for step in steps if step not in left]
        if steps or not self.running:
            self.rounds.append([step.job for step in steps])
        self.then()
        known = [*self.running, *steps]
        self.running = [step for step in known if step.job in self.lasts]
        steps = [step for step in known if step.job not in self.lasts]
        failed = [StepFailure(step, self.one_fails) for step in steps[:1] if self.one_fails]
        steps = steps[len(failed) :]
        if beside := self.fails_beside:
            failed += [StepFailure(step, beside) for step in steps if step.part]
            steps = [step for step in steps if not step.part]
        good = [s for s in steps if s.job not in self.fails and s.job not in self.conflicts]
        failed += [
            StepFailure(step, self.fails[step.job]) for step in steps if step.job in self.fails
        ]
        return StepReport(
            done=tuple(good),
            conflicts=tuple(step for step in steps if step.job in self.conflicts),
            failed=tuple(failed),
            left=left,
            running=tuple(self.running),
        )

    def _is_left(self, enough: Callable[[], bool]) -> bool:
        """Each step that is begun takes its time."""
        left = enough()
        self._time.seconds += 0 if left else self.seconds
        return left


class World:
    """A loop whose every part is plain: two jobs that always want a step."""

    def __init__(self) -> None:
        self.time = Time()
        self.executor = FakeExecutor(self.time)
        self.metrics = Metrics()
        self.jobs = [A, B]
        self.uids: dict[JobKey, str] = {}
        self.bare: list[JobKey] = []
        self.orphans: tuple[tuple[ObjectRef, str], ...] = ()
        self.conflicting: tuple[ConflictingJob, ...] = ()
        """Jobs that each training job leaves out."""
        self.recheck: timedelta | None = None
        self.broken = 0
        self.odd: list[JobKey] = []
        self.grows = True
        self.deciding = 0.0
        self.starts = False
        self.sizes: tuple[tuple[str, int], ...] = ()
        self.creates: dict[JobKey, ObjectRef] = {}
        """Objects that jobs create, but which exist already."""
        self.patch: Patch | None = None
        """What each step writes."""
        self.begun: list[list[JobKey]] = []
        """The jobs that have begun, round by round."""
        self.steps_of: Callable[[JobKey], bool] = lambda _job: True
        """Whether a job needs a step."""
        self.around: list[JobKey] = []
        """Jobs with a further step, which writes their dependents."""
        self.twice = False
        """Whether each job has a further step, which stops its role."""
        self.refusals: list[tuple[WriteRefusal, ...]] = []
        """Of job A, round by round."""
        self.awaited: list[datetime | None] = []
        """Since when the growth of job B has waited, round by round."""
        self.events: list[JobEvent] = []
        self.followed = 0
        self.plan = PLAN
        mind = DecisionPipeline(self.observe, lambda _state: self.plan, self.steps, self.follow)
        journal = DecisionLog(self.metrics, record=self.events.append)
        self.loop = Controller(mind, self.executor.act, journal, self.time.clocks)

    def round(self, ended: Callable[[], bool] = never) -> float:
        """One round of the loop; returns the seconds until the next one is due."""
        return self.loop.round(ended).until_due

    def observe(self, now: datetime) -> ClusterState:
        if self.broken:
            self.broken -= 1
            raise ZeroDivisionError("a bug")
        self.time.seconds += self.deciding
        jobs, bare = (
            tuple(
                TrainingJob(key, "none", (self._worker(key),), now, conflicting=self.conflicting)
                for key in keys
            )
            for keys in (self.jobs, self.bare)
        )
        return ClusterState(now, (), jobs, unplanned_jobs=bare, orphans=self.orphans)

    def _worker(self, key: JobKey) -> Role:
        return worker(key, self.uids.get(key, "first"), suspended=not self.sizes)

    def steps(self, _plan: Plan, state: ClusterState, waits: Callable[[JobKey], bool]) -> Steps:
        self.refusals += [job.refusals for job in state.jobs if job.key == A]
        self.begun.append([job.key for job in state.jobs if not job.suspended])
        jobs_b = (job for job in state.jobs if job.key == B)
        self.awaited += [job.roles[0].growth_awaited_since for job in jobs_b]
        everybody = (*state.jobs, *state.unplanned_jobs)
        keys = [
            *(job.key for job in everybody),
            *(JobKey(target.namespace, target.name) for target, _ in state.orphans),
            *(one.key for job in state.jobs for one in job.conflicting),
        ]
        jobs = [k for k in keys if k not in self.odd and self.steps_of(k) and not waits(k)]
        good = tuple(
            Step(
                job,
                self._writes(job),
                (self.event(job),) if self.grows else (),
                self.starts,
                self.sizes,
                DEPENDENTS if job in self.creates else "",
            )
            for job in jobs
        )
        good += tuple(Step(job, (), part=DEPENDENTS) for job in jobs if job in self.around)
        if self.twice:
            good += tuple(Step(job, (), (), sizes=(("worker", 0),)) for job in jobs)
        bad = tuple(StepError(job, ZeroDivisionError("a bug")) for job in self.odd)
        return Steps(good, self.recheck, bad)

    def _writes(self, job: JobKey) -> tuple[Write, ...]:
        if self.patch:
            return (self.patch,)
        return (Create(self.creates[job], {"metadata": {}}),) if job in self.creates else ()

    def follow(self) -> None:
        self.followed += 1

    def event(self, job: JobKey) -> JobEvent:
        return JobEvent(
            ObjectRef("Job", *job),
            "uid",
            Action.SCALED_UP,
            Code.IDLE_CAPACITY,
            "worker 1 → 3: room",
        )

    def value(self, name: str, **labels: str) -> float:
        return self.metrics.registry.get_sample_value(name, labels) or 0.0


@pytest.fixture
def world() -> World:
    return World()


def test_a_round_acts_and_waits_for_news(world: World) -> None:
    assert world.round() == RESYNC
    assert world.executor.rounds == [[A, B]]


def test_time_alone_may_ask_for_the_next_round(world: World) -> None:
    world.recheck = timedelta(seconds=7)
    assert world.round() == 7


def test_a_failing_job_backs_off_and_stops_no_other_job(world: World) -> None:
    world.executor.fails[A] = Invalid("refused", 422)
    assert world.round() == 1.0
    assert world.round() == 1.0
    world.time.seconds += 1.0
    assert world.round() == 2.0
    assert world.executor.rounds == [[A, B], [B], [B, A]]
    assert world.value("edl_failures_total", kind="Invalid") == 2


def test_a_creation_of_an_object_that_exists_backs_off_and_stops_no_other_job(
    world: World,
) -> None:
    world.creates[A] = ObjectRef("PodDisruptionBudget", "web", "a-worker-first-1")
    assert world.round() == 1.0
    assert world.round() == 1.0
    world.time.seconds += 1.0
    assert world.round() == 2.0
    assert world.executor.rounds == [[A, B], [B], [A, B]]


def test_refused_dependents_delay_no_other_write_of_their_job(world: World) -> None:
    world.around = [A]
    world.executor.fails_beside = Forbidden("exceeded quota", 403)
    assert world.round() == 1.0
    assert world.round() == 1.0
    world.time.seconds += 1.0
    assert world.round() == 2.0
    assert world.executor.rounds == [[A, B, A], [A, B], [A, B, A]]
    assert world.refusals == [()] * 3
    assert world.value("edl_failures_total", kind="Forbidden") == 2


def test_dependents_that_are_missing_no_more_have_nothing_to_wait_for(world: World) -> None:
    world.executor.fails_beside = Forbidden("exceeded quota", 403)
    for around, pause in (([A], 1.0), ([], RESYNC), ([A], 1.0)):
        world.around = around
        assert world.round() == pause


def test_a_job_that_backs_off_forgets_no_refusal_of_its_dependents(world: World) -> None:
    world.around = [A]
    world.executor.fails_beside = Forbidden("exceeded quota", 403)
    for _ in range(4):  # the fourth attempt is due after eight seconds
        world.time.seconds += world.round()
    world.round()
    world.executor.conflicts.add(A)
    world.round()
    world.executor.conflicts.clear()
    world.round()
    world.time.seconds += AFTER_CONFLICT.first
    assert world.round() > 1
    assert world.executor.rounds[-3:] == [[A, B], [B], [A, B]]


@pytest.mark.parametrize("starts", [True, False])
def test_a_failure_after_an_hour_without_need_of_a_write_is_the_first_failure(
    world: World, *, starts: bool
) -> None:
    """Else one answer 503 of an API server that is restarted would count as a refusal."""
    world.starts, world.sizes = starts, () if starts else (("worker", 3),)
    world.executor.fails[A] = Unreachable("etcdserver: leader changed", 503)
    world.round()
    needed, world.steps_of = world.steps_of, lambda key: key != A
    for _ in range(60):
        world.time.seconds += 60
        world.round()
    world.steps_of = needed
    assert world.round() == AFTER_FAILURE.first
    assert world.events == []


def test_a_failure_after_many_conflicts_is_the_first_failure(world: World) -> None:
    world.executor.conflicts.add(A)
    for _ in range(9):
        world.time.seconds += world.round()
    world.executor.conflicts.clear()
    world.executor.fails[A] = Unreachable("too many requests", 429)
    assert world.round() == AFTER_FAILURE.first


def test_a_refused_start_is_part_of_the_next_state_and_delays_nothing_else(
    world: World,
) -> None:
    world.starts = True
    world.executor.fails[A] = Invalid("exceeded quota", 422)
    world.round()
    world.round()
    assert world.refusals == [(), (WriteRefusal(world.time.now(), 1, "exceeded quota"),)]
    world.time.seconds += 1
    world.round()
    before = world.time.now() - timedelta(seconds=1)
    assert world.refusals[-1] == (WriteRefusal(before, 2, "exceeded quota"),)
    assert world.executor.rounds == [[A, B]] * 3


def test_a_start_that_a_quota_refused_has_the_quota_and_its_figures_in_the_next_state(
    world: World,
) -> None:
    world.starts = True
    figures = "requested: services=1, used: services=0, limited: services=0"
    text = f'services "a" is forbidden: exceeded quota: team, {figures}'
    world.executor.fails[A] = Forbidden(text, 403)
    world.round()
    world.round()
    ((refusal,),) = world.refusals[1:]
    budget = Quota(A.namespace, 'ResourceQuota "team"', "services", 0)
    assert refusal.usage == Usage(budget, 1, 0)


def test_a_start_that_a_webhook_refused_in_the_words_of_a_quota_has_no_quota(world: World) -> None:
    """Of a webhook's refusal the client keeps the webhook's own words, whatever they are."""
    world.starts = True
    figures = "requested: services=1, used: services=0, limited: services=0"
    text = f'services "a" is forbidden: exceeded quota: team, {figures}'
    world.executor.fails[A] = Invalid(text, 403)
    world.round()
    world.round()
    ((refusal,),) = world.refusals[1:]
    assert refusal.usage is None


def test_a_refused_size_is_part_of_the_next_state_and_delays_nothing_else(world: World) -> None:
    world.sizes = (("worker", 3),)
    world.executor.fails[A] = Invalid("denied by a policy", 422)
    assert world.round() == SOONEST
    world.round()
    size = RefusedSize("worker", 3, grows=True, request=RequestedSize(1, 4))
    refusal = WriteRefusal(world.time.now(), 1, "denied by a policy", size)
    assert world.refusals == [(), (refusal,)]
    assert world.executor.rounds == [[A, B]] * 2
    assert {event.reason for event in world.events} == {Code.WRITE_REFUSED}


def test_several_refused_steps_of_a_job_are_one_refusal_of_each_kind(world: World) -> None:
    world.sizes = (("worker", 3),)
    world.twice = True
    world.executor.fails[A] = Invalid("denied by a policy", 422)
    world.round()
    world.round()
    found = [(one.attempts, one.size.size if one.size else None) for one in world.refusals[-1]]
    assert sorted(found) == [(1, 0), (1, 3)]


def test_a_job_backs_off_after_a_failure_that_leaves_nothing_undone_which_plans_count_on(
    world: World,
) -> None:
    world.sizes = (("worker", 1),)
    world.executor.fails[A] = Invalid("denied by a policy", 422)
    assert world.round() == AFTER_FAILURE.first
    world.round()
    assert world.refusals == [(), ()]
    assert world.executor.rounds == [[A, B], [B]]


TRANSIENT = (
    Unreachable("no answer in time"),
    Unreachable("too many requests", 429),
    Unreachable("failed calling webhook: connection refused", 500),
    Gone("expired", 410),
    Forbidden("does not accept these credentials", 401),
    ClusterError("TypeError: a defect of ours"),
)


@pytest.mark.parametrize("starts", [True, False])
@pytest.mark.parametrize("error", TRANSIENT, ids=str)
def test_a_write_that_the_api_server_does_not_refuse_is_tried_again_and_keeps_its_capacity(
    world: World, error: ClusterError, *, starts: bool
) -> None:
    """Else a job behind it in the queue would start on that capacity first."""
    world.starts, world.sizes = starts, () if starts else (("worker", 3),)
    world.executor.fails[A] = error
    assert world.round() == AFTER_FAILURE.first
    world.round()
    assert world.refusals == [(), ()]
    world.time.seconds += AFTER_FAILURE.first
    world.round()
    assert world.executor.rounds == [[A, B], [B], [B, A]]
    assert world.events == []


@pytest.mark.parametrize("starts", [True, False])
def test_a_failure_that_lasts_keeps_capacity_from_others_for_fifteen_seconds_at_most(
    world: World, *, starts: bool
) -> None:
    """The webhook of another component may be away, which only this job's namespace needs."""
    world.starts, world.sizes = starts, () if starts else (("worker", 3),)
    world.executor.fails[A] = Unreachable("failed calling webhook: connection refused", 500)
    begun = world.time.seconds
    while not world.events:
        world.time.seconds += world.round()
    assert world.time.seconds - begun == pytest.approx(15, abs=1)
    world.round()
    assert len(world.refusals[-1]) == 1


def test_a_job_whose_back_off_ends_while_others_are_written_is_tried_at_once(world: World) -> None:
    world.executor.fails[A] = Unreachable("too many requests", 429)
    world.round()
    world.time.seconds += 0.5
    world.executor.seconds = 2.0  # for the step of B, while A's back-off of one second ends
    assert world.round() == SOONEST


def test_conflicts_before_a_failed_start_do_not_make_it_a_lasting_one(world: World) -> None:
    world.starts = True
    world.executor.conflicts.add(A)
    for _ in range(5):
        world.time.seconds += world.round()
    world.executor.conflicts.clear()
    world.executor.fails[A] = Unreachable("too many requests", 429)
    world.time.seconds += 60
    world.round()
    world.round()
    assert not any(world.refusals)


def test_a_step_that_fails_backs_off_though_others_of_its_job_succeed(world: World) -> None:
    world.jobs = [A, A]
    world.executor.one_fails = Invalid("refused", 422)
    pauses = []
    for _ in range(4):
        pauses.append(world.round())
        world.time.seconds += pauses[-1]
    assert pauses == [1.0, 2.0, 4.0, 8.0]


def test_a_job_that_was_created_again_neither_backs_off_nor_was_refused_anything(
    world: World,
) -> None:
    """Its user has changed it, and nothing has told of the time between."""
    world.starts = True
    for error in (Invalid("exceeded quota", 422), Unreachable("too many requests", 429)):
        world.executor.fails[A] = error
        world.round()
        world.uids[A] = f"again after {error}"
        world.round()
        assert world.refusals[-1] == ()
        assert world.executor.rounds[-1] == [A, B]
        world.jobs = [B]
        world.round()
        world.jobs = [A, B]


def test_a_job_that_was_created_again_is_not_refused_what_a_write_for_the_former_was(
    world: World,
) -> None:
    world.starts = True
    world.executor.lasts = {A}
    world.round()
    world.uids[A] = "again"
    world.round()
    world.executor.lasts.clear()
    world.executor.fails[A] = Invalid("denied", 422)
    world.steps_of = lambda job: job == B
    world.round()
    assert world.refusals == [(), (), ()]
    assert world.events == []


def test_a_start_that_succeeds_is_refused_no_more(world: World) -> None:
    world.starts = True
    world.executor.fails[A] = Invalid("exceeded quota", 422)
    world.round()
    world.executor.fails.clear()
    world.round()
    world.round()
    assert [bool(refusal) for refusal in world.refusals] == [False, True, False]


def test_a_start_that_the_loss_of_the_leadership_stopped_is_not_refused(world: World) -> None:
    world.starts = True
    world.executor.fails[A] = NotLeading("another process leads now")
    assert world.round() == 0.0
    world.round()
    assert world.refusals == [(), ()]
    assert world.events == []
    assert world.value("edl_failures_total", kind="NotLeading") == 0


def test_every_refused_write_is_an_event(world: World) -> None:
    world.executor.fails[A] = Invalid("denied by a policy", 403)
    world.round()
    world.starts = True
    world.time.seconds += 1
    world.round()
    assert [
        (event.target, event.reason, event.message, event.warning) for event in world.events
    ] == [
        (ObjectRef("Job", "web", "a-worker"), "WriteRefused", "denied by a policy", True),
        (ObjectRef("Job", "web", "a-worker"), "StartRefused", "denied by a policy", True),
    ]


def test_so_are_bare_pods(world: World) -> None:
    world.jobs, world.bare = [], [A]
    world.executor.fails[A] = Invalid("refused", 422)
    assert [world.round() for _ in range(3)] == [1.0, 1.0, 1.0]
    assert world.executor.rounds == [[A], [], []]


def test_so_are_provisional_pods_of_no_job(world: World) -> None:
    world.jobs, world.orphans = [], ((ObjectRef("Pod", *A), "uid"),)
    world.executor.fails[A] = Invalid("refused", 422)
    assert [world.round() for _ in range(3)] == [1.0, 1.0, 1.0]
    assert world.executor.rounds == [[A], [], []]


def test_so_are_jobs_that_their_training_job_leaves_out(world: World) -> None:
    """And it alone: no user delays the training job by a Job that takes no annotation."""
    copy = JobKey("web", "a/copy")
    why = reasons.quoted(Code.JOB_CONFLICT, "Job copy is left out of a")
    world.jobs, world.conflicting = [A], (ConflictingJob(copy, "copy", "uid", why),)
    world.executor.fails[copy] = Invalid("refused", 422)
    assert [world.round() for _ in range(3)] == [1.0, 1.0, 1.0]
    assert world.executor.rounds == [[A, copy], [A], [A]]


def test_a_job_that_succeeds_again_is_forgiven(world: World) -> None:
    world.executor.fails[A] = Invalid("refused", 422)
    world.round()
    world.executor.fails.clear()
    world.time.seconds += 1.0
    assert world.round() == RESYNC
    world.executor.fails[A] = Invalid("refused", 422)
    assert world.round() == 1.0


def test_a_storm_of_conflicts_is_calmed_and_no_failure(world: World) -> None:
    world.executor.conflicts.add(A)
    for _ in range(20):
        world.time.seconds += world.round()
    assert world.time.seconds > 1000 + 20
    assert world.value("edl_conflicts_total") == 20
    assert world.value("edl_failures_total", kind="Conflict") == 0


def test_many_steps_of_a_job_that_meet_the_same_are_one_failure(world: World) -> None:
    """A thousand pods that are placed one by one and have all gone, or are all refused."""
    world.jobs = [A] * 1000
    world.executor.conflicts.add(A)
    assert world.round() == pytest.approx(AFTER_CONFLICT.first)
    world.executor.conflicts.clear()
    world.jobs = [B] * 1000
    world.executor.fails[B] = Invalid("refused", 422)
    assert world.round() == pytest.approx(AFTER_FAILURE.first)


def test_a_job_that_is_gone_is_forgotten(world: World) -> None:
    world.executor.fails[A] = Invalid("refused", 422)
    world.round()
    world.jobs = [B]
    assert world.round() == RESYNC


def test_a_long_plan_is_cut_and_decided_again(world: World) -> None:
    world.jobs = [JobKey("web", f"{number:03}") for number in range(100)]
    world.executor.seconds = LONGEST_ACT / 10
    assert world.round() == 0.0
    assert 10 <= len(world.executor.rounds[0]) < 15


def test_where_deciding_takes_long_more_of_its_plan_is_carried_out(world: World) -> None:
    world.jobs = [JobKey("web", f"{number:03}") for number in range(100)]
    world.executor.seconds = LONGEST_ACT / 10
    world.deciding = 3 * LONGEST_ACT * MAX_DECIDING_FRACTION
    assert world.round() == 0.0
    assert 30 <= len(world.executor.rounds[0]) < 35


def test_no_step_is_begun_on_what_was_known_long_ago(world: World) -> None:
    world.jobs = [JobKey("web", f"{number:03}") for number in range(100)]
    world.executor.seconds = LONGEST_WRITING / 10
    world.deciding = LONGEST_WRITING
    assert world.round() == 0.0
    assert 10 <= len(world.executor.rounds[0]) < 15


def test_a_stopping_or_former_leader_begins_no_further_step(world: World) -> None:
    assert world.round(lambda: True) == 0.0
    assert world.executor.rounds == [[]]


def test_steps_left_for_lack_of_time_count_as_no_failure(world: World) -> None:
    world.executor.seconds = 2 * LONGEST_ACT
    assert world.round() == 0.0
    world.executor.seconds = 0.0
    assert world.round() == RESYNC
    assert world.executor.rounds == [[A], [A, B]]
    assert world.value("edl_failures_total", kind="Conflict") == 0


def test_a_job_gets_no_step_while_an_earlier_one_of_it_runs_and_others_do(world: World) -> None:
    world.executor.lasts = {A}
    for _ in range(3):
        assert world.round() == RESYNC
    world.executor.lasts.clear()
    world.round()
    assert world.executor.rounds == [[A, B], [B], [B], [A, B]]


def test_a_start_that_is_in_flight_is_part_of_the_next_state(world: World) -> None:
    world.patch = Patch(
        ObjectRef("Job", "web", "a-worker"), "v-worker", {"spec": {"suspend": False}}
    )
    world.executor.lasts = {A}
    world.round()
    world.round()
    assert world.begun == [[], [A]]


def test_a_failure_that_comes_after_its_round_is_known_to_the_next_decision(world: World) -> None:
    world.starts = True
    world.executor.lasts = {A}
    world.executor.fails[A] = Invalid("exceeded quota", 422)
    world.round()
    world.round()
    assert world.refusals == [(), ()]
    world.executor.lasts.clear()
    world.round()
    assert world.refusals[2:] == [(WriteRefusal(world.time.now(), 1, "exceeded quota"),)]


def test_a_job_with_a_step_in_flight_forgets_no_failure_of_its_dependents(world: World) -> None:
    world.around = [A]
    world.executor.fails_beside = Forbidden("exceeded quota", 403)
    for _ in range(4):  # the fourth attempt is due after eight seconds
        world.time.seconds += world.round()
    world.executor.lasts = {A}
    world.round()
    world.round()
    world.executor.lasts.clear()
    assert world.round() == pytest.approx(16)


def test_a_decision_whose_writes_end_after_its_round_is_counted_then(world: World) -> None:
    world.executor.lasts = {A}
    world.round()
    assert world.value("edl_decisions_total", decision="scaled_up") == 0
    world.plan = Plan()
    world.round()
    world.executor.lasts.clear()
    world.round()
    assert world.value("edl_decisions_total", decision="scaled_up") == 1


def test_a_plan_of_which_steps_run_is_not_repeated_at_once(world: World) -> None:
    """What their namespace leaves no thread for is decided again when one of them has ended."""
    world.executor.lasts = {A, B}
    assert [world.round() for _ in range(2)] == [RESYNC, RESYNC]
    assert world.executor.rounds == [[A, B]]


def test_decisions_that_were_carried_out_are_counted_and_logged(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    world.round()
    (record,) = [record for record in caplog.records if record.message == "scaled_up"]
    assert record.__dict__["fields"] == {
        "job": "web/a",
        "role": "worker",
        "before": 1,
        "after": 3,
        "reason": "IdleCapacity",
        "text": "room",
    }
    assert world.value("edl_decisions_total", decision="scaled_up") == 1
    assert world.value("edl_queued_jobs") == 1
    world.executor.conflicts.add(A)
    world.round()
    assert world.value("edl_decisions_total", decision="scaled_up") == 1


def test_a_bug_in_one_round_is_logged_and_the_loop_goes_on(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    world.broken = 1
    alarm = DebouncedTrigger(0)
    alarm.ring()  # so that it does not rest after the bug
    world.executor.then = alarm.stop
    world.loop.run(alarm, AlwaysLeader())
    assert "ZeroDivisionError: a bug" in caplog.text
    assert world.executor.rounds == [[A, B]]
    assert world.value("edl_failures_total", kind="round") == 1


class Stream(DebouncedTrigger):
    """It rings all the time. Waits take no time but of the clock; it stops after many."""

    def __init__(self, time: Time, waits: int) -> None:
        super().__init__(0)
        self._time, self._waits = time, waits
        self.paused: list[float] = []

    def wait(self, seconds: float, rest: float = 0.0) -> bool:
        self.paused.append(min(seconds, rest))
        self._time.seconds += self.paused[-1]
        if len(self.paused) == self._waits:
            self.stop()
        return True


def test_failed_rounds_are_repeated_ever_more_slowly_however_often_it_rings(world: World) -> None:
    world.broken = 4
    stream = Stream(world.time, 5)
    world.loop.run(stream, AlwaysLeader())
    assert stream.paused == [1.0, 2.0, 4.0, 8.0, 0.0]


def test_a_loop_is_alive_while_it_waits_but_not_while_a_round_hangs(world: World) -> None:
    alarm = DebouncedTrigger(0)
    begun, beats = world.time.seconds, []

    def acted() -> None:
        beats.append(world.loop.beat)
        alarm.stop()

    world.executor.then = acted
    world.deciding = 100.0
    world.loop.run(alarm, AlwaysLeader())
    assert [*beats, world.loop.beat] == [begun, begun + 100.0 + RESYNC]


def test_objects_of_a_decision_that_refer_to_each_other_are_freed_before_the_wait(
    world: World,
) -> None:
    alarm = DebouncedTrigger(0)
    made: list[ref[World]] = []

    def acted() -> None:
        working_copy = World()
        working_copy.executor.then = lambda: working_copy
        made.append(ref(working_copy))
        alarm.stop()

    world.executor.then = acted
    gc.disable()
    try:
        world.loop.run(alarm, AlwaysLeader())
        assert [found() for found in made] == [None]
    finally:
        gc.enable()


class Follower:
    """It does not lead; when it has said so, the loop is to end."""

    def __init__(self, alarm: DebouncedTrigger) -> None:
        self._alarm = alarm

    @property
    def leading(self) -> bool:
        self._alarm.stop()
        return False


def test_a_follower_does_nothing_but_live(world: World) -> None:
    alarm = DebouncedTrigger(0)
    alarm.ring()
    world.time.seconds += 5
    world.loop.run(alarm, Follower(alarm))
    assert world.executor.rounds == []
    assert world.loop.beat == world.time.seconds


def test_a_follower_forgets_what_it_decided_by(world: World) -> None:
    alarm = DebouncedTrigger(0)
    world.loop.run(alarm, Follower(alarm))
    assert world.followed == 1


def test_a_follower_forgets_which_starts_were_refused(world: World) -> None:
    """Another leader may start the job, and preempt it: it waits then, and nothing refuses it."""
    world.starts = True
    world.executor.fails[A] = Invalid("exceeded quota", 422)
    world.round()
    alarm = DebouncedTrigger(0)
    world.loop.run(alarm, Follower(alarm))
    world.round()
    assert world.refusals == [(), ()]


def test_the_leader_remembers_since_when_growth_waits(world: World) -> None:
    began = world.time.now()
    for _ in range(3):
        world.round()
        world.time.seconds += 5
    alarm = DebouncedTrigger(0)
    world.loop.run(alarm, Follower(alarm))
    world.round()
    assert world.awaited == [None, began, began, None]


def test_a_wait_of_growth_does_not_begin_again_after_a_conflict(world: World) -> None:
    began, grown = world.time.now(), Resize(B, "worker", 1, 3, because("room"))
    world.executor.conflicts = {B}
    for plan in (PLAN, replace(PLAN, resizes=(grown,), growth_waits=()), PLAN, Plan(), PLAN):
        world.plan = plan
        world.round()
        world.time.seconds += 5
    assert world.awaited == [None, began, began, began, None]


def test_many_rings_wake_once() -> None:
    alarm = DebouncedTrigger(0.05)
    for _ in range(10):
        alarm.ring()
    assert alarm.wait(10)
    assert not alarm.wait(0)


def test_a_ring_during_a_round_is_not_lost() -> None:
    alarm = DebouncedTrigger(0)
    alarm.ring()
    assert alarm.wait(0)
    alarm.ring()
    assert alarm.wait(0)


def test_a_stopped_alarm_never_waits() -> None:
    alarm = DebouncedTrigger(600)
    alarm.stop()
    alarm.ring()
    assert alarm.wait(600)
    assert alarm.stopped


def test_a_ring_does_not_end_a_rest_but_the_end_does() -> None:
    alarm = DebouncedTrigger(0)
    alarm.ring()
    Timer(0.1, alarm.stop).start()
    assert alarm.wait(600, 600)
    assert alarm.stopped


class Bell(DebouncedTrigger):
    """Notes how it is waited for, once."""

    def wait(self, seconds: float, rest: float = 0.0) -> bool:
        self.waited = (seconds, rest)
        self.stop()
        return False


@pytest.mark.parametrize(("deciding", "rest"), [(0.001, 0.004), (0.1, 0.4), (60.0, LONGEST_REST)])
def test_a_long_decision_is_followed_by_a_longer_rest(
    world: World, deciding: float, rest: float
) -> None:
    world.deciding = deciding
    bell = Bell()
    world.loop.run(bell, AlwaysLeader())
    assert bell.waited == pytest.approx((RESYNC, rest))


def test_an_alarm_says_how_old_the_first_news_is_that_ended_the_wait() -> None:
    time = Time()
    alarm = DebouncedTrigger(0, time.monotonic)
    assert alarm.since_ring() is None
    alarm.ring()
    time.seconds += 2
    alarm.ring()
    alarm.wait(0)
    time.seconds += 3
    assert alarm.since_ring() == 5
    alarm.wait(0)
    assert alarm.since_ring() is None


def test_writing_counts_as_rest_from_deciding(world: World) -> None:
    world.deciding = 0.1
    bell = Bell()
    world.executor.seconds = 0.15  # for each of two
    world.loop.run(bell, AlwaysLeader())
    assert bell.waited == pytest.approx((RESYNC, 0.1))


def test_a_conflict_waits_for_its_own_back_off_and_no_rest(world: World) -> None:
    world.deciding = 60.0
    world.executor.conflicts.add(A)
    bell = Bell()
    world.loop.run(bell, AlwaysLeader())
    assert bell.waited == pytest.approx((AFTER_CONFLICT.first, AFTER_CONFLICT.first))


def test_the_back_off_of_a_failed_write_does_not_shorten_the_rest(world: World) -> None:
    """Those of many jobs end at all times: they would leave no rest at all."""
    world.executor.fails[A] = Invalid("refused", 422)
    world.round()
    world.time.seconds += 0.7
    world.deciding = 0.1
    bell = Bell()
    world.loop.run(bell, AlwaysLeader())
    assert bell.waited[1] == pytest.approx(0.4)


def test_a_plan_that_was_cut_goes_on_without_a_rest(world: World) -> None:
    world.deciding = LONGEST_ACT * MAX_DECIDING_FRACTION
    world.executor.seconds = 2 * LONGEST_ACT
    bell = Bell()
    world.loop.run(bell, AlwaysLeader())
    assert bell.waited == (0.0, 0.0)


def test_a_job_that_fails_in_steps_is_logged_with_back_off_and_stops_no_other_job(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    world.odd = [A]
    assert world.round() == 1.0
    world.round()
    assert caplog.text.count("ZeroDivisionError: a bug") == 1
    world.time.seconds += 1.0
    world.round()
    assert caplog.text.count("ZeroDivisionError: a bug") == 2
    assert world.executor.rounds == [[B], [B], [B]]
    assert world.value("edl_failures_total", kind="steps") == 2


def test_a_prepared_shrink_counts_as_no_executed_decision(world: World) -> None:
    world.grows = False
    world.round()
    assert world.value("edl_decisions_total", decision="scaled_up") == 0
