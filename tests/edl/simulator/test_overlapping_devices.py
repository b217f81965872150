"""Simulated pods take devices that several DeviceClasses choose."""

from msgspec.structs import replace

from edl.model import ClaimedDevices
from edl.planner.decision_limits import Limits
from edl.quantities import DEVICE_CLASS, Resources
from edl.simulator import (
    Result,
    Scenario,
    Simulation,
    Training,
    Watcher,
    WorkloadRole,
    from_state,
    simulate,
)
from tests.edl.simulator.worlds import FAIR, node, shape, training, world

ANY, BIG = f"{DEVICE_CLASS}gpu.example.com", f"{DEVICE_CLASS}big.example.com"


def needing(name: str, low: int, high: int, *names: str, at: float = 0) -> Training:
    plain = shape()
    needs = replace(plain, requests=plain.requests + Resources.of(dict.fromkeys(names, 1)))
    return training(name, low, high, 1e6, roles=[WorkloadRole("worker", low, high, needs)], at=at)


def given() -> Scenario:
    """A job of any devices on a node of four big ones, and later one of two big devices."""
    plain, four = node("a", 99), Resources.of({ANY: 4, BIG: 4})
    kinds = ClaimedDevices(kinds=((BIG, ANY),))
    offers = replace(plain, allocatable=plain.allocatable + four, claimed=kinds)
    return world(offers, needing("any", 1, 9, ANY), needing("big", 2, 2, ANY, BIG, at=60))


def size_of_big(result: Result) -> int:
    return next(job.track.size.at(900) for job in result.jobs if job.key.name == "big")


def test_a_job_gets_devices_that_extras_of_another_class_held() -> None:
    simulation = Simulation(given(), FAIR, Watcher())
    simulation.run(50)
    assert simulation.state().nodes[0].used.get(BIG) == 4
    simulation.run(900)
    assert size_of_big(simulation.result()) == 2
    assert simulation.state().nodes[0].used.get(BIG) == 4


def test_devices_that_observed_pods_hold_are_freed_in_a_simulation() -> None:
    simulation = Simulation(given(), FAIR, Watcher())
    simulation.run(50)
    state = simulation.state()
    (only,), (role,) = state.nodes, state.jobs[0].roles
    space, one = state.jobs[0].key.namespace, Resources.of({ANY: 1, BIG: 1})
    held = {(space, pod.name): one for pod in role.status.pods}
    seen = replace(state, nodes=(replace(only, claimed=replace(only.claimed, held=held)),))
    again = from_state(seen, Limits())
    assert (again.nodes[0].used, again.nodes[0].claimed.held) == (Resources(), {})
    more = (*again.trainings, needing("big", 2, 2, ANY, BIG))
    assert size_of_big(simulate(replace(again, trainings=more), FAIR, 900)) == 2
