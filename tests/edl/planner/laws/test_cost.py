"""The work of a decision grows about as fast as the cluster, whatever rule decides."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from msgspec.structs import replace

from edl.model import (
    Assignment,
    ClusterState,
    PodAffinityTerm,
    PodConstraints,
    Quota,
    QuotaCharge,
    Requirement,
    ResizePolicy,
    Selector,
    Teams,
    Topology,
    TopologySpread,
    TrainingJob,
)
from edl.parsing.manifest_reader import MAX_REPLICAS
from edl.planner.decide import decide
from edl.planner.decision_limits import Limits
from edl.planner.plan import Plan
from edl.planner.policies import POLICIES
from tests.edl.planner.bytecode_count import instructions
from tests.edl.planner.states import alternating, at, cluster, job, node, pod, role, shape, worker
from tests.edl.planner.teams import of, team, with_teams

pytestmark = pytest.mark.slow


def gangs_of_two_roles(size: int) -> ClusterState:
    """They fill the cluster, so that most of them start a moment later."""

    def one(number: int) -> TrainingJob:
        servers = role("ps", 2, 2, shape=shape(1), is_service=True)
        return job(f"job-{number:04}", servers, role("worker", 2, 2, shape=shape(3)))

    return cluster(*(node(f"node-{n:04}", 8) for n in range(size)), *map(one, range(size)))


def one_gang(size: int, **rules: Any) -> ClusterState:  # noqa: ANN401 - constraints of a selector
    """Of pods for three quarters of the nodes' room; six zones, and racks of ten nodes."""
    own = Selector(("ns",), (Requirement("app", "In", ("train",)),))
    bound = PodConstraints(
        "ns", (("app", "train"),), **{name: make(own) for name, make in rules.items()}
    )
    found = [
        node(
            f"node-{n:04}",
            4,
            labels={"zone": f"zone-{n * 6 // size}", "rack": f"rack-{n // 10}", "host": f"{n}"},
        )
        for n in range(size)
    ]
    pods = size if "anti_affinity" in rules else 3 * size
    pods = pods // 6 if "affinity" in rules else pods
    return cluster(*found, worker("train", pods, pods, shape=shape(1, constraints=bound)))


def spread_over(*keys: str) -> Callable[[Selector], tuple[TopologySpread, ...]]:
    return lambda own: tuple(TopologySpread(key, own, 1) for key in keys)


def terms(key: str) -> Callable[[Selector], tuple[PodAffinityTerm, ...]]:
    return lambda own: (PodAffinityTerm(key, own),)


def preempted(size: int, roles: int = 1, gangs: int = 1) -> ClusterState:
    """Gangs of a higher priority, in all for half of the nodes, which gangs of two pods fill."""
    found = [node(f"node-{n:04}", 4) for n in range(size)]
    low = [worker(f"low-{n}", 2, 2, shape=shape(2), on=[f"node-{n:04}"] * 2) for n in range(size)]
    each = size // 2 // gangs
    parts = [role("worker", each, each, shape=shape(4 / roles))]
    parts += [role("ps", each, each, shape=shape(4 / roles, "1Gi"))] if roles > 1 else []
    high = [job(f"high-{n}", *parts, priority=1) for n in range(gangs)]
    return cluster(*found, *low, *high)


def one_job(size: int, *, there: bool) -> ClusterState:
    """It may have any number of replicas; nodes take 110 pods each, `there`: they have them."""
    found = [node(f"node-{n:04}", 208) for n in range(size)]
    on = [f"node-{n % size:04}" for n in range(size * 110 if there else 1)]
    return cluster(*found, worker("train", 1, MAX_REPLICAS, on=on))


def reclaimed(size: int) -> ClusterState:
    """Borrowers of a dozen teams fill the nodes; gangs of an owner take half of their extras."""
    found = [node(f"node-{n:04}", 4) for n in range(size)]
    jobs = [
        one
        for n in range(size)
        for one in of(f"b{n % 12}", worker(f"low-{n}", 1, 4, on=[f"node-{n:04}"] * 4))
    ]
    jobs += of("owner", *(worker(f"own-{n}", 6, 6) for n in range(size // 4)))
    borrowers = [team(f"b{n}", parent="area") for n in range(12)]
    owner = team("owner", 2 * size, parent="area")
    return with_teams(cluster(*found, *jobs), team("area"), owner, *borrowers)


def reclaimed_by_distinct_pods(size: int, kinds: int = MAX_REPLICAS) -> ClusterState:
    """Borrowers of a few teams fill the nodes; an owner's pods, of many kinds, take two each."""
    found = [node(f"node-{n:04}", 4) for n in range(size)]
    jobs = [
        one
        for n in range(size)
        for one in of(f"b{n % 4}", worker(f"low-{n}", 1, 4, on=[f"node-{n:04}"] * 4))
    ]
    pods = (shape(1.1 + n % kinds / 1000) for n in range(size // 2))
    jobs += of("owner", *(worker(f"own-{n}", 1, 1, shape=one) for n, one in enumerate(pods)))
    borrowers = [team(f"b{n}") for n in range(4)]
    return with_teams(cluster(*found, *jobs), team("owner", 4 * size), *borrowers)


def reclaimed_where_replicas_alternate(size: int) -> ClusterState:
    """Distinct pods of a higher priority need the room of three replicas each."""
    pods = (shape(2.1 + n / 1000) for n in range(size // 4))
    high = (worker(f"high-{n}", 1, 1, shape=one, priority=1) for n, one in enumerate(pods))
    return alternating(size, *high)


def reclaimed_in_racks(size: int) -> ClusterState:
    """Gangs of a higher priority require a rack of four nodes each, which live jobs fill."""
    racks = [node(f"node-{n:04}", 4, labels={"rack": f"r{n // 4:03}"}) for n in range(size)]
    low = [worker(f"low-{n:04}", 1, 4, on=[one.name] * 4) for n, one in enumerate(racks)]
    fields = {"gated": True, "topology": Topology(required=(("", "rack"),)), "priority": 1}
    high = [worker(f"high-{n}", 2, 2, shape=shape(2), **fields) for n in range(size // 4)]
    return cluster(*racks, *low, *high)


def claiming(size: int) -> ClusterState:
    """Jobs of many sizes wait in a few teams, for a fraction of which there is room."""
    found = [node(f"node-{n:04}", 4) for n in range(size // 4)]
    jobs = [
        one
        for n in range(2 * size)
        for one in of(f"t{n % 4}", worker(f"job-{n}", n // 8 + 1, n // 8 + 1, queued=-(n % 60)))
    ]
    teams = [team(f"t{n}", size // 8, parent="area") for n in range(4)]
    return with_teams(cluster(*found, *jobs), team("area"), *teams)


def in_areas(state: ClusterState, teams: int, owed: float | None = None) -> ClusterState:
    """Teams below a dozen areas below one team, so that they are compared at two levels."""
    areas = [team("top"), *(team(f"a{n}", parent="top") for n in range(12))]
    return with_teams(state, *areas, *(team(f"t{n}", owed, f"a{n % 12}") for n in range(teams)))


def growing(size: int) -> ClusterState:
    """A job in each team grows far beyond its team's guarantee, on a few large nodes."""
    jobs = [
        one
        for n in range(size)
        for one in of(f"t{n}", worker(f"job-{n}", 1, 40, on=[f"node-{n % 6}"]))
    ]
    found = cluster(*(node(f"node-{n}", 4 * size) for n in range(6)), *jobs)
    return in_areas(found, size, 2)


def evened_out(size: int, idle: float = 0) -> ClusterState:
    """Jobs of 48 teams fill the nodes; a team has less than the others, which give it theirs.

    `idle`: CPU that each node has besides; without any, several replicas go for one that comes.
    """
    sizes = {n: 3 if n % 48 == 1 else 4 for n in range(size)}
    jobs = [
        one
        for n, pods in sizes.items()
        for one in of(f"t{n % 48}", worker(f"job-{n}", 1, 8, on=[f"node-{n:04}"] * pods))
    ]
    nodes = (node(f"node-{n:04}", sizes[n] + idle) for n in sizes)
    return in_areas(cluster(*nodes, *jobs), 48)


def starting(size: int) -> ClusterState:
    """Gangs of many teams wait, and fill the idle nodes."""
    jobs = [
        one
        for n in range(size * 4)
        for one in of(f"t{n % size}", worker(f"wait-{n}", 2, 2, queued=-n))
    ]
    return in_areas(cluster(*(node(f"node-{n:04}") for n in range(2 * size)), *jobs), size, 2)


def reaching(size: int, pods: int) -> ClusterState:
    """In each team a job has extras, and one of this many pods waits for more than all of them."""
    jobs = [
        one
        for n in range(size)
        for one in of(
            f"t{n}",
            worker(f"job-{n}", 1, 4, on=[f"node-{n:04}"] * 4),
            worker(f"wait-{n}", pods, pods, queued=-n),
        )
    ]
    return in_areas(cluster(*(node(f"node-{n:04}", 4) for n in range(size)), *jobs), size)


def lacking_lost_pods(size: int) -> ClusterState:
    """Half of each job's pods went with their nodes, and a gang of a higher priority waits."""
    fields = {"suspended": False, "size": 4, "failures": 2}
    low = [
        worker(f"low-{n}", 4, 4, pods=(pod(0, f"node-{n:04}"), pod(1, f"node-{n:04}")), **fields)
        for n in range(size)
    ]
    return cluster(
        *(node(f"node-{n:04}", 4) for n in range(size)), *low, worker("high", 9, 9, priority=1)
    )


def in_lost_racks(size: int) -> ClusterState:
    """Gangs with a pod on each node of their rack, of which one is left; other racks are idle."""
    racks = [node(f"node-{n:04}", labels={"rack": f"r{n // 4:03}", "host": str(n)})
             for n in range(size)]  # fmt: skip
    jobs = []
    for n in range(0, size, 8):
        own = Selector(("ns",), (Requirement("app", "In", (f"gang-{n}",)),))
        apart = PodConstraints(
            "ns", (("app", f"gang-{n}"),), anti_affinity=(PodAffinityTerm("host", own),)
        )
        fields: dict[str, Any] = {"suspended": False, "size": 4, "failures": 6, "gated": True}
        fields |= {"assigned": Assignment(0, tuple(one.name for one in racks[n : n + 4]))}
        fields |= {"topology": Topology(required=(("", "rack"),))}
        pods = (pod(0, f"node-{n:04}"),)
        jobs.append(
            worker(f"gang-{n}", 4, 4, shape=shape(1, constraints=apart), pods=pods, **fields)
        )
    there = (one for n, one in enumerate(racks) if n % 8 not in (1, 2, 3))
    return cluster(*there, *(replace(one, framework="pytorch") for one in jobs))


def growing_behind_pending_pods(size: int) -> ClusterState:
    """A job on each node grows by pods that may take the room of another's pending pod."""
    fields = {"suspended": False, "size": 2, "started_at": at(-2)}
    coming = [
        worker(f"new-{n}", 2, 2, pods=(pod(0, f"node-{n:04}"), pod(1, created_at=at(-2))), **fields)
        for n in range(size)
    ]
    grow = [worker(f"old-{n}", 1, 4, shape=shape(2), on=[f"node-{n:04}"]) for n in range(size)]
    return cluster(*(node(f"node-{n:04}", 8) for n in range(size)), *coming, *grow)


def behind_a_head(size: int) -> ClusterState:
    """Gangs wait for one that has now waited for long: jobs may just have yielded to them."""
    run = [worker(f"old-{n}", 1, 1, on=[f"node-{n // 4:04}"]) for n in range(4 * size)]
    head = worker("head", 2, 2, shape=shape(4), queued=-330)
    wait = (worker(f"new-{n}", 1, 1, queued=-200 + n / size) for n in range(4 * size))
    return cluster(*(node(f"node-{n:04}", 4) for n in range(size)), *run, head, *wait)


def starting_distinct_pods(size: int, hosts: int = 20) -> ClusterState:
    """Each job's pods have a shape and an anti-affinity of their own, and may use any node."""

    def apart(n: int) -> PodConstraints:
        own = Selector(("ns",), (Requirement("job-name", "In", (f"job-{n}",)),))
        return PodConstraints(
            "ns", (("job-name", f"job-{n}"),), anti_affinity=(PodAffinityTerm("host", own),)
        )

    shapes = (shape(1 + n / 1000, constraints=apart(n)) for n in range(size))
    jobs = (worker(f"job-{n:04}", 2, 2, shape=one) for n, one in enumerate(shapes))
    return cluster(*(node(f"node-{n:02}", 9 * size, labels={"host": f"{n}"}) for n in range(hosts)),
                   *jobs)  # fmt: skip


def queued_near_none(size: int) -> ClusterState:
    """Each job's pods are to be near those with a label of its own, which no pod has."""

    def near(n: int) -> PodConstraints:
        there = Selector(("ns",), (Requirement("app", "In", (f"job-{n}",)),))
        return PodConstraints(
            "ns", (("job-name", f"job-{n}"),), affinity=(PodAffinityTerm("zone", there),)
        )

    jobs = (
        worker(f"job-{n}", 2, 2, shape=shape(constraints=near(n)), labels=near(n).labels)
        for n in range(8 * size)
    )
    return cluster(*(node(f"n-{n:02}", 1, labels={"zone": f"z{n % 4}"}) for n in range(8)), *jobs)


def growing_distinct_pods(size: int) -> ClusterState:
    """Jobs whose pods have a shape of their own may grow onto any of a few nodes."""
    shapes = (shape(1 + n / 1000) for n in range(size))
    jobs = (worker(f"job-{n:04}", 1, 3, shape=one, on=[f"node-{n % 20:02}"])
            for n, one in enumerate(shapes))  # fmt: skip
    return cluster(*(node(f"node-{n:02}", size / 8) for n in range(20)), *jobs)


def behind_heads_that_lack_gpus(size: int) -> ClusterState:
    """Gangs of many kinds wait for GPUs, and jobs without any start on the same nodes."""
    gpus = [
        worker(f"old-{n}", 1, 1, shape=shape(1, gpu=1), on=[f"node-{n:04}"]) for n in range(size)
    ]
    heads = [
        worker(f"head-{n}", 2, 2, shape=shape(1 + n % 8 / 8, gpu=1), queued=-400)
        for n in range(size)
    ]
    come = [worker(f"new-{n}", 1, 1, shape=shape(1 + n % 8 / 8), queued=-9) for n in range(size)]
    return cluster(*(node(f"node-{n:04}", 6, gpu=1) for n in range(size)), *gpus, *heads, *come)


def restarting_above_a_budget(size: int) -> ClusterState:
    """Jobs that restart to resize, whose minimums exceed a quota that takes capacity back."""
    fields: dict[str, Any] = {"resizing": ResizePolicy.RESTART, "queued": -9000}
    fields["charges"] = (QuotaCharge("q", "pods", 1),)
    jobs = (worker(f"job-{n}", 2, 4, on=[f"node-{n:04}"] * 2, **fields) for n in range(size))
    state = cluster(*(node(f"node-{n:04}", 4) for n in range(size)), *jobs)
    return replace(state, quotas=(Quota("ns", "q", "pods", 1, 0, takes_back=True),))


STATES: dict[str, Callable[[int], ClusterState]] = {
    "gangs of two roles": gangs_of_two_roles,
    "spread over hosts": partial(one_gang, spread=spread_over("host")),
    "spread over racks": partial(one_gang, spread=spread_over("rack")),
    "spread over zones and hosts": partial(one_gang, spread=spread_over("zone", "host")),
    "apart on hosts": partial(one_gang, anti_affinity=terms("host")),
    "together in a zone": partial(one_gang, affinity=terms("zone")),
    "victims of one gang": preempted,
    "victims of a gang of two roles": partial(preempted, roles=2),
    "claims of many sizes in teams": claiming,
    "claims of distinct pods that reclaim": reclaimed_by_distinct_pods,
    "claims of a few kinds of pods that reclaim": partial(reclaimed_by_distinct_pods, kinds=6),
    "claims where live replicas alternate between nodes": reclaimed_where_replicas_alternate,
    "claims of racks that reclaim": reclaimed_in_racks,
    "growth behind pending pods": growing_behind_pending_pods,
    "gangs behind one that has waited for long": behind_a_head,
    "jobs without GPUs behind gangs that lack them": behind_heads_that_lack_gpus,
    "starts of distinct pods": starting_distinct_pods,
    "growth of distinct pods": growing_distinct_pods,
    "distinct pods near pods that do not exist": queued_near_none,
    "lost pods beside a higher priority": lacking_lost_pods,
    "racks that lost nodes": in_lost_racks,
    "restarting jobs above a budget": restarting_above_a_budget,
}


@pytest.mark.parametrize("there", [False, True])
def test_eight_times_the_replicas_are_about_eight_times_the_work(*, there: bool) -> None:
    assert work(one_job(80, there=there)) < 10 * work(one_job(10, there=there))


def test_a_job_gets_as_many_replicas_as_the_contract_allows() -> None:
    (resize,) = decide(one_job(950, there=False), POLICIES["fair"], Limits()).resizes
    assert (resize.before, resize.after) == (1, MAX_REPLICAS)


def test_deferred_starts_of_distinct_pods_are_compared_in_pairs() -> None:
    """A node has room for 55 of 120 jobs. Pods ahead of both are not compared one by one."""
    few, many = (starting_distinct_pods(jobs, hosts=jobs // 60) for jobs in (120, 480))
    assert work(many) < 10 * work(few)


@pytest.mark.parametrize("name", STATES)
def test_four_times_the_cluster_is_about_four_times_the_work(name: str) -> None:
    """From 12 racks on: fewer domains are gone through in another way.

    The bound is of 4.5: a part that grows with the square may be 4 % of the work, not more.
    """
    state = STATES[name]
    assert work(state(480)) < 4.5 * work(state(120))


@pytest.mark.parametrize(
    ("made", "size", "most"),
    [
        (growing, 60, 1.51),
        (evened_out, 480, 2.5),
        (partial(evened_out, idle=0.5), 480, 1.63),
        (starting, 60, 1.48),
        (partial(reaching, pods=4 * 60), 60, 5.65),
        (partial(reaching, pods=9 * 60), 60, 2.08),
    ],
    ids=[
        "growth",
        "moves between teams",
        "moves of one replica each",
        "claims that start",
        "claims that reach all teams' extras",
        "claims that fit no empty cluster",
    ],
)
def test_teams_cost_a_bounded_multiple_of_the_decision_without_them(
    made: Callable[[int], ClusterState], size: int, most: float
) -> None:
    """Both are decided twice: jobs and nodes compute some of their properties only once."""
    state = made(size)
    plain = replace(state, teams=Teams(), namespace_teams={})
    for one in (plain, state):
        decided(one)
    assert work(state) < most * work(plain)


def test_reclaiming_between_teams_is_at_most_about_twice_the_work_of_doing_so_by_priority() -> None:
    state = reclaimed(480)
    jobs = (replace(one, priority=int(one.key.namespace == "owner")) for one in state.jobs)
    plain = replace(state, jobs=tuple(jobs), teams=Teams(), namespace_teams={})
    assert work(state) < 2.2 * work(plain)


def test_a_team_that_lends_nothing_makes_growth_at_most_half_as_much_work_again() -> None:
    jobs = [
        one
        for n in range(60)
        for one in of(f"t{n}", worker(f"job-{n}", 1, 12, on=[f"node-{n:04}"]))
    ]
    state = cluster(*(node(f"node-{n:04}", 12) for n in range(60)), *jobs)
    teams = [team(f"t{n}") for n in range(60)]
    lent, kept = (with_teams(state, team("owner", 60, lend=lend), *teams) for lend in (True, False))
    assert work(kept) < 1.5 * work(lent)


def of_many_roles(resizing: ResizePolicy) -> ClusterState:
    """A job of 40 roles that all grow by a pod."""
    names = ("worker", *(f"role-{n}" for n in range(39)))
    roles = (role(name, 1, 2, on=["node"], resizing=resizing) for name in names)
    return cluster(node("node", 80), job("grows", *roles, queued=-9000, framework="paddle"))


def test_growth_of_roles_that_restart_is_at_most_four_times_the_work_of_live_growth() -> None:
    assert work(of_many_roles(ResizePolicy.RESTART)) < 4 * work(of_many_roles(ResizePolicy.LIVE))


def work(state: ClusterState) -> int:
    return instructions(partial(decided, state))


def decided(state: ClusterState) -> Plan:
    limits = Limits(preempt=any(job.priority for job in state.jobs))
    return decide(state, POLICIES["fair"], limits)
