"""Capacity that a write in flight takes is not given to another job."""

import pytest
from msgspec.structs import replace

from edl import contract
from edl.model import ClusterState, Role, TrainingJob
from edl.planner.decide import decide
from edl.planner.decision_limits import Limits
from edl.planner.plan import Admission, NodeAssignment, Plan, Resize, Suspension, WaitingJob
from edl.planner.policies import POLICIES
from edl.steps.plan_steps import steps
from edl.steps.preconditioned_patches import job_patch
from edl.writes import Patch, Step
from reconciler.memory.writes_in_flight import WritesInFlight
from tests.edl.planner.states import at, cluster, node, pod, worker
from tests.reasons import because

ROOM = because("room")


def plan(state: ClusterState) -> Plan:
    return decide(state, POLICIES["fair"], Limits())


def begun(plan: Plan, state: ClusterState) -> WritesInFlight:
    in_flight = WritesInFlight()
    in_flight.replace_by(steps(plan, state).steps, {})
    return in_flight


def test_a_job_whose_start_is_in_flight_keeps_its_capacity_from_one_that_comes_first() -> None:
    state = cluster(node("n", 4), worker("first", 4, 4))
    in_flight = begun(plan(state), state)
    urgent = worker("urgent", 4, 4, priority=9)
    both = cluster(node("n", 4), *state.jobs, urgent)
    assert [entry.job for entry in plan(both).admissions] == [urgent.key]
    assert plan(in_flight.recall(both)).admissions == ()
    in_flight.replace_by((), {})
    assert [entry.job for entry in plan(in_flight.recall(both)).admissions] == [urgent.key]


@pytest.mark.parametrize(
    ("job", "seconds"),
    [
        (worker("slow", 1, 4), 31),
        (worker("slow", 1, 4, on=("n",)), 31),
        (worker("slow", 4, 4), 121),
    ],
    ids=["start", "growth", "gang"],
)
def test_capacity_that_a_write_in_flight_takes_is_kept_however_long_the_write_lasts(
    job: TrainingJob, seconds: int
) -> None:
    """Its pods are not late: they are created after it."""
    state = cluster(node("n", 4), job)
    in_flight = begun(plan(state), state)
    later = cluster(node("n", 4), *state.jobs, worker("other", 3, 3), seconds=seconds)
    decided = plan(in_flight.recall(later))
    assert (decided.admissions, decided.resizes, decided.suspensions) == ((), (), ())


def test_a_pod_whose_node_is_in_flight_keeps_it_however_long_the_write_lasts() -> None:
    waiting = pod(0, gates=(contract.PLACEMENT_GATE,))
    running = worker("a", 1, 1, size=1, suspended=False, gated=True, pods=(waiting,))
    state = cluster(node("n", 4), running)
    assigned = NodeAssignment(running.key, "worker", ((waiting.name, "n"),))
    in_flight = begun(Plan(node_assignments=(assigned,)), state)
    (job,) = in_flight.recall(replace(state, observed_at=at(900))).jobs
    (found,) = job.roles[0].status.pods
    assert found.planned.placed_at == at(900)


def after(job: TrainingJob, decided: Plan) -> TrainingJob:
    """The job as plans see it while the writes of this plan are in flight."""
    state = cluster(node("n", 4), job)
    (found,) = begun(decided, state).recall(state).jobs
    return found


def size(role: Role) -> tuple[int, bool]:
    return role.status.size, role.status.suspended


def test_a_start_in_flight_counts_as_a_start() -> None:
    queued = worker("a", 1, 3)
    started = after(queued, Plan(admissions=(Admission(queued.key, (("worker", 2),), ROOM),)))
    assert size(started.roles[0]) == (2, False)
    assert (started.started_at, started.roles[0].record.resized_at) == (at(0), at(0))


@pytest.mark.parametrize(("wanted", "counted"), [(3, 3), (1, 2)])
def test_growth_in_flight_counts_and_a_smaller_size_does_not_until_it_is_stored(
    wanted: int, counted: int
) -> None:
    running = worker("a", 1, 3, on=("n", "n"))
    resized = Plan(resizes=(Resize(running.key, "worker", 2, wanted, ROOM),))
    assert size(after(running, resized).roles[0]) == (counted, False)


def test_growth_in_flight_counts_whatever_else_of_its_job_is_written() -> None:
    running = worker("a", 1, 3, on=("n", "n"))
    state = cluster(node("n", 4), running)
    growth, *_ = steps(Plan(resizes=(Resize(running.key, "worker", 2, 3, ROOM),)), state).steps
    note = Step(running.key, (job_patch(running.key, running.roles[0], {}, {"a": "b"}),))
    for written in ([growth, note], [note, growth]):
        in_flight = WritesInFlight()
        in_flight.replace_by(written, {})
        (found,) = in_flight.recall(state).jobs
        assert size(found.roles[0]) == (3, False)


def test_a_job_whose_stop_is_in_flight_runs() -> None:
    running = worker("a", 2, 2, on=("n", "n"))
    assert after(running, Plan(suspensions=(Suspension(running.key, ROOM),))) == running


def test_a_job_of_which_only_the_reason_is_in_flight_waits() -> None:
    queued = worker("a", 1, 3)
    assert after(queued, Plan(waiting=(WaitingJob(queued.key, ROOM, 1),))) == queued


def test_a_write_in_flight_says_nothing_about_a_job_that_has_changed_since() -> None:
    """It is stored already, or it will conflict."""
    queued = worker("a", 1, 3)
    state = cluster(node("n", 4), queued)
    in_flight = begun(Plan(admissions=(Admission(queued.key, (("worker", 2),), ROOM),)), state)
    role = queued.roles[0].changed(fingerprint="other", size=1)
    changed = replace(state, jobs=(replace(queued, roles=(role,)),))
    assert in_flight.recall(changed) == changed


def test_the_dry_run_of_a_write_takes_no_capacity() -> None:
    queued = worker("a", 1, 3)
    state = cluster(node("n", 4), queued)
    (step,) = steps(Plan(admissions=(Admission(queued.key, (("worker", 2),), ROOM),)), state).steps
    writes = tuple(
        replace(write, dry_run=True) if isinstance(write, Patch) else write for write in step.writes
    )
    in_flight = WritesInFlight()
    in_flight.replace_by([replace(step, writes=writes)], {})
    assert in_flight.recall(state) == state


def test_the_node_that_a_pod_is_about_to_get_is_taken() -> None:
    waiting = pod(0, gates=(contract.PLACEMENT_GATE,))
    running = worker("a", 1, 1, size=1, suspended=False, gated=True, pods=(waiting,))
    assigned = NodeAssignment(running.key, "worker", ((waiting.name, "n"),))
    (found,) = after(running, Plan(node_assignments=(assigned,))).roles[0].status.pods
    assert (found.planned.node, found.scheduling.gates) == ("n", ())
