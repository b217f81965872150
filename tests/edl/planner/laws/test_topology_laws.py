"""Laws of jobs that require or prefer domains, in every cluster."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from random import Random

import pytest
from hypothesis import strategies as st
from msgspec.structs import replace

from edl.model import ClusterState, Node, Topology, TrainingJob
from tests.edl.packed_draws import Draw, packed
from tests.edl.planner.acting import act
from tests.edl.planner.clusters import MOST_WAIT, ROOMY, states
from tests.edl.planner.ways import Way, law
from tests.edl.reached import Reached

pytestmark = pytest.mark.laws

RACK, HOST = "rack", "host"
REQUIRED = (
    Topology(required=(("", RACK),)),
    Topology(required=(("", RACK),), preferred=(HOST,)),
    Topology(required=(("", HOST),)),
    Topology(required=(("worker", RACK),)),
    Topology(required=(("", RACK), ("worker", HOST))),
)
PREFERRED = (Topology(preferred=(RACK,)), Topology(preferred=(RACK, HOST)))
ROUNDS = 6


_RACKS: tuple[dict[str, str], ...] = ({RACK: "r1"}, {RACK: "r2"}, {RACK: "r2"}, {})


@packed
def racks(
    draw: Draw, topologies: Sequence[Topology] = (*REQUIRED, *PREFERRED, Topology())
) -> ClusterState:
    """Some nodes have a rack; a job that runs requires what its pods keep to."""
    state = draw.of(states(runs=MOST_WAIT, spare=ROOMY))
    nodes = tuple(
        replace(one, labels={**(one.labels or {}), HOST: one.name, **rack})
        for one in state.nodes
        for rack in [draw.one_of(*_RACKS)]
    )
    named = {one.name: one for one in nodes}
    jobs = []
    for one in state.jobs:
        topology = draw.one_of(*topologies)
        asks = replace(
            one, roles=tuple(part.changed(gated=True, topology=topology) for part in one.roles)
        )
        jobs.append(one if list(torn(asks, named)) else asks)
    return replace(state, nodes=nodes, jobs=tuple(jobs))


def torn(job: TrainingJob, nodes: dict[str, Node]) -> Iterator[str]:
    """What a job requires and its pods do not keep to."""
    for role, label in job.topology.required:
        parts = [part for part in job.roles if role in ("", part.name)]
        on = [
            pod.node or pod.planned.node for part in parts for pod in part.status.pods if pod.active
        ]
        values = {(nodes[name].labels or {}).get(label) for name in on if name in nodes}
        if len(values) > 1 or None in values:
            yield f"{job.key}: {role} requires {label}, and is in {values}"


@law(racks(REQUIRED))
def test_pods_stay_in_the_domain_that_is_required(
    reached: Reached, way: Way, state: ClusterState
) -> None:
    nodes = {one.name: one for one in state.nodes}
    asked = False
    for _ in range(ROUNDS):
        plan = way.plan(state)
        required = {job.key for job in state.jobs if job.topology.required}
        asked = asked or any(
            key in required
            for key in (
                *(one.job for one in plan.admissions),
                *(one.job for one in plan.node_assignments),
            )
        )
        state = act(state, plan, after=timedelta(seconds=30), spreading=True)
        assert [text for job in state.jobs for text in torn(job, nodes)] == []
    reached(asked)


@law(racks(), seed=st.integers())
def test_the_order_of_the_input_does_not_matter(
    reached: Reached, way: Way, state: ClusterState, seed: int
) -> None:
    random = Random(seed)  # noqa: S311 - it only mixes
    mixed = replace(
        state,
        nodes=tuple(random.sample(state.nodes, len(state.nodes))),
        jobs=tuple(random.sample(state.jobs, len(state.jobs))),
    )
    plan = way.plan(state)
    reached(any(job.topology for job in state.jobs) and (plan.resizes or plan.admissions))
    assert way.plan(mixed) == plan


@law(racks(PREFERRED))
def test_what_is_preferred_keeps_no_job_from_starting(
    reached: Reached, way: Way, state: ClusterState
) -> None:
    """The first in the queue starts with a preferred topology where it starts without one."""
    plain = replace(
        state,
        jobs=tuple(
            replace(job, roles=tuple(part.changed(topology=Topology()) for part in job.roles))
            for job in state.jobs
        ),
    )
    started = way.plan(plain).admissions[:1]
    reached(started)
    assert [one.job for one in way.plan(state).admissions[:1]] == [one.job for one in started]
