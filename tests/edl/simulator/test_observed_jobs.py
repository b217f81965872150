"""Observed jobs whose status the Job controller and the reconciler would change next."""

from msgspec.structs import replace

from edl.model import Code, JobEnd, PodPhase, ResizePolicy, TrainingJob
from edl.planner.decision_limits import Limits
from edl.planner.policies import POLICIES
from edl.simulator import Elastic, Result, Simulation, Watcher, from_state, simulate
from edl.simulator.cluster.simulated_role import SimulatedRole
from tests.edl.planner.states import NOON, at, cluster, job, node, pod, role, worker
from tests.edl.simulator.worlds import FAIR


def simulated(*jobs: TrainingJob, policy: str = "fair") -> Result:
    limits = Limits(load_ceiling=1)
    scenario = from_state(cluster(node("a", 4), *jobs), limits)
    return simulate(scenario, Elastic(POLICIES[policy], limits), 2000)


def test_a_running_job_whose_pods_have_no_gate_restarts_at_its_new_size() -> None:
    """Its template is written once its Jobs are suspended and have no active pods."""
    observed = worker("mnist", 1, 4, on=["a"], settled=False, started_at=at(-3000))
    ungated = tuple(
        found.changed(resizing=ResizePolicy.RESTART, gated=False) for found in observed.roles
    )
    (found,) = simulated(replace(observed, roles=ungated)).jobs
    assert (found.track.stops, found.track.sizes) == (1, {"worker": 4})


def test_a_job_that_was_just_resumed_gets_extras_of_others() -> None:
    """After some patience, which counts from the time that the reconciler is yet to record."""
    mine = worker("mnist", 1, 1, reason=Code.PAUSED)
    assert mine.just_resumed
    result = simulated(mine, worker("other", 1, 4, on=["a"] * 4), policy="throughput")
    started = {found.key.name: found.track.started for found in result.jobs}
    assert (started["mnist"] or 0) >= 30


def test_ranks_that_have_ended_get_no_pod() -> None:
    """Index 0 has ended and its pod is gone, index 1 has its pod still."""
    done = pod(1, "a", phase=PodPhase.SUCCEEDED)
    ended = role("worker", 1, 4, size=4, suspended=False, finished_indexes=frozenset({0}))
    part = SimulatedRole(role=ended, pods={"done": done})
    assert part.missing() == [2, 3]
    part.make(2, NOON)
    assert (part.count.live, part.count.done) == (1, 2)


def test_a_rank_must_be_ready_besides_those_that_have_ended() -> None:
    """Its minimum of one has ended, and so three pods more are bound and start."""
    (found,) = simulated(worker("mnist", 1, 4, size=4, finished_indexes=frozenset({0}))).jobs
    assert (found.track.placed, found.track.running) == (0, 5)
    ended = {"suspended": False, "finished_indexes": frozenset({0}), "started_at": at(-900)}
    mine = worker("mnist", 1, 4, size=2, pods=(pod(1),), **ended)
    (found, _) = simulated(mine, worker("other", 4, 4, on=["a"] * 4)).jobs
    assert (found.track.placed, found.track.running) == (None, None)


def test_a_role_that_is_ended_by_a_deadline_leaves_its_nodes() -> None:
    """The API server refuses 0/0 for a Job with a successPolicy."""
    worker_role = role("worker", 1, 4, on=["a"], is_leader=False, has_success_policy=True)
    chief = role("chief", on=["a"], ending=JobEnd.COMPLETE, pods=())
    mine = job("mnist", chief, worker_role)
    simulation = Simulation(from_state(cluster(node("a", 4), mine), Limits()), FAIR, Watcher())
    simulation.run(100)
    assert simulation.state().jobs == ()
    assert simulation.state().nodes[0].used.get("cpu") == 0


def test_a_job_past_its_deadline_waits_no_longer() -> None:
    (found,) = simulated(worker("mnist", 1, 4, on=["a"], deadline_passed=True)).jobs
    assert found.track.ended == 0
