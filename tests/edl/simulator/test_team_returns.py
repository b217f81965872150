"""What borrowers give to the owner of a guarantee serves the owner: none of it returns to them."""

from typing import NamedTuple

import pytest
from hypothesis import example
from hypothesis import strategies as st
from msgspec.structs import replace

from edl.model import ClusterState, JobKey, Reason, Teams
from edl.model.causes.reason_subjects import Minimum, Other
from edl.planner.plan import Plan
from edl.simulator import (
    Scenario,
    Timing,
    Training,
    Watcher,
    Work,
    Workload,
    WorkloadRole,
    queued,
    simulate,
)
from edl.simulator.scenario import START
from tests.edl.packed_draws import Draw, packed
from tests.edl.planner.teams import team
from tests.edl.reached import drawn
from tests.edl.simulator.worlds import FAIR, nodes, shape

NEVER = 1e9
"""Seconds of work that no test sees the end of."""
OWNER, ARRIVAL = JobKey("speech", "sp"), 100.0


def training(key: JobKey, kind: Workload, low: int, high: int) -> Training:
    items = 9999 if kind.framework == "none" else None
    job = queued(key.name, kind, [WorkloadRole("worker", low, high, shape())], items=items)
    return Training(replace(job, key=key), Work(NEVER))


def borrowed(kind: Workload, *shut_downs: float, least: int = 20, most: int = 30) -> Scenario:
    """20 nodes with 80 CPU, all borrowed when a job of their owner arrives.

    `shut_downs`: the seconds in which the pods of each borrower terminate.
    """
    items, equal = Workload("none"), 80 // len(shut_downs)
    borrowers = (
        replace(training(JobKey("vision", f"big-{number}"), items, 1, equal), shut_down=seconds)
        for number, seconds in enumerate(shut_downs)
    )
    owner = replace(training(OWNER, kind, least, most), at=ARRIVAL)
    teams = Teams.of([team("vision", 40), team("speech", 30)])
    names = {name: name for name in ("vision", "speech")}
    return Scenario(
        nodes=nodes(20),
        trainings=(*borrowers, owner),
        settings=Timing(start_up=2),
        around=ClusterState(START, (), (), teams=teams, namespace_teams=names),
    )


class Returned(NamedTuple):
    """What borrowers scaled down by for the owner, and the owner's sizes."""

    given: int
    sizes: list[int]


def returned(world: Scenario, until: float) -> Returned:
    given, found = list[int](), [0]

    def decided(_now: float, state: ClusterState, plan: Plan) -> None:
        for role in (role for job in state.jobs if job.key == OWNER for role in job.roles):
            size = 0 if role.status.suspended else role.status.size
            found.extend([size] if found[-1] != size else [])
        smaller = (one for one in plan.resizes if one.after < one.before)
        given.extend(one.before - one.after for one in smaller if _is_for_owner(one.reason))

    simulate(world, FAIR, until, Watcher(decided=decided))
    return Returned(sum(given), found)


def _is_for_owner(reason: Reason) -> bool:
    match reason.about:
        case Other(job) | Minimum(job):
            return job == OWNER
    return False


KINDS = [Workload("pytorch"), Workload("tensorflow", "collective")]


@pytest.mark.parametrize("kind", KINDS)
def test_a_job_that_rests_for_long_takes_in_one_step_all_that_is_given_to_it(
    kind: Workload,
) -> None:
    """The first node to be idle starts no cooldown, in which borrowers retake the others."""
    found = returned(borrowed(kind, 2, 5, 8, 11), until=900)
    assert [size for size in found.sizes if size] == [20, 30]
    assert found.given == 30


@packed
def terminations(draw: Draw) -> list[float]:
    """In how many seconds the pods of each borrower terminate."""
    return [draw.between(0, 50) for _ in range(draw.one_of(2, 4, 5))]


@pytest.mark.laws
@example(kind=KINDS[1], shut_downs=[35, 35, 0, 0], least=10, most=35)
@example(kind=KINDS[0], shut_downs=[50, 45, 48, 12], least=10, most=36)
@drawn(
    examples=30,
    kind=st.sampled_from(KINDS),
    shut_downs=terminations(),
    least=st.sampled_from([10, 20]),
    most=st.integers(30, 40),
)
def test_borrowers_give_an_owner_no_more_than_it_grows_by(
    kind: Workload, shut_downs: list[float], least: int, most: int
) -> None:
    """They are equal, so that they give alike, and no replica moves between them.

    With 35 CPU, 5 of them lent, its team uses as much beyond its guarantee as theirs.
    """
    found = returned(borrowed(kind, *shut_downs, least=least, most=most), until=1800)
    assert found.given == found.sizes[-1] == min(most, 35)
