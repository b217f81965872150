"""A mix of every framework for the simulator: endless jobs and pods of others, all constant."""

from random import Random

from hypothesis import strategies as st

from edl.model import Node, Shape
from edl.resources import Resources
from edl.simulator import ENDLESS, Kind, Seat, Service, Settings, Training, Work, World, queued

_ITEMS = 10_000


def _shape(cpu: str, **rules: tuple[tuple[str, str], ...]) -> Shape:
    return Shape(Resources.parse({"cpu": cpu, "pods": 1}), **rules)


def _node(name: str, gpus: int = 0) -> Node:
    room = {"cpu": 8, "memory": "32Gi", "pods": 110, "nvidia.com/gpu": gpus}
    return Node(name, Resources.parse(room), Resources(), Resources())


_SMALL, _CORE = _shape("250m"), _shape("1")
_CASTS: tuple[tuple[str, int, str, tuple[Seat, ...]], ...] = (
    (
        "tf",
        4,
        "tensorflow",
        (Seat("chief", 1, 1, _SMALL), Seat("ps", 1, 1, _SMALL), Seat("worker", 1, 12, _CORE)),
    ),
    ("ho", 3, "horovod", (Seat("launcher", 1, 1, _SMALL), Seat("worker", 2, 10, _CORE))),
    ("py", 2, "pytorch", (Seat("worker", 1, 16, _shape("2")),)),
    (
        "mx",
        2,
        "mxnet",
        (
            Seat("scheduler", 1, 1, _SMALL),
            Seat("server", 1, 1, _SMALL),
            Seat("worker", 1, 5, _CORE),
        ),
    ),
    ("pa", 1, "paddle", (Seat("master", 1, 1, _SMALL), Seat("trainer", 1, 8, _CORE))),
    ("no", 1, "none", (Seat("worker", 1, 20, _shape("500m")),)),
    ("big", 1, "tensorflow", (Seat("ps", 1, 1, _SMALL), Seat("worker", 14, 14, _shape("7")))),
)
"""Name, how many of them, framework, roles. The last one never fits."""


def mix(seed: int, *, gpu_nodes: int = 0) -> World:
    """Twelve nodes of 8 CPU; the jobs' order and the scheduler's draws depend on the seed."""
    random = Random(seed)  # noqa: S311 (it only mixes)
    jobs = [
        queued(f"{name}{number}", Kind(framework), cast, items=_ITEMS if name == "no" else None)
        for name, count, framework, cast in _CASTS
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
    settings = Settings(start_up=1, tie=random.randrange, **waits)
    return World(tuple(nodes), tuple(trainings), services, settings=settings)


_KINDS = (
    ("tensorflow", (("chief", 1, 1), ("ps", 1, 1), ("worker", 1, 12))),
    ("horovod", (("launcher", 1, 1), ("worker", 2, 10))),
    ("pytorch", (("worker", 1, 16),)),
    ("mxnet", (("scheduler", 1, 1), ("server", 1, 1), ("worker", 1, 5))),
    ("paddle", (("master", 1, 1), ("trainer", 1, 8))),
    ("none", (("worker", 1, 20),)),
)


@st.composite
def mixes(draw: st.DrawFn) -> World:
    """Two to ten jobs of any framework on two to eight nodes, in any order of arrival."""
    trainings = []
    for number in range(draw(st.integers(2, 10))):
        framework, roles = draw(st.sampled_from(_KINDS))
        core = _shape(draw(st.sampled_from(["500m", "1", "1", "2", "3"])))
        cast = [Seat(name, low, high, _SMALL if low == high else core) for name, low, high in roles]
        items = _ITEMS if framework == "none" else None
        priority = draw(st.sampled_from([0, 0, 0, 5]))
        job = queued(f"job-{number}", Kind(framework), cast, priority=priority, items=items)
        work = Work(1e9) if items else ENDLESS
        trainings.append(Training(job, work, at=draw(st.sampled_from([0.0, 0.1, 1.0, 20.0]))))
    web = Service("web", _CORE, ((0.3, draw(st.integers(0, 8))),), priority=1000)
    nodes = [
        _node(f"node-{number}", gpus=draw(st.sampled_from([0, 0, 2])))
        for number in range(draw(st.integers(2, 8)))
    ]
    random = draw(st.randoms(use_true_random=False))
    settings = Settings(start_up=1, shut_down=draw(st.integers(0, 3)), tie=random.randrange)
    return World(tuple(nodes), tuple(trainings), (web,), settings=settings)
