"""A mix of every framework for the simulator: endless jobs and pods of others, all constant."""

from random import Random
from typing import Any

from hypothesis import strategies as st

from edl.model import Node, Shape
from edl.quantities import Resources
from edl.simulator import (
    ENDLESS,
    Change,
    NodeEvent,
    Scenario,
    Service,
    Timing,
    Training,
    Work,
    Workload,
    WorkloadRole,
    queued,
)
from tests.edl.packed_draws import Draw, packed

_ITEMS = 10_000


def _shape(cpu: str, **rules: Any) -> Shape:  # noqa: ANN401 - the builder's fields
    return Shape(Resources.parse({"cpu": cpu, "pods": 1}), **rules)


def _node(name: str, gpus: int = 0, cpu: int = 8) -> Node:
    room = {"cpu": cpu, "memory": "32Gi", "pods": 110, "nvidia.com/gpu": gpus}
    return Node(name, Resources.parse(room), Resources(), Resources())


_SMALL, _CORE = _shape("250m"), _shape("1")
_ROLES: tuple[tuple[str, int, str, tuple[WorkloadRole, ...]], ...] = (
    (
        "tf",
        4,
        "tensorflow",
        (
            WorkloadRole("chief", 1, 1, _SMALL),
            WorkloadRole("ps", 1, 1, _SMALL),
            WorkloadRole("worker", 1, 12, _CORE),
        ),
    ),
    (
        "ho",
        3,
        "horovod",
        (WorkloadRole("launcher", 1, 1, _SMALL), WorkloadRole("worker", 2, 10, _CORE)),
    ),
    ("py", 2, "pytorch", (WorkloadRole("worker", 1, 16, _shape("2")),)),
    (
        "mx",
        2,
        "mxnet",
        (
            WorkloadRole("scheduler", 1, 1, _SMALL),
            WorkloadRole("server", 1, 1, _SMALL),
            WorkloadRole("worker", 1, 5, _CORE),
        ),
    ),
    (
        "pa",
        1,
        "paddle",
        (WorkloadRole("master", 1, 1, _SMALL), WorkloadRole("trainer", 1, 8, _CORE)),
    ),
    ("no", 1, "none", (WorkloadRole("worker", 1, 20, _shape("500m")),)),
    (
        "big",
        1,
        "tensorflow",
        (WorkloadRole("ps", 1, 1, _SMALL), WorkloadRole("worker", 14, 14, _shape("7"))),
    ),
)
"""Name, how many of them, framework, roles. The last one never fits."""


def mix(seed: int, *, gpu_nodes: int = 0) -> Scenario:
    """Twelve nodes of 8 CPU; the jobs' order and the scheduler's draws depend on the seed."""
    random = Random(seed)  # noqa: S311 - it only mixes
    jobs = [
        queued(
            f"{name}{number}",
            Workload(framework),
            all_roles,
            items=_ITEMS if name == "no" else None,
        )
        for name, count, framework, all_roles in _ROLES
        for number in range(count)
    ]
    random.shuffle(jobs)
    never = _shape("4", node_selector=(("no", "where"),))
    services = (
        Service("web", _CORE, ((random.random(), 10),), priority=1000),
        Service("nowhere", never, ((0.5, 1),), priority=1000),
    )
    trainings = [
        Training(job, Work(1e9) if job.framework == "none" else ENDLESS, at=0.05 * place)
        for place, job in enumerate(jobs)
    ]
    nodes = [_node(f"node-{number:03}") for number in range(12)]
    nodes += [_node(f"gpu-{number}", gpus=2) for number in range(gpu_nodes)]
    waits = {"shut_down": random.choice([1, 2, 3]), "round": random.choice([0.1, 0.5, 1])}
    settings = Timing(start_up=1, tie=random.randrange, **waits)
    return Scenario(tuple(nodes), tuple(trainings), services, settings=settings)


_KINDS = (
    ("tensorflow", (("chief", 1, 1), ("ps", 1, 1), ("worker", 1, 12))),
    ("horovod", (("launcher", 1, 1), ("worker", 2, 10))),
    ("pytorch", (("worker", 1, 16),)),
    ("mxnet", (("scheduler", 1, 1), ("server", 1, 1), ("worker", 1, 5))),
    ("paddle", (("master", 1, 1), ("trainer", 1, 8))),
    ("none", (("worker", 1, 20),)),
)


@packed
def mixes(draw: Draw) -> Scenario:
    """Two to ten jobs of any framework on two to eight nodes, in any order of arrival."""
    trainings = []
    for number in range(draw.between(2, 10)):
        framework, roles = draw.one_of(*_KINDS)
        core = _shape(draw.one_of("500m", "1", "1", "2", "3"))
        all_roles = [
            WorkloadRole(name, low, high, _SMALL if low == high else core)
            for name, low, high in roles
        ]
        items = _ITEMS if framework == "none" else None
        priority = draw.one_of(0, 0, 0, 5)
        job = queued(
            f"job-{number}", Workload(framework), all_roles, priority=priority, items=items
        )
        work = Work(1e9) if items else ENDLESS
        trainings.append(Training(job, work, at=draw.one_of(0.0, 0.1, 1.0, 20.0)))
    web = Service("web", _CORE, ((0.3, draw.between(0, 8)),), priority=1000)
    nodes = [
        _node(f"node-{number}", gpus=draw.one_of(0, 0, 2)) for number in range(draw.between(2, 8))
    ]
    random = draw.of(st.randoms(use_true_random=False))
    settings = Timing(start_up=1, shut_down=draw.between(0, 3), tie=random.randrange)
    return Scenario(tuple(nodes), tuple(trainings), (web,), settings=settings)


_CHURN = 60.0
"""Seconds until a churn is over."""


def churn(seed: int) -> tuple[Scenario, float]:
    """What `tests/attack` does to a cluster, and when nothing changes from outside any more.

    Training jobs come, some of them end, other owners' pods come and go, nodes are cordoned; pods
    take up to half a minute to be ready and to leave.
    """
    random = Random(seed)  # noqa: S311 - it only mixes
    cpu = random.choice([4, 5, 8])
    nodes = [_node(f"node-{number}", cpu=cpu) for number in range(random.choice([3, 4, 6]))]
    pairs = random.randint(2, len(nodes) * cpu // 5)
    trainings = [one for number in range(pairs) for one in _twins(random, number)]
    web = [(random.uniform(0, _CHURN), random.randint(0, 14)) for _ in range(4)]
    service = Service("web", _CORE, (*sorted(web), (_CHURN, random.choice([0, 0, 9]))))
    off = random.sample(nodes, len(nodes) // 3)
    events = [NodeEvent(random.uniform(0, _CHURN), Change.CORDONED, one) for one in off]
    events += [NodeEvent(_CHURN, Change.UNCORDONED, one) for one in off if random.random() < 0.7]
    waits = {"shut_down": random.choice([1, 2, 3, 12]), "round": random.choice([0.1, 0.5, 1])}
    settings = Timing(start_up=1, tie=random.randrange, **waits)
    events.sort(key=lambda event: event.at)
    return (
        Scenario(tuple(nodes), tuple(trainings), (service,), tuple(events), settings=settings),
        _CHURN,
    )


def _twins(random: Random, number: int) -> list[Training]:
    """Two equal training jobs, one a second after the other."""
    framework = random.choice(["none", "pytorch", "tensorflow", "horovod"])
    alone = {"tensorflow": ("chief", "ps"), "horovod": ("launcher",)}.get(framework, ())
    low, shape = random.randint(1, 3), _shape(random.choice(["500m", "1", "2"]))
    all_roles = [
        *(WorkloadRole(name, 1, 1, shape) for name in alone),
        WorkloadRole("worker", low, low + random.randint(0, 6), shape),
    ]
    at, waits = random.uniform(0, _CHURN - 5), random.choice([None, None, 8.0, 15.0, 31.0])
    work = random.choice([ENDLESS, ENDLESS, Work(60)])
    return [
        Training(
            queued(f"{framework[:2]}{number}-{twin}", Workload(framework), all_roles),
            work,
            at=at + twin,
            start_up=waits,
            shut_down=waits,
        )
        for twin in (0, 1)
    ]
