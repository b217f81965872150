"""Growth in one step beside pods that never end: how long a role has waited is known there, too."""

import pytest

from edl.model import ClusterState
from edl.planner.decision_limits import Limits
from edl.planner.growth_waits import GrowthWaits
from edl.planner.plan import Plan
from edl.simulator import Scenario, Service, Simulation, Timing, Watcher, from_state, simulate
from tests.edl.simulator.worlds import FAIR, node, shape, training, world

ENDED, COOLDOWN = 100, 60
"""The second in which other owners' pods are deleted, and how long a job under torchrun rests."""


def scenario() -> Scenario:
    """A job takes 2 of 8 CPU; 3 of the others are idle at second 100, 3 terminate for ever."""
    web = Service("web", shape(), ((0, 3), (ENDED, 0)), priority=9)
    endless = Service("endless", shape(), ((0, 3), (ENDED, 0)), priority=9, shut_down=1e9)
    job = training("mine", 2, 8, 1e9)
    return world(node("a", 8), web, endless, job, settings=Timing(start_up=1, shut_down=0))


def test_a_simulated_job_waits_for_pods_that_never_end_no_longer_than_it_would_rest() -> None:
    grown: list[float] = []

    def decided(now: float, _state: ClusterState, plan: Plan) -> None:
        grown.extend(now for one in plan.resizes if one.after > one.before)

    simulate(scenario(), FAIR, 1000, Watcher(decided=decided))
    assert grown == [pytest.approx(ENDED + COOLDOWN, abs=2)]


def test_a_forecast_knows_no_wait_of_the_leader() -> None:
    """It would count for all later growth of the simulated role."""
    simulation, memory = Simulation(scenario(), FAIR, Watcher()), GrowthWaits()
    simulation.run(ENDED + 10)
    state = simulation.state()
    memory.note(Plan(growth_waits=((state.jobs[0].key, "worker"),)), state)
    observed = memory.recall(state)
    jobs = [*observed.jobs, *(one.job for one in from_state(observed, Limits()).trainings)]
    waits = [role.growth_awaited_since for job in jobs for role in job.roles]
    assert waits == [state.observed_at, None]
