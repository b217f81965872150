"""A device counts in each DeviceClass that chooses it; the plan knows what a pod's devices free."""

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import timedelta

import pytest
from msgspec.structs import replace

from edl.model import (
    ClaimedDevices,
    ClusterState,
    JobKey,
    Node,
    Reclaim,
    Shape,
    Team,
    TrainingJob,
)
from edl.planner.decide import run_passes
from edl.planner.decision_limits import Limits
from edl.planner.passes.displacement import Displacement
from edl.planner.policies import POLICIES
from edl.planner.snapshot.take_snapshot import take_snapshot
from edl.quantities import DEVICE_CLASS, Resources
from edl.visibility.borrowed_capacity import job_capacity
from edl.visibility.usage_by_team import team_balance
from tests.edl.planner.plans import ALL, plan_for, sizes, started, told
from tests.edl.planner.states import cluster, demand, node, shape, worker
from tests.edl.planner.teams import with_teams

ANY, BIG, OLD = (f"{DEVICE_CLASS}{name}.example.com" for name in ("gpu", "big", "old"))
SMALL_DEVICE, BIG_DEVICE = (ANY,), (BIG, ANY)
"""The resources in which a device counts."""


def needs(*names: str, count: int = 1, **labels: str) -> Shape:
    """Pods of one or more devices; all devices of the other classes are of class ANY."""
    plain = shape(0.1, node_selector=tuple(labels.items()))
    wanted = Resources.of(dict.fromkeys(names, count))
    implied = Resources.of({ANY: count} if ANY not in names else {})
    return replace(plain, requests=plain.requests + wanted, implied=implied)


def devices(name: str, *found: Sequence[str], others: Iterable[int] = (), **fields: str) -> Node:
    """A node with these devices; pods of other owners hold those at these positions."""
    plain = node(name, labels={"name": name, **fields})
    used = Resources.of(Counter(one for at in others for one in found[at]))
    return replace(
        plain,
        allocatable=plain.allocatable
        + Resources.of(Counter(one for each in found for one in each)),
        used=used,
        claimed=ClaimedDevices(kinds=tuple(sorted({tuple(sorted(one)) for one in found}))),
    )


def holding(state: ClusterState, **held: Sequence[str]) -> ClusterState:
    """The state in which bound pods hold other devices than they request: by node and pod."""
    nodes = []
    for one in state.nodes:
        pods = {}
        used = one.used
        for job in state.jobs:
            for part in job.roles:
                requests = {
                    n: a for n, a in part.template.shape.requests if n.startswith(DEVICE_CLASS)
                }
                for each in part.status.pods:
                    found = held.get(f"{job.key.name}_{each.index}")
                    if each.node == one.name and found is not None:
                        own = Resources.of(Counter(found))
                        pods[job.key.namespace, each.name] = own
                        used = used - Resources.of(requests) + own
        nodes.append(replace(one, used=used, claimed=replace(one.claimed, held=pods)))
    return replace(state, nodes=tuple(nodes))


def named(job: TrainingJob) -> TrainingJob:
    """The job with pods of its own name."""
    (part,) = job.roles
    pods = tuple(replace(one, name=f"{job.key.name}-{one.index}") for one in part.status.pods)
    return replace(job, roles=(part.changed(pods=pods),))


def full(priority: int = 0, low: int = 1) -> ClusterState:
    """A node of four small devices and one of four big ones, all held by a job; a job waits."""
    grows = named(worker("grows", low, 20, on=["b"] * 4 + ["a"] * 4, shape=needs(ANY)))
    waits = worker("waits", 2, 2, shape=needs(BIG), priority=priority, queued=-60)
    nodes = devices("a", *[BIG_DEVICE] * 4), devices("b", *[SMALL_DEVICE] * 4)
    held = {f"grows_{at}": BIG_DEVICE if at > 3 else SMALL_DEVICE for at in range(8)}
    return holding(cluster(*nodes, grows, waits), **held)


@pytest.mark.parametrize("priority", [0, 1000])
def test_extras_yield_to_a_job_whose_class_chooses_their_devices(priority: int) -> None:
    plan = plan_for(full(priority))
    assert sizes(plan) == {"grows": 6}
    assert "even if no training job ran" not in told(plan)["waits"]


def test_extras_yield_to_a_pending_pod_whose_class_chooses_their_devices() -> None:
    state = full()
    state = replace(state, jobs=state.jobs[:1], demands=(demand("pod", needs(BIG)),))
    assert sizes(plan_for(state)) == {"grows": 7}


def test_a_job_of_lower_priority_is_stopped_for_one_whose_class_chooses_its_devices() -> None:
    plan = plan_for(full(1000, low=8), replace(ALL, preempt=True))
    assert [one.job.name for one in plan.suspensions] == ["grows"]


def mixed(*held: Sequence[str]) -> ClusterState:
    """A node with two big and two small devices, which four pods of a job hold; a job waits."""
    grows = named(worker("grows", 1, 20, on=["a"] * 4, shape=needs(ANY)))
    waits = worker("waits", 1, 1, shape=needs(BIG), queued=-60)
    state = cluster(devices("a", *[BIG_DEVICE] * 2, *[SMALL_DEVICE] * 2), grows, waits)
    return holding(state, **{f"grows_{at}": found for at, found in enumerate(held)})


@pytest.mark.parametrize(
    ("held", "left"),
    [
        ([SMALL_DEVICE, SMALL_DEVICE, BIG_DEVICE, BIG_DEVICE], 3),
        ([SMALL_DEVICE, BIG_DEVICE, BIG_DEVICE, SMALL_DEVICE], 2),
        ([BIG_DEVICE, BIG_DEVICE, SMALL_DEVICE, SMALL_DEVICE], 1),
    ],
)
def test_a_pod_frees_what_its_devices_count_as(held: list[Sequence[str]], left: int) -> None:
    """The last one leaves first; what it holds may not suffice."""
    assert sizes(plan_for(mixed(*held))) == {"grows": left}


def test_extras_stay_where_they_would_free_too_little() -> None:
    """The pod of the minimum holds the only big device."""
    grows = named(worker("grows", 1, 20, on=["a"] * 3, shape=needs(ANY)))
    waits = worker("waits", 1, 1, shape=needs(BIG), queued=-60)
    state = cluster(devices("a", BIG_DEVICE, *[SMALL_DEVICE] * 2), grows, waits)
    held = {"grows_0": BIG_DEVICE, "grows_1": SMALL_DEVICE, "grows_2": SMALL_DEVICE}
    plan = plan_for(holding(state, **held))
    assert sizes(plan) == {}
    assert "even if no training job ran" not in told(plan)["waits"]


def test_devices_of_others_stay_held() -> None:
    waits = worker("waits", 1, 1, shape=needs(BIG))
    state = cluster(devices("a", BIG_DEVICE, SMALL_DEVICE, others=[0]), waits)
    assert "even if no training job ran" in told(plan_for(state))["waits"]


def test_a_new_pod_may_get_any_device_that_matches() -> None:
    """Which one is kube-scheduler's choice, so a later pod cannot count on the big one."""
    first = worker("first", 1, 1, shape=needs(ANY), queued=-90)
    second = worker("second", 1, 1, shape=needs(BIG), queued=-60)
    state = cluster(devices("a", BIG_DEVICE, SMALL_DEVICE), first, second)
    plan = plan_for(state)
    assert started(plan).keys() == {"first"}
    assert "Insufficient devices of DeviceClass big" in told(plan)["second"]
    later = replace(first, queued_at=second.queued_at + timedelta(seconds=9))
    assert started(plan_for(replace(state, jobs=(second, later)))).keys() == {"second"}


def test_alike_devices_are_shared_exactly() -> None:
    first = worker("first", 2, 2, shape=needs(ANY), queued=-90)
    second = worker("second", 2, 2, shape=needs(BIG), queued=-60)
    state = cluster(devices("a", *[BIG_DEVICE] * 4), first, second)
    assert started(plan_for(state)).keys() == {"first", "second"}
    third = worker("third", 1, 1, shape=needs(ANY), queued=-30)
    assert "third" not in started(plan_for(replace(state, jobs=(*state.jobs, third))))


def test_classes_that_overlap_on_some_nodes_only() -> None:
    """OLD and BIG share the devices of node a, although neither contains the other."""
    nodes = devices("a", (BIG, OLD)), devices("b", (BIG,)), devices("c", (OLD,))
    first = worker("first", 1, 1, shape=needs(BIG, name="a"), queued=-90)
    second = worker("second", 1, 1, shape=needs(OLD, name="a"), queued=-60)
    plan = plan_for(cluster(*nodes, first, second))
    assert started(plan).keys() == {"first"}
    assert "Insufficient devices of DeviceClass old" in told(plan)["second"]


def test_a_pod_displaces_pods_whose_class_chooses_the_same_devices() -> None:
    state = cluster(devices("a", (BIG, OLD)), worker("w", 1, 1, shape=needs(OLD, BIG)))
    snapshot = take_snapshot(state, POLICIES["fair"], Limits())
    classes = snapshot.pod_class
    cost = Displacement(snapshot).cost
    assert cost(classes(needs(BIG)), classes(needs(OLD, count=2))) == 2


def test_a_pod_with_two_requests_takes_at_most_its_devices_of_each_kind() -> None:
    state = cluster(
        devices("a", BIG_DEVICE, BIG_DEVICE, SMALL_DEVICE), worker("w", 1, 1, shape=needs(BIG))
    )
    snapshot = take_snapshot(state, POLICIES["fair"], Limits())
    pair = snapshot.pod_class(replace(shape(0.1), requests=Resources.of({ANY: 2, BIG: 1})))
    rows = {name: row for row, name in enumerate(snapshot.capacity.resources)}
    assert {row: amounts.tolist() for row, amounts in pair.beside.items()} == {rows[BIG]: [1]}


# -- teams -----------------------------------------------------------------------------------------


def in_teams(state: ClusterState, owed: dict[str, int], others: dict[str, int]) -> ClusterState:
    """The job that waits is in a team of its own, which may stop whole jobs of borrowers."""
    grows, waits = state.jobs
    jobs = grows, replace(waits, key=JobKey("owner", waits.key.name))
    owner = Team("a", namespaces=("owner",), guaranteed=Resources.of(owed), reclaim=Reclaim.JOBS)
    borrower = Team("b", namespaces=("ns",), guaranteed=Resources.of(others))
    return with_teams(replace(state, jobs=jobs), owner, borrower)


@pytest.mark.parametrize(
    ("owed", "others"),
    [({BIG: 4}, {}), ({ANY: 4}, {}), ({BIG: 4, ANY: 4}, {ANY: 4}), ({BIG: 2}, {BIG: 2})],
)
def test_a_team_gets_devices_that_borrowers_hold_by_another_class(
    owed: dict[str, int], others: dict[str, int]
) -> None:
    assert sizes(plan_for(in_teams(full(), owed, others))) == {"grows": 6}


def test_a_guarantee_covers_devices_that_are_held_by_another_class() -> None:
    """The other team holds no more big devices than it is guaranteed."""
    assert sizes(plan_for(in_teams(full(), {BIG: 0}, {BIG: 4}))) == {}


def test_a_whole_job_that_borrows_devices_by_another_class_is_stopped_for_their_owner() -> None:
    plan = plan_for(in_teams(full(low=8), {BIG: 4}, {}))
    assert [one.job.name for one in plan.suspensions] == ["grows"]


def test_a_claim_that_lacks_cpu_alone_takes_no_pods_for_its_devices() -> None:
    """Team b borrows devices, and is within its guarantee of CPU."""
    plain, wanted = shape(1), Resources.of({BIG: 1})
    pinned = replace(plain, node_selector=(("name", "a"),))
    extras = named(worker("grows", 1, 8, on=["a"] * 4, shape=pinned))
    asks = replace(plain, requests=plain.requests + wanted, implied=Resources.of({ANY: 1}))
    borrows = named(worker("borrows", 1, 1, on=["n"], shape=needs(ANY)))
    state = cluster(devices("a", BIG_DEVICE), devices("n", SMALL_DEVICE), extras, borrows)
    waits = replace((job := worker("waits", 1, 1, shape=asks)), key=JobKey("owner", job.key.name))
    owner = Team("a", namespaces=("owner",), guaranteed=Resources.of({"cpu": 1000, BIG: 1, ANY: 1}))
    other = Team("b", namespaces=("ns",), guaranteed=Resources.of({"cpu": 5000}))
    state = holding(replace(state, jobs=(*state.jobs, waits)), borrows_0=SMALL_DEVICE)
    assert sizes(plan_for(with_teams(state, owner, other))) == {}


def test_teams_use_what_the_devices_of_their_pods_count_as() -> None:
    state = in_teams(full(), {BIG: 4}, {})
    balance = team_balance(state)
    at, number = balance.resources.index(BIG), balance.numbers["b"]
    assert balance.used[number][at] == 4
    found = job_capacity(state, state.jobs[0])
    assert found
    assert found.borrowed == (("a", Resources.of({BIG: 4})),)


# -- laws ------------------------------------------------------------------------------------------


def random_state(draw: random.Random) -> tuple[ClusterState, dict[str, list[Sequence[str]]]]:
    """Also the devices of each node that no pod holds."""
    kinds = [SMALL_DEVICE, BIG_DEVICE, (ANY, OLD), (BIG, ANY, OLD)]
    nodes, jobs = list[Node](), list[TrainingJob]()
    held, free = dict[str, Sequence[str]](), dict[str, list[Sequence[str]]]()
    for name in "abc":
        found = [draw.choice(kinds) for _ in range(draw.randint(1, 5))]
        nodes.append(devices(name, *found))
        free[name] = draw.sample(found, len(found))
    asks = [(ANY,), (BIG,), (OLD,)]
    for number in range(draw.randint(1, 3)):
        asked = draw.choice(asks)
        on: list[str] = []
        for name, left in free.items():
            for one in [one for one in left if set(asked) <= set(one)]:
                if draw.random() < 0.6:
                    left.remove(one)
                    held[f"runs{number}_{len(on)}"] = one
                    on.append(name)
        if on:
            jobs.append(named(worker(f"runs{number}", 1, 9, on=on, shape=needs(*asked))))
    for number in range(draw.randint(1, 4)):
        low = draw.randint(1, 3)
        priority, queued = draw.choice([0, 0, 5]), -draw.randint(1, 999)
        jobs.append(
            worker(f"waits{number}", low, low + draw.randint(0, 3), shape=needs(*draw.choice(asks)),
                   priority=priority, queued=queued)
        )  # fmt: skip
    return holding(cluster(*nodes, *jobs), **held), free


def test_pods_of_a_plan_find_devices_whichever_kube_scheduler_picks() -> None:
    reached = 0
    for seed in range(150):
        draw = random.Random(seed)  # noqa: S311 - states, no secrets
        state, idle = random_state(draw)
        snapshot = run_passes(state, POLICIES["fair"], ALL).snapshot
        names = snapshot.capacity.node_names
        for _ in range(6):
            free = {name: list(found) for name, found in idle.items()}
            new = [
                (names[placement.node], one.role.template.shape)
                for one in snapshot.allocations
                for placement in one.placements
                if placement.is_new and placement.holds_idle
            ]
            for name, wanted in draw.sample(new, len(new)):
                asked = {n for n, _ in wanted.requests if n.startswith(DEVICE_CLASS)}
                fitting = [one for one in free[name] if asked <= set(one)]
                assert fitting, f"seed {seed}"
                free[name].remove(draw.choice(fitting))
                reached += 1
    assert reached > 500
