"""Who remembers decides as who does not."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from itertools import count
from random import Random

import pytest
from hypothesis import strategies as st
from msgspec.structs import replace

from edl import reasons
from edl.contract import CleanUp
from edl.feasibility.eligibility import NAME_FIELD
from edl.model import (
    ClusterState,
    Code,
    ConflictingJob,
    JobEnd,
    JobKey,
    ObjectRef,
    Pod,
    PodPhase,
    Quota,
    QuotaCharge,
    Reason,
    Requirement,
    ResizePolicy,
    Taint,
    TrainingJob,
)
from edl.model.nodes import CORDONED
from edl.model.pods import (
    ContainerWait,
    PodContainers,
    PodDeletion,
    SchedulingStatus,
    TrainingRuns,
)
from edl.planner.decide import decide
from edl.planner.decision_limits import Limits
from edl.planner.plan_cache import PlanCache
from edl.planner.policies import POLICIES
from edl.quantities import Resources
from tests.edl.planner.acting import act, quiet
from tests.edl.planner.clusters import states
from tests.edl.planner.states import at, cluster, job, node, pod, role, room, shape, worker
from tests.edl.planner.ways import WAYS, Way, law
from tests.edl.reached import Reached
from tests.roles import changed_pod

pytestmark = pytest.mark.laws

LIMITS = Limits()
FAIR = POLICIES["fair"]
REFUSED = SchedulingStatus(refusal="0/4 nodes are available: 4 Insufficient cpu.")
ALONG = TrainingRuns(at(-3000))
FAILED = TrainingRuns(at(-60), at(-70), at(-3000))
Change = Callable[[ClusterState, Random], ClusterState]


def with_pods(state: ClusterState, random: Random, change: Callable[[Pod], Pod]) -> ClusterState:
    """Some pods of one job changed."""
    if not state.jobs:
        return state
    chosen = random.choice(state.jobs)
    roles = tuple(
        part.changed(
            pods=tuple(change(one) if random.random() < 0.5 else one for one in part.status.pods)
        )
        for part in chosen.roles
    )
    return with_job(state, replace(chosen, roles=roles))


def with_job(state: ClusterState, changed: TrainingJob) -> ClusterState:
    jobs = (changed if one.key == changed.key else one for one in state.jobs)
    return replace(state, jobs=tuple(jobs))


def with_role(state: ClusterState, random: Random, **fields: object) -> ClusterState:
    if not state.jobs:
        return state
    chosen = random.choice(state.jobs)
    first, *others = chosen.roles
    changed = first.changed(**fields)  # type: ignore[arg-type]
    return with_job(state, replace(chosen, roles=(changed, *others)))


def acted(state: ClusterState, random: Random) -> ClusterState:
    """What is the same is the very same value, as whoever observes keeps it."""
    plan = decide(state, FAIR, LIMITS)
    later = act(state, plan, after=timedelta(0), lingering=random.random() < 0.3)
    known = {one.key: one for one in state.jobs}
    nodes = {one.name: one for one in state.nodes}
    return replace(
        later,
        quotas=state.quotas,
        jobs=tuple(known[one.key] if known[one.key] == one else one for one in later.jobs),
        nodes=tuple(nodes[one.name] if nodes[one.name] == one else one for one in later.nodes),
    )


def more_used(state: ClusterState, random: Random) -> ClusterState:
    """Pods of other owners come to a node, or leave it."""
    chosen = random.choice(state.nodes)
    used = random.choice((chosen.used + room(0.5), Resources(), chosen.allocatable))
    changed = replace(chosen, used=used)
    return replace(state, nodes=tuple(changed if one is chosen else one for one in state.nodes))


def pinned(state: ClusterState, random: Random) -> ClusterState:
    """A job's pods are kept to a node."""
    names = (random.choice(state.nodes).name,)
    kept = ((Requirement(NAME_FIELD, "In", names),),)
    return with_role(state, random, shape=replace(shape(), affinity=kept))


def with_quota(state: ClusterState, random: Random) -> ClusterState:
    """A quota on what the jobs count, or none; some begin to count in it."""
    quota = Quota("ns", "quota", "cpu", random.choice((0, 2000, 9000)), random.choice((0, 1000)))
    counted = with_role(state, random, charges=(("quota", "cpu", 1000),))
    return replace(counted, quotas=random.choice(((), (quota,), (quota,))))


def without_a_job(state: ClusterState, random: Random) -> ClusterState:
    kept = [one for one in state.jobs if random.random() < 0.8]
    return replace(state, jobs=tuple(kept))


def with_a_new_job(state: ClusterState, _random: Random) -> ClusterState:
    taken = {one.key.name for one in state.jobs}
    name = next(name for name in map("new-{}".format, count()) if name not in taken)
    return replace(state, jobs=(*state.jobs, worker(name, 1, 3)))


def cordoned(state: ClusterState, random: Random) -> ClusterState:
    taints = random.choice(((), (Taint(CORDONED, "", "NoSchedule"),)))
    chosen = random.choice(state.nodes)
    changed = replace(chosen, taints=taints, cordoned=bool(taints))
    nodes = (changed if one is chosen else one for one in state.nodes)
    return replace(state, nodes=tuple(nodes))


def back(state: ClusterState, _random: Random) -> ClusterState:
    """A node that was gone, or is new."""
    names = {one.name for one in state.nodes}
    name = next(name for name in map("node-{}".format, count()) if name not in names)
    return replace(state, nodes=(*state.nodes, node(name, 4, labels={"zone": "a"})))


CHANGES: tuple[Change, ...] = (
    lambda state, random: replace(
        state, observed_at=state.observed_at + timedelta(seconds=random.choice((0, 1, 7, 31, 400)))
    ),
    acted,
    acted,
    lambda state, random: with_pods(state, random, lambda one: replace(one, ready=not one.ready)),
    lambda state, random: with_pods(state, random, lambda one: replace(one, version="9")),
    lambda state, random: with_pods(state, random, lambda one: replace(one, ready_since=at(-3))),
    lambda state, random: with_pods(state, random, lambda one: replace(one, terminating=True)),
    lambda state, random: with_pods(
        state, random, lambda one: replace(one, phase=PodPhase.FAILED, ready=False)
    ),
    lambda state, random: with_pods(state, random, lambda one: replace(one, node="")),
    lambda state, random: with_pods(state, random, lambda one: replace(one, scheduling=REFUSED)),
    lambda state, random: with_role(state, random, version="9", fingerprint="9", history="grown"),
    lambda state, random: with_role(state, random, replicas=random.choice((None, 1, 3))),
    lambda state, random: with_role(state, random, last=Reason(Code.MANUAL_SIZE), resized_at=at(0)),
    without_a_job,
    with_a_new_job,
    lambda state, _random: replace(state, nodes=state.nodes[1:] or state.nodes),
    lambda state, _random: replace(state, demands=()),
    cordoned,
    back,
    more_used,
    more_used,
    pinned,
    with_quota,
    lambda state, random: with_role(state, random, size=random.choice((1, 2, 5))),
    lambda state, random: with_role(state, random, failures=random.choice((0, 9))),
    lambda state, random: with_role(state, random, ignores=True),
    lambda state, random: with_pods(state, random, lambda one: changed_pod(one, runs=FAILED)),
    lambda state, _random: replace(state, jobs=state.jobs[::-1], nodes=state.nodes[::-1]),
)


@law(
    states(),
    changes=st.lists(st.sampled_from(range(len(CHANGES))), max_size=16),
    seed=st.integers(0, 9),
)
def test_a_memory_changes_nothing_but_the_work(
    reached: Reached, way: Way, state: ClusterState, changes: list[int], seed: int
) -> None:
    random, memory, plans = Random(seed), PlanCache(), []  # noqa: S311 - it only mixes
    for change in (0, *changes):
        state = CHANGES[change](state, random)
        plans.append(decide(state, way.policy, way.limits, memory))
        assert plans[-1] == way.plan(state)
    reached(any(plan.resizes or plan.admissions for plan in plans))


def settled() -> ClusterState:
    """Two jobs that run and one that waits, in a cluster in which nothing is to be done."""
    state = cluster(
        node("n1", 4),
        node("n2", 4),
        worker("one", 1, 6, queued=-900),
        worker("two", 1, 6, queued=-800),
        job("large", role(low=9, high=9, shape=shape(4)), queued=-700),
    )
    for _ in range(8):
        state = act(state, decide(state, FAIR, LIMITS), after=timedelta(minutes=10))
    return state


def changed_pods() -> Iterator[tuple[str, Callable[[Pod], Pod], bool]]:
    yield "of its life only", lambda one: replace(one, version="9", ready_since=at(-1)), True
    yield "answered otherwise", lambda one: replace(one, scheduling=REFUSED), True
    waits = PodContainers(waits=ContainerWait("main", "ErrImagePull"))
    yield "waiting for its image", lambda one: replace(one, containers=waits), True
    yield "not ready", lambda one: replace(one, ready=False), True
    yield "terminating", lambda one: replace(one, terminating=True), False
    yield "elsewhere", lambda one: replace(one, node="n9"), False


@pytest.mark.parametrize(
    ("change", "alike"),
    [found[1:] for found in changed_pods()],
    ids=[found[0] for found in changed_pods()],
)
def test_what_no_plan_is_made_from_asks_for_none(
    change: Callable[[Pod], Pod], *, alike: bool
) -> None:
    state, memory = settled(), PlanCache()
    plan = decide(state, FAIR, LIMITS, memory)
    assert quiet(plan)
    first = state.jobs[0]
    roles = (first.roles[0].changed(pods=tuple(map(change, first.roles[0].status.pods))),)
    later = with_job(state, replace(first, roles=roles))
    assert (memory.get(later, FAIR, LIMITS) is plan) == alike


def test_a_version_of_a_job_that_says_nothing_new_asks_for_no_plan() -> None:
    state, memory = settled(), PlanCache()
    plan = decide(state, FAIR, LIMITS, memory)
    first = state.jobs[0]
    role = first.roles[0].changed(version="9", fingerprint="9", history="grown")
    assert memory.get(with_job(state, replace(first, roles=(role,))), FAIR, LIMITS) is plan


def test_what_stands_around_a_job_asks_for_no_plan() -> None:
    state, memory = settled(), PlanCache()
    plan = decide(state, FAIR, LIMITS, memory)
    around = {ObjectRef("Service", "ns", "one"): "uid"}
    later = with_job(state, replace(state.jobs[0], existing_dependents=around))
    assert memory.get(later, FAIR, LIMITS) is plan


def test_why_a_role_is_missing_is_part_of_a_plan_and_a_copy_is_not() -> None:
    state, memory = settled(), PlanCache()
    lacking = with_job(state, replace(state.jobs[0], missing=("chief",)))
    plan = decide(lacking, FAIR, LIMITS, memory)
    why = reasons.quoted(Code.JOB_CONFLICT, "Job x is left out")
    for fills, kept in (("", True), ("chief", False)):
        other = ConflictingJob(JobKey("ns", "one/x"), "x", "uid-x", why, fills=fills)
        later = with_job(lacking, replace(lacking.jobs[0], conflicting=(other,)))
        assert (memory.get(later, FAIR, LIMITS) is plan) is kept


def test_time_alone_asks_for_a_plan_when_it_is_due() -> None:
    state, memory = settled(), PlanCache()
    first = state.jobs[0]
    roles = (first.roles[0].changed(resized_at=state.observed_at),)
    state = with_job(state, replace(first, roles=roles))
    plan = decide(state, FAIR, LIMITS, memory)
    assert quiet(plan)
    assert plan.recheck_after == LIMITS.growth_cooldown
    almost = replace(state, observed_at=state.observed_at + plan.recheck_after * 0.9)
    recalled = memory.get(almost, FAIR, LIMITS)
    assert recalled == decide(almost, FAIR, LIMITS)
    due = replace(state, observed_at=state.observed_at + plan.recheck_after)
    assert memory.get(due, FAIR, LIMITS) is None


def test_another_policy_or_limit_decides_anew() -> None:
    state, memory = settled(), PlanCache()
    decide(state, FAIR, LIMITS, memory)
    assert memory.get(state, FAIR, LIMITS) is not None
    assert memory.get(state, POLICIES["fifo"], LIMITS) is None
    assert memory.get(state, FAIR, Limits(load_ceiling=0.5)) is None


def test_remaining_pods_of_an_ended_job_count_in_quotas_in_every_plan() -> None:
    """Nobody ends them (clean-up None), and the quota counts them as long as they are there."""
    charges, quota = (QuotaCharge("quota", "pods", 1),), Quota("ns", "quota", "pods", 3)
    done = role("worker", charges=charges, on=["a"], clean_up=CleanUp.NONE)
    done = done.changed(ending=JobEnd.COMPLETE, pods=())
    over = job("over", done, role("ps", 2, 2, on=["a", "a"], charges=charges))
    state = replace(cluster(node("a", 64), over), quotas=(quota,))
    memory = PlanCache()
    decide(state, POLICIES["fair"], Limits(), memory)
    new = worker("new", 2, 2, charges=charges)
    later = replace(cluster(node("a", 64), over, new, seconds=1), quotas=(quota,))
    assert decide(later, POLICIES["fair"], Limits(), memory).admissions == ()


def test_a_node_that_has_just_become_unneeded_is_counted_from_its_record() -> None:
    """Until the record is in the state, each decision counts from its own moment."""
    way, memory = WAYS["needed nodes"], PlanCache()
    state = cluster(node("n1", 4), node("n2", 4), worker("one", 1, 1, on=["n1"]))
    assert decide(state, way.policy, way.limits, memory).unneeded == ("n2",)
    later = replace(state, observed_at=at(31))
    assert decide(later, way.policy, way.limits, memory) == way.plan(later)


def test_a_kept_plan_depends_on_starts_of_containers_where_one_has_failed() -> None:
    """A peer that began shortly before the failure trains with its successor."""
    peers = [pod(0, "n1", runs=runs) for runs in (TrainingRuns(at(-90)), ALONG)]
    failed = pod(1, "n1", ready_since=at(-59), runs=FAILED, restarts=1)
    fields = {"resizing": ResizePolicy.RESTART, "suspended": False, "size": 2}
    late, early = (
        cluster(node("n1", 2), worker("one", 1, 2, pods=(peer, failed), **fields)) for peer in peers
    )
    memory = PlanCache()
    assert quiet(decide(late, FAIR, LIMITS, memory))
    assert memory.get(late, FAIR, LIMITS)
    assert decide(early, FAIR, LIMITS, memory).suspensions


def test_a_kept_plan_depends_on_which_pods_without_an_index_are_being_deleted() -> None:
    """These leave first, so that others stay."""
    pods = tuple(
        replace(pod(-1, name), name=name, ready_since=at(-3000 + number))
        for number, name in enumerate(("n1", "n2"))
    )
    released = (replace(pods[0], deletion=PodDeletion(())), pods[1])
    before, after = (
        cluster(
            node("n1", 1),
            node("n2", 2),
            worker("one", 1, 1, pods=those, suspended=False, size=1, indexed=False),
            worker("two", 1, 1, shape=shape(2)),
        )
        for those in (pods, released)
    )
    memory = PlanCache()
    decide(before, FAIR, LIMITS, memory)
    assert memory.get(before, FAIR, LIMITS)
    assert decide(after, FAIR, LIMITS, memory) == decide(after, FAIR, LIMITS)
    assert decide(after, FAIR, LIMITS) != decide(before, FAIR, LIMITS)
