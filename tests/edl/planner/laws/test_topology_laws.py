"""Laws of jobs that require or prefer domains, in every cluster."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import takewhile
from random import Random

import pytest
from hypothesis import example
from hypothesis import strategies as st
from msgspec.structs import replace

from edl.model import ClusterState, Code, Node, ResizePolicy, Topology, TrainingJob
from edl.model.jobs import queue_order
from tests.edl.packed_draws import Draw, packed
from tests.edl.planner.acting import act
from tests.edl.planner.clusters import MAX_WAIT, ROOMY, states
from tests.edl.planner.states import cluster, job, node, role, shape, worker
from tests.edl.planner.ways import WAYS, Way, law
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
    state = draw.of(states(runs=MAX_WAIT, spare=ROOMY))
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
    for name, label in job.topology.required:
        parts = [part for part in job.roles if name in ("", part.name)]
        on = [
            pod.node or pod.planned.node for part in parts for pod in part.status.pods if pod.active
        ]
        values = {(nodes[name].labels or {}).get(label) for name in on if name in nodes}
        if len(values) > 1 or None in values:
            yield f"{job.key}: {name} requires {label}, and is in {values}"


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


def behind_the_first() -> ClusterState:
    """The first gang takes extras on node-1 if it prefers one host, and needs no GPU.

    Without topology it takes those on node-0, and the second gang starts on node-1.
    """
    half, near = shape(0.5), {"gated": True, "topology": Topology(preferred=(RACK,))}
    ps = role("ps", 2, 6, on=["node-0"] * 2 + ["node-1", "node-0", "node-1"], shape=half, **near)
    ps = ps.changed(resizing=ResizePolicy.LIVE)
    others = role("worker", 1, 9, on=["node-0"] * 3, shape=half, **near)
    both = near | {"topology": Topology(preferred=(RACK, HOST))}
    return cluster(
        node("node-0", 6, labels={RACK: "r1", HOST: "node-0"}),
        node("node-1", 2, gpu=1, labels={RACK: "r1", HOST: "node-1"}),
        worker("job-1", 1, 9, on=["node-0"] * 4, shape=half, queued=0, **near),
        job("job-3", ps, others, queued=0),
        worker("job-0", 1, 9, shape=shape(2), queued=0, **both),
        worker("job-2", 1, 9, shape=shape(0.5, gpu=1), queued=0, **near),
    )


@example(way=WAYS["fair"], state=behind_the_first())
@law(racks(PREFERRED))
def test_what_is_preferred_keeps_no_job_from_starting(
    reached: Reached, way: Way, state: ClusterState
) -> None:
    """The first to start does so with a preferred topology as well.

    Unless a job before it waits for extras, which it may get in another domain.
    """
    plain = replace(
        state,
        jobs=tuple(
            replace(job, roles=tuple(part.changed(topology=Topology()) for part in job.roles))
            for job in state.jobs
        ),
    )
    plan, order = way.plan(plain), sorted(plain.jobs, key=queue_order)
    waiting = {one.job for one in plan.waiting if one.reason.code is Code.PODS_TERMINATING}
    first = [one.job for one in plan.admissions[:1]]
    ahead = {one.key for one in takewhile(lambda one: one.key not in first, order)}
    starts = first if waiting.isdisjoint(ahead) else []
    reached(starts)
    assert not starts or starts == [one.job for one in way.plan(state).admissions[:1]]
