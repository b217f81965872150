"""Clusters whose nodes are as large as the gangs that come to them, drawn from a seed.

A node of a pool has a number of units: cores with 4 GiB each, or GPUs with 4 cores and 16 GiB each.
A pod requests a power of two of them, up to the smallest node. So whether pods fit is settled by
sums (`fits`), whatever the order: large ones first find as many nodes wherever they are put.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import Final, NamedTuple

from edl import contract
from edl.spec.job_spec import RoleBounds
from edl.writes import Json

CLUSTERS: Final = 40
GPU: Final = "nvidia.com/gpu"
POOL: Final = "example.com/pool"
TAINT: Final = "example.com/dedicated"
_GANGS: Final = (52, 60)
_FIRST_WAVE: Final = 3.0
"""The seconds in which two thirds of the gangs arrive."""
_SECOND_WAVE: Final = (18.0, 20.0)
"""When the other gangs arrive: elastic gangs have grown into the capacity that these need."""
_CORES: Final = (8, 16, 32)
_GPUS: Final = (4, 8)
_RIVALS: Final = 6
"""Tenants' pods that request a node just after a gang was given it."""


class Pool(NamedTuple):
    """Nodes by their units. If it is tainted, only pods with a toleration run there."""

    name: str
    nodes: tuple[int, ...]
    has_gpus: bool
    tainted: bool


class DrawnRole(NamedTuple):
    """`least` to `most` pods with the same number of units on one pool."""

    name: str
    pool: str
    units: int
    least: int
    most: int


class DrawnGang(NamedTuple):
    """A training job that arrives `at` seconds after the start; it does not end."""

    name: str
    framework: str
    mode: str
    roles: tuple[DrawnRole, ...]
    at: float

    def job(self, role: DrawnRole) -> str:
        """The name of the role's Job."""
        return self.name if len(self.roles) == 1 else f"{self.name}-{role.name}"

    @property
    def pods(self) -> Iterator[tuple[str, int]]:
        """(pool, units) of each pod of its minimum."""
        for role in self.roles:
            yield from [(role.pool, role.units)] * role.least


class TenantPod(NamedTuple):
    """An ordinary pod; a `rival` arrives when a gang starts, and requests one of its nodes."""

    name: str
    pool: str
    units: int
    at: float
    rival: bool


class DrawnCluster(NamedTuple):
    pools: tuple[Pool, ...]
    gangs: tuple[DrawnGang, ...]
    tenants: tuple[TenantPod, ...]

    def pool(self, name: str) -> Pool:
        return next(pool for pool in self.pools if pool.name == name)


_ROLES: Final[Sequence[tuple[str, str, tuple[tuple[str, int], ...], str]]] = (
    ("tensorflow", "ps", (("ps", 2),), "worker"),
    ("tensorflow", "ps", (("chief", 1), ("ps", 2)), "worker"),
    ("mxnet", "dist", (("scheduler", 1), ("server", 2)), "worker"),
    ("horovod", "", (("launcher", 1),), "worker"),
    ("paddle", "", (("master", 1),), "trainer"),
    ("pytorch", "", (), "worker"),
)
"""Framework, mode, roles of fixed size with their most pods, and the role that may be elastic."""


def drawn(seed: int) -> DrawnCluster:
    """A random cluster. Odd seeds have tenants' pods; half of the pools are filled exactly."""
    random = Random(seed)  # noqa: S311 - no secret depends on it
    names = ["cores", *(["cores-b"] if random.random() < 0.5 else []), "gpus"]
    gangs = [_gang(random, number, names) for number in range(random.randint(*_GANGS))]
    tenants = list(_tenants(random, names)) if seed % 2 else []
    pools = []
    for name in names:
        asked = [units for gang in gangs for pool, units in gang.pods if pool == name]
        asked += [pod.units for pod in tenants if pod.pool == name]
        pool = _pool(random, name, sum(asked))
        pools.append(pool)
        if random.random() < 0.5:
            left = sum(pool.nodes) - sum(asked)
            gangs += _fillers(random, len(gangs), name, left)
    return DrawnCluster(tuple(pools), tuple(gangs), tuple(tenants))


def _gang(random: Random, number: int, pools: Sequence[str]) -> DrawnGang:
    """A gang with workers of one size on any pool; its other roles are on cores."""
    framework, mode, served, worker = random.choice(_ROLES)
    fixed = [(role, random.randint(1, most)) for role, most in served]
    roles = [DrawnRole(role, "cores", 1, count, count) for role, count in fixed]
    pool = random.choice(pools)
    units, least = random.choice((1, 1, 2, 2, 4, 4, 8) if pool != "gpus" else (1, 2, 4)), 1
    if units < 4:
        least = random.randint(1, 4)
    roles.append(DrawnRole(worker, pool, units, least, least * random.choice((1, 1, 2))))
    return DrawnGang(f"gang-{number:02}", framework, mode, tuple(roles), _arrival(random))


def _arrival(random: Random) -> float:
    first = random.random() < 2 / 3
    return random.uniform(0, _FIRST_WAVE) if first else random.uniform(*_SECOND_WAVE)


def _tenants(random: Random, pools: Sequence[str]) -> Iterator[TenantPod]:
    for number in range(random.randint(12, 24)):
        at = random.uniform(0, _SECOND_WAVE[1])
        rival = number < _RIVALS
        yield TenantPod(
            f"tenant-{number:02}", random.choice(pools), random.choice((1, 2, 4)), at, rival
        )


def _pool(random: Random, name: str, least: int) -> Pool:
    """A pool with at least this many units."""
    nodes: list[int] = []
    while sum(nodes) < least:
        nodes.append(random.choice(_GPUS if name == "gpus" else _CORES))
    return Pool(name, tuple(nodes), name == "gpus", name == "gpus" and random.random() < 0.7)


def _fillers(random: Random, number: int, pool: str, left: int) -> Iterator[DrawnGang]:
    """Gangs of pods of one unit, which fill the rest of a pool."""
    while left > 0:
        pods = min(left, random.randint(3, 8))
        role = DrawnRole("worker", pool, 1, pods, pods)
        yield DrawnGang(f"gang-{number:02}", "pytorch", "", (role,), _arrival(random))
        left, number = left - pods, number + 1


def fits(pods: Iterable[int], idle: Iterable[int]) -> bool:
    """Whether pods of these units fit on nodes of one pool with these idle units.

    This is exact, because units are powers of two: a pod blocks as many places of smaller pods
    wherever it is put.
    """
    nodes, placed = list(idle), 0
    for units, count in sorted(Counter(pods).items(), reverse=True):
        room = sum(node // units * units for node in nodes if node > 0)
        placed += count * units
        if placed > room:
            return False
    return True


# -- manifests ---------------------------------------------------------------------------------


def jobs(cluster: DrawnCluster, gang: DrawnGang) -> Iterator[Json]:
    """The gang's Jobs as its user writes them."""
    all_roles = ",".join(RoleBounds(role.name, role.least, role.most).entry for role in gang.roles)
    for role in gang.roles:
        labels = {contract.FRAMEWORK: gang.framework}
        notes = {contract.MODE: gang.mode} if gang.mode else {}
        if len(gang.roles) > 1:
            labels |= {contract.JOB: gang.name, contract.ROLE: role.name}
            notes[contract.ROLES] = all_roles
        else:
            labels |= {contract.MIN: str(role.least), contract.MAX: str(role.most)}
        spec = pod_spec(cluster.pool(role.pool), role.units, written=role.name != "master")
        yield {
            "metadata": {"name": gang.job(role), "labels": labels, "annotations": notes},
            "spec": {"parallelism": role.least, "template": {"spec": spec}},
        }


def pod_spec(pool: Pool, units: int, node: str = "", *, written: bool = True) -> Json:
    """A pod for the pool or one of its nodes; without `written` the webhook adds the command."""
    container: Json = {
        "name": "main",
        "image": "none",
        "resources": {"requests": _room(pool, units)},
    }
    if written:
        container["command"] = ["train"]
    if pool.has_gpus:
        container["resources"]["limits"] = {GPU: str(units)}
    spec: Json = {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 5,
        "containers": [container],
        "nodeSelector": {POOL: pool.name} | ({"kubernetes.io/hostname": node} if node else {}),
    }
    if pool.tainted:
        spec["tolerations"] = [{"key": TAINT, "operator": "Exists"}]
    return spec


def _room(pool: Pool, units: int) -> Mapping[str, str]:
    """The resources of this many units of a pool."""
    if pool.has_gpus:
        return {GPU: str(units), "cpu": str(4 * units), "memory": f"{16 * units}Gi"}
    return {"cpu": str(units), "memory": f"{4 * units}Gi"}
