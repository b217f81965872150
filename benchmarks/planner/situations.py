"""Large clusters in which single rules of the planner take time, one situation per rule."""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from msgspec.structs import replace

from benchmarks.planner.clusters import GI, NOON, Filler, Size, running, started, training
from edl.model import (
    ClusterState,
    Device,
    JobKey,
    Node,
    PodAffinityTerm,
    PodConstraints,
    Quota,
    QuotaCharge,
    Requirement,
    ResizePolicy,
    Role,
    Selector,
    Shape,
    Share,
    Team,
    Teams,
    Topology,
    TopologySpread,
    TrainingJob,
)
from edl.planner.decision_limits import Limits
from edl.quantities import SHARED_GPU, Resources

HOST: Final = "kubernetes.io/hostname"
_OWN: Final = Selector(("team",), (Requirement("app", "In", ("train",)),))
_QUOTAS: Final = 50
_AREAS: Final = 19
_TEAMS: Final = 200
_BORROWERS: Final = 12


class Situation(NamedTuple):
    """A state with the policy and limits of its decision."""

    state: ClusterState
    limits: Limits = Limits()


def shape(cpu: int, rules: PodConstraints | None = None) -> Shape:
    """A pod that requests this many thousandths of a core and 1 GiB."""
    return Shape(Resources.of({"cpu": cpu, "memory": GI, "pods": 1}), constraints=rules)


def with_one(state: ClusterState, pods: int, wanted: Shape) -> ClusterState:
    """The state with one more gang of `pods` pods, at the end of the queue."""
    job = replace(training(99_999, wanted, pods, pods), queued_at=state.observed_at)
    return replace(state, jobs=(*state.jobs, job))


def roomy(size: Size, seed: int) -> ClusterState:
    """A state after a big release, with capacity for at least two small pods on every node."""
    state, more = running(size, 0.5, seed), Resources.of({"cpu": 1000, "memory": 2 * GI})
    nodes = (replace(node, allocatable=node.allocatable + more) for node in state.nodes)
    return replace(state, nodes=tuple(nodes))


def ruled(**rules: object) -> PodConstraints:
    return PodConstraints("team", (("app", "train"),), **rules)  # type: ignore[arg-type]


def spread(size: Size, seed: int) -> Situation:
    """A gang with two pods for each node, spread over hosts."""
    rules = ruled(spread=(TopologySpread(HOST, _OWN, 1),))
    return Situation(with_one(roomy(size, seed), size.nodes * 2, shape(500, rules)))


def spread_twice(size: Size, seed: int) -> Situation:
    """A gang of nearly as many pods, spread over zones and hosts."""
    rules = ruled(spread=(TopologySpread("zone", _OWN, 1), TopologySpread(HOST, _OWN, 1)))
    return Situation(with_one(roomy(size, seed), size.nodes * 19 // 10, shape(500, rules)))


def affinity(size: Size, seed: int) -> Situation:
    """A gang that must be in one zone, with no two pods on one host."""
    rules = ruled(
        affinity=(PodAffinityTerm("zone", _OWN),), anti_affinity=(PodAffinityTerm(HOST, _OWN),)
    )
    return Situation(with_one(roomy(size, seed), size.nodes // 5, shape(500, rules)))


def preemption(size: Size, seed: int) -> Situation:
    """All jobs have fixed sizes; a gang of higher priority needs a large part of the cluster."""
    state = running(size, 1.0, seed)
    jobs = tuple(map(_fixed, state.jobs))
    state = with_one(replace(state, jobs=jobs), size.nodes // 2, shape(12_000))
    last = replace(state.jobs[-1], priority=1)
    return Situation(replace(state, jobs=(*state.jobs[:-1], last)), Limits(preempt=True))


def _fixed(job: TrainingJob) -> TrainingJob:
    role = job.roles[0]
    fixed = role.changed(min=role.status.size, max=role.status.size, resizing=ResizePolicy.FIXED)
    return replace(job, roles=(fixed,))


def roles(size: Size, seed: int) -> Situation:
    """A quarter of all jobs wait, with servers and workers of different sizes."""
    state = running(size, 0.5, seed)
    waiting = (_of_two_roles(number) for number in range(size.jobs // 4))
    return Situation(replace(state, jobs=(*state.jobs, *waiting)))


def _of_two_roles(number: int) -> TrainingJob:
    job = training(10_000 + number, shape(500), 2, 2)
    servers = job.roles[0].changed(name="ps", is_service=True, is_leader=False)
    workers = job.roles[0].changed(shape=shape(1000), max=8)
    return replace(job, roles=(servers, workers))


def quotas(size: Size, seed: int) -> Situation:
    """All jobs are in namespaces with a quota each, half of which is used."""
    state = running(size, 0.5, seed)
    charges = (QuotaCharge("ResourceQuota", "pods", 1),)
    jobs = []
    for number, job in enumerate(state.jobs):
        key = JobKey(f"team-{number % _QUOTAS}", job.key.name)
        jobs.append(replace(job, key=key, roles=(job.roles[0].changed(charges=charges),)))
    most = size.pods * 3 // 4 // _QUOTAS
    budgets = (Quota(f"team-{at}", "ResourceQuota", "pods", most) for at in range(_QUOTAS))
    return Situation(replace(state, jobs=tuple(jobs), quotas=tuple(budgets)))


def teams(size: Size, seed: int) -> Situation:
    """All jobs are in 200 teams at three levels; a quarter wait, in teams owed their guarantee."""
    state = running(size, 0.5, seed)
    cores = sum(node.allocatable.get("cpu") for node in state.nodes)
    most = Resources.of({"cpu": cores // (2 * _TEAMS)})
    found = [Team("top"), *(Team(f"area-{at}", "top") for at in range(_AREAS))]
    for at in range(_TEAMS - _AREAS - 1):
        owed = most if at % 2 else Resources()
        found.append(Team(f"team-{at}", f"area-{at % _AREAS}", guaranteed=owed))
    names = [team.name for team in found[_AREAS + 1 :]]
    waiting = tuple(training(10_000 + at, shape(1000), 2, 8) for at in range(size.jobs // 4))
    jobs = tuple(
        replace(job, key=JobKey(names[at % len(names)], job.key.name))
        for at, job in enumerate((*state.jobs, *waiting))
    )
    by_name = {name: name for name in names}
    return Situation(replace(state, jobs=jobs, teams=Teams.of(found), namespace_teams=by_name))


def without_teams(size: Size, seed: int) -> Situation:
    """The same jobs without teams; the difference is the cost of teams."""
    found = teams(size, seed)
    return found._replace(state=replace(found.state, teams=Teams(), namespace_teams={}))


def owner_returns(size: Size, _seed: int) -> Situation:
    """A dozen teams borrow all nodes; an owner waits with jobs that each have another shape."""
    each = size.pods // size.nodes
    room = Resources.of({"cpu": 1000 * each, "memory": 64 * GI, "pods": 110})
    none = Resources()
    filler = Filler([Node(f"node-{at:05}", room, none, none) for at in range(size.nodes)])
    borrowers = [f"team-{at}" for at in range(_BORROWERS)]
    jobs = []
    for at in range(size.jobs):
        pods = size.pods // size.jobs
        job = training(at, shape(1000), pods // 4, pods)
        job = started(job, pods, iter(filler.where(shape(1000), pods)))
        jobs.append(replace(job, key=JobKey(borrowers[at % _BORROWERS], job.key.name)))
    for at in range(size.jobs):
        job = training(10_000 + at, shape(1500 + at), 1, 1)
        jobs.append(replace(job, key=JobKey("owner", job.key.name)))
    owed = Resources.of({"cpu": 1000 * size.pods})
    found = Teams.of([Team("owner", guaranteed=owed), *map(Team, borrowers)])
    by_name = {team.name: team.name for team in found}
    nodes = filler.nodes()
    return Situation(ClusterState(NOON, nodes, tuple(jobs), teams=found, namespace_teams=by_name))


def shares(size: Size, seed: int) -> Situation:
    """A quarter of all jobs wait for parts of GPUs; every third node has eight GPUs."""
    state = running(size, 0.5, seed)
    nodes = tuple(map(_with_devices, state.nodes))
    part = Shape(
        Resources.of({"cpu": 500, "memory": GI, "pods": 1, SHARED_GPU: 400}), share=Share(400)
    )
    waiting = (training(10_000 + at, part, 2, 4) for at in range(size.jobs // 4))
    return Situation(replace(state, nodes=nodes, jobs=(*state.jobs, *waiting)))


def _with_devices(node: Node) -> Node:
    """The node with its GPUs shared."""
    if not node.allocatable.get("nvidia.com/gpu"):
        return node
    devices = tuple(Device(f"{node.name}-{at}") for at in range(8))
    return replace(
        node, allocatable=node.allocatable + Resources.of({SHARED_GPU: 8000}), devices=devices
    )


def racks(size: Size, seed: int) -> Situation:
    """A quarter of all jobs wait, with two roles that require a rack of 16 nodes."""
    return _with_racks(size, seed, Topology(required=(("", "rack"),)))


def blocks(size: Size, seed: int) -> Situation:
    """The same jobs, which prefer few blocks of 8 racks, few racks and few hosts."""
    return _with_racks(size, seed, Topology(preferred=("block", "rack", HOST)))


def _with_racks(size: Size, seed: int, topology: Topology) -> Situation:
    state = roles(size, seed).state
    nodes = []
    for at, node in enumerate(state.nodes):
        levels = {"rack": f"r{at // 16}", "block": f"b{at // 128}"}
        nodes.append(replace(node, labels={**(node.labels or {}), **levels}))
    jobs = (replace(job, roles=_gated(job.roles, topology)) for job in state.jobs)
    return Situation(replace(state, nodes=tuple(nodes), jobs=tuple(jobs)))


def _gated(parts: tuple[Role, ...], topology: Topology) -> tuple[Role, ...]:
    """The roles; if there are several, their pods are gated and have the topology."""
    if len(parts) == 1:
        return parts
    return tuple(part.changed(gated=True, topology=topology) for part in parts)


SITUATIONS: Final[Mapping[str, Callable[[Size, int], Situation]]] = {
    "spread over hosts": spread,
    "spread over zones and hosts": spread_twice,
    "together in a zone, apart": affinity,
    "preemption of many gangs": preemption,
    "gangs of two roles": roles,
    "quotas": quotas,
    "teams": teams,
    "without teams": without_teams,
    "an owner of distinct jobs": owner_returns,
    "GPU shares": shares,
    "gangs that require a rack": racks,
    "gangs that prefer few racks": blocks,
}
