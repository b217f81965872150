"""A cluster's life: jobs come and end, nodes go, others' pods come and go, users change minds.

After whatever happens the laws hold, and when nothing happens any more everybody gets his turn.
"""

from datetime import timedelta
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)
from msgspec.structs import replace

from edl.model import (
    ClusterState,
    Code,
    EndCondition,
    JobEnd,
    JobKey,
    Node,
    ResizePolicy,
    Role,
    Shape,
    TrainingJob,
)
from edl.planner.decide import allocate
from edl.planner.pass_results import PassResults
from edl.planner.passes.growth import GrowthCeiling
from edl.planner.plan import Plan
from edl.planner.snapshot.take_snapshot import take_snapshot
from edl.quantities import Resources
from tests.edl.packed_draws import packed
from tests.edl.planner.acting import act, quiet
from tests.edl.planner.clusters import jobs, nodes, shapes
from tests.edl.planner.states import NOON, demand, room
from tests.edl.planner.ways import WAYS, Way, scheduled_otherwise, wait

pytestmark = pytest.mark.laws

_JOBS = packed(jobs)
_TIDE = st.sampled_from([2, 15, 40, 400])


class Life(RuleBasedStateMachine):
    """One cluster under one policy; `state` is what an observer would see."""

    way: Way
    names = Bundle("names")

    @initialize(found=packed(nodes)())
    def begin(self, found: list[Node]) -> None:
        self.state = ClusterState(NOON, tuple(found), ())
        self.count = 0
        self.plan = Plan()
        self.ran: set[JobKey] = set()

    @rule(target=names, data=st.data())
    def a_job_comes(self, data: st.DataObject) -> JobKey:
        drawn = data.draw(_JOBS(self.count))
        self.count += 1
        new = replace(drawn, queued_at=self.state.observed_at, paused=False)
        self.state = replace(self.state, jobs=(*self.state.jobs, new))
        return new.key

    @rule(tide=_TIDE, lingering=st.booleans())
    def a_round(self, tide: int, lingering: bool) -> None:  # noqa: FBT001 - hypothesis draws it
        self.plan = self.way.plan(self.state)
        self.check_plan()
        self.become(act(self.state, self.plan, after=timedelta(seconds=tide), lingering=lingering))

    @rule(name=names)
    def it_ends(self, name: JobKey) -> None:
        self.change(name, lambda one: ended(one, self.state) if runs(one) else one)

    @rule(name=names, part=st.sampled_from([0.3, 0.95]))
    def it_tells_its_progress(self, name: JobKey, part: float) -> None:
        self.change(name, lambda one: with_roles(one, progress=part))

    @rule(name=names, wanted=st.none() | st.integers(1, 12))
    def its_user_wants_a_size(self, name: JobKey, wanted: int | None) -> None:
        def sized(one: TrainingJob) -> TrainingJob:
            elastic = any(part.spec.resizing is not ResizePolicy.FIXED for part in one.roles)
            return with_roles(one, replicas=wanted) if elastic else one

        self.change(name, sized)

    @rule(name=names, paused=st.booleans())
    def its_user_pauses_or_resumes_it(self, name: JobKey, paused: bool) -> None:  # noqa: FBT001
        self.change(name, lambda one: replace(one, paused=paused))

    @rule(data=st.data())
    def a_node_is_lost_with_its_pods(self, data: st.DataObject) -> None:
        lost = data.draw(st.sampled_from(self.state.nodes)).name
        left = tuple(one for one in self.state.nodes if one.name != lost)
        if left:
            held = tuple(without_pods_on(one, lost) for one in self.state.jobs)
            self.state = replace(self.state, nodes=left, jobs=held)

    @rule(data=st.data())
    def a_node_is_cordoned_or_opened(self, data: st.DataObject) -> None:
        chosen = data.draw(st.sampled_from(self.state.nodes))
        self.swap(replace(chosen, cordoned=not chosen.cordoned))

    @rule(data=st.data(), cpu=st.sampled_from([1, 3]))
    def pods_of_others_come_or_go(self, data: st.DataObject, cpu: int) -> None:
        chosen = data.draw(st.sampled_from(self.state.nodes))
        others = chosen.used - use(self.state, chosen.name)
        more = chosen.used + room(cpu)
        if others.get("cpu") >= cpu * 1000:
            self.swap(replace(chosen, used=chosen.used - room(cpu)))
        elif all(chosen.allocatable.get(name) >= amount for name, amount in more):
            self.swap(replace(chosen, used=more))

    @rule(wanted=packed(shapes)(), count=st.integers(1, 3), priority=st.integers(0, 3))
    def pods_of_others_ask_for_room(self, wanted: Shape, count: int, priority: int) -> None:
        asking = demand(f"web-{self.count}", wanted, count, priority)
        self.state = replace(self.state, demands=(asking,))

    @rule()
    def nothing_happens_until_all_is_quiet(self) -> None:
        plans = self.settle()
        if not scheduled_otherwise(plans):
            assert quiet(plans[-1])
            assert not any(map(half_started, self.state.jobs))
            later = act(self.state, plans[-1], after=timedelta(hours=1))
            assert quiet(self.way.plan(later))

    @invariant()
    def sizes_are_between_min_and_max_or_it_is_suspended(self) -> None:
        for one in self.state.jobs:
            for part in one.live:
                assert part.status.suspended or part.spec.min <= part.status.size <= part.spec.max

    @invariant()
    def all_roles_run_or_none(self) -> None:
        assert not any(map(half_started, self.state.jobs))

    @invariant()
    def no_node_is_promised_more_than_it_has(self) -> None:
        snapshot = take_snapshot(self.state, self.way.policy, self.way.limits)
        now, soon = snapshot.capacity.idle.copy(), snapshot.capacity.future_idle.copy()
        allocate(snapshot, PassResults(), GrowthCeiling(snapshot))
        assert (snapshot.capacity.idle >= np.minimum(now, 0)).all()
        assert (snapshot.capacity.future_idle >= np.minimum(soon, 0)).all()

    def check_plan(self) -> None:
        plan, known = self.plan, {one.key: one for one in self.state.jobs}
        grows = [found.after > found.before for found in plan.resizes]
        assert grows == sorted(grows), "shrinks first"
        named = [(found.job, found.role) for found in plan.resizes]
        assert len(named) == len(set(named))
        stopped = {found.job for found in plan.suspensions}
        assert not stopped & {found.job for found in plan.resizes}
        assert not stopped & {found.job for found in plan.admissions}
        for found in plan.resizes:
            one = known[found.job]
            part = next(role for role in one.roles if role.name == found.role)
            left_alone = (one.progress or 0) >= self.way.limits.nearly_done
            if left_alone and part.request.replicas is None and part.status.size >= part.spec.min:
                assert found.after < found.before, "nearly finished: it does not grow"
                assert found.reason.code is not self.way.policy.rebalance_code
        for stop in plan.suspensions:
            preempted = stop.reason.code is Code.PREEMPTED
            assert not preempted or self.way.limits.preempt
        mixed = Random(len(named)).sample(self.state.jobs, len(self.state.jobs))  # noqa: S311
        assert self.way.plan(replace(self.state, jobs=tuple(mixed))) == plan

    def settle(self) -> list[Plan]:
        """Until the plan is quiet, nobody else does anything, and time alone changes nothing."""
        plans = []
        for _ in range(60):
            plan = self.way.plan(self.state)
            plans.append(plan)
            before = (self.state.jobs, self.state.demands)
            self.plan = plan
            self.become(act(self.state, plan, after=wait(plan)))
            still = (self.state.jobs, self.state.demands) == before
            if quiet(plan) and plan.recheck_after is None and still:
                break
        return plans

    def become(self, state: ClusterState) -> None:
        """What has come of a plan."""
        self.state = state
        self.ran |= {one.key for one in state.jobs if runs(one)}

    def change(self, name: JobKey, how: object) -> None:
        assert callable(how)
        held = tuple(how(one) if one.key == name else one for one in self.state.jobs)
        self.state = with_use(self.state, held)

    def swap(self, node: Node) -> None:
        found = tuple(node if one.name == node.name else one for one in self.state.nodes)
        self.state = replace(self.state, nodes=found)

    def teardown(self) -> None:
        """Nobody starves: whoever fits an empty cluster has its turn when the others have ended."""
        if not hasattr(self, "state"):
            return
        self.state = replace(self.state, demands=())
        for one in self.state.jobs:
            self.change(one.key, lambda one: replace(one, paused=False))
        for _ in range(len(self.state.jobs) + 1):
            plans = self.settle()
            if scheduled_otherwise(plans):
                return
            for one in self.state.jobs:
                if runs(one):
                    self.change(one.key, lambda one: ended(one, self.state))
        left = [one.key for one in self.state.jobs if one.live and one.key not in self.ran]
        told = {found.job: found.reason for found in self.way.plan(self.state).waiting}
        for key in left:
            assert told[key].code in (Code.NEVER_FITS, Code.NO_ELIGIBLE_NODE), told[key]


def runs(one: TrainingJob) -> bool:
    return bool(one.live) and not any(part.status.suspended for part in one.live)


def half_started(one: TrainingJob) -> bool:
    return len({part.status.suspended for part in one.live}) > 1


def with_roles(one: TrainingJob, **fields: Any) -> TrainingJob:  # noqa: ANN401 - the builder's fields
    parts = tuple(
        part.changed(**fields)
        if part.spec.resizing is not ResizePolicy.FIXED or "replicas" not in fields
        else part
        for part in one.roles
    )
    return replace(one, roles=parts)


def ended(one: TrainingJob, state: ClusterState) -> TrainingJob:
    parts = (
        part.changed(ending=JobEnd.COMPLETE, end_condition=EndCondition(state.observed_at), pods=())
        for part in one.roles
    )
    return replace(one, roles=tuple(parts))


def without_pods_on(one: TrainingJob, lost: str) -> TrainingJob:
    def left(part: Role) -> Role:
        return part.changed(pods=tuple(pod for pod in part.status.pods if pod.node != lost))

    return replace(one, roles=tuple(left(part) for part in one.roles))


def use(state: ClusterState, name: str) -> Resources:
    """What pods of training jobs hold on a node."""
    total = Resources()
    for one in state.jobs:
        for part in one.roles:
            here = sum(pod.node == name and not pod.ended for pod in part.status.pods)
            total += part.template.shape.requests * here
    return total


def with_use(state: ClusterState, held: tuple[TrainingJob, ...]) -> ClusterState:
    """The state with these jobs, and their nodes as full as they make them."""
    after = replace(state, jobs=held)
    found = tuple(
        replace(one, used=one.used - use(state, one.name) + use(after, one.name))
        for one in state.nodes
    )
    return replace(after, nodes=found)


@pytest.mark.parametrize("name", WAYS)
def test_laws_hold_through_a_clusters_life(name: str) -> None:
    class LifeUnder(Life):
        way = WAYS[name]

    run_state_machine_as_test(
        LifeUnder,
        settings=settings(max_examples=15, stateful_step_count=25, deadline=None),
    )
