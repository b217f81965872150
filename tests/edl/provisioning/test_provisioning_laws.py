"""Laws of asking for nodes: all or none, no more than is missing, and no crash asks twice."""

from collections import Counter
from datetime import timedelta

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from edl import contract
from edl.contract import Provision
from edl.model import ClusterState, JobKey, ProvisionalPod, Provisioning
from edl.planner.decide import decide
from edl.planner.decision_limits import Autoscaler, Limits, ProvisionerSettings
from edl.planner.policies import POLICIES
from edl.steps.plan_steps import steps
from edl.writes import Create, Delete
from tests.edl.planner import clusters
from tests.edl.provisioning.autoscaled_cluster import AutoscaledCluster

FAIR = POLICIES["fair"]
ASKING = Limits(
    autoscaler=Autoscaler.PRESENT, provisioning=ProvisionerSettings(provisioning_parallelism=3)
)


@st.composite
def states(draw: st.DrawFn) -> ClusterState:
    """Queued jobs of which some have asked for nodes already, bound or not."""
    state = draw(clusters.states(runs=clusters.MAX_WAIT))
    names = [node.name for node in state.nodes]
    jobs = []
    for job in state.jobs:
        pods = tuple(
            ProvisionalPod(
                f"{job.key.name}-{role.name}-{number}",
                f"uid-{number}",
                role.name,
                draw(st.sampled_from(["", "", *names])),
                state.observed_at - timedelta(seconds=draw(st.sampled_from([5, 500, 700]))),
                role.template.shape.requests,
            )
            for role in job.roles
            for number in range(draw(st.sampled_from([0, 0, 0, 1, role.spec.min])))
            if role.status.suspended
        )
        wish = draw(st.sampled_from([*Provision]))
        jobs.append(replace(job, provisioning=Provisioning(wish, pods)))
    return replace(state, jobs=tuple(jobs))


@pytest.mark.laws
@settings(max_examples=40)
@given(states())
def test_none_asks_for_more_pods_than_it_is_to_have_and_all_ask_that_may(
    state: ClusterState,
) -> None:
    plan = decide(state, FAIR, ASKING)
    jobs = {job.key: job for job in state.jobs}
    admitted = {one.job for one in plan.admissions}
    for request in plan.requests:
        job = jobs[request.job]
        assert job.suspended or any(node.taints for node in state.nodes)
        assert job.provisioning.provision is not Provision.NEVER
        most = job.provisioning.provision is Provision.MAXIMUM
        roles = {role.name: role for role in job.roles}
        bound = Counter(pod.role for pod in job.provisioning.bound)
        there = Counter(pod.role for pod in job.provisioning.pods)
        for name, pods in request.pods:
            role = roles[name]
            least = min(max(role.spec.min, role.request.replicas or 0), role.spec.max)
            wanted = max(role.spec.max, least) if most else least
            assert pods <= max(wanted + bound[name], there[name])
    begun = [one for one in plan.requests if one.job not in admitted]
    assert len(begun) <= ASKING.provisioning.provisioning_parallelism
    assert not set(plan.unprovisioned) & {one.job for one in plan.requests}


@pytest.mark.laws
@settings(max_examples=40)
@given(states())
def test_without_an_autoscaler_the_plan_is_the_one_without_requests(state: ClusterState) -> None:
    none = decide(state, FAIR, Limits(autoscaler=Autoscaler.NONE))
    assert none.requests == ()
    assert none.unprovisioned == ()
    bare = replace(
        state, jobs=tuple(replace(job, provisioning=Provisioning()) for job in state.jobs)
    )
    assert decide(bare, FAIR, Limits(autoscaler=Autoscaler.NONE)) == decide(bare, FAIR, Limits())


@pytest.mark.laws
@settings(max_examples=40)
@given(states())
def test_what_is_made_and_taken_away_is_a_jobs_own(state: ClusterState) -> None:
    """No pod is made twice in one round, and none that is there already."""
    plan = decide(state, FAIR, ASKING)
    found = steps(plan, state)
    assert found.errors == ()
    writes = [write for step in found.steps for write in step.writes]
    made = [w.target for w in writes if isinstance(w, Create) and w.target.kind == "Pod"]
    gone = [w.target for w in writes if isinstance(w, Delete) and w.target.kind == "Pod"]
    assert len(made) == len(set(made))
    assert not set(made) & set(gone)
    owners = {(job.key.namespace, pod.name) for job in state.jobs for pod in job.provisioning.pods}
    evacuated = {pod for one in plan.drains for pod in one.pods}
    replaced = {pod for one in plan.node_assignments for pod in one.replaced_pods}
    for target in gone:
        known = (target.namespace, target.name) in owners
        assert known or target.name in evacuated | replaced


@pytest.mark.laws
@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.integers(1, 40), max_size=6),
    st.sampled_from(["tensorflow", "horovod"]),
    st.integers(0, 3),
)
@example([10, 14], "horovod", 0)
def test_a_crash_at_any_write_loses_nothing_and_asks_for_nothing_twice(
    crashes: list[int], framework: str, idle: int
) -> None:
    world = AutoscaledCluster(delay=15)
    for number in range(idle):
        world.node(f"n{number}")
    world.gang("first", 6)
    world.gang("second", 4, framework="tensorflow" if framework == "tensorflow" else "pytorch")
    world.settle(120, crashes=iter(sorted(crashes)))
    assert (world.running("first"), world.running("second")) == (6, 4)
    assert world.provisional() == []
    assert world.made <= 5 - idle, "ten pods fill five nodes"


@pytest.mark.slow
def test_a_constant_cluster_is_left_alone() -> None:
    world = AutoscaledCluster(delay=100_000)
    world.node("n1")
    world.gang("gang", 4)
    world.settle(60)
    before = {one["metadata"]["uid"] for one in world.provisional()}
    world.settle(300)
    assert {one["metadata"]["uid"] for one in world.provisional()} == before
    assert len(before) == 4
    assert JobKey("lab", "gang") in {one.job for one in world.plan.requests}
    assert contract.PROVISIONING_FAILED not in world.notes("gang")
