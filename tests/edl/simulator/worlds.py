"""Builders for simulator tests: a small world in a line. Times are seconds from its start."""

# ruff: noqa: ANN401 - the builders pass any field on

from datetime import timedelta
from typing import Any

from hypothesis import strategies as st
from msgspec.structs import replace

from edl.model import Node, Shape
from edl.planner.decision_limits import Limits
from edl.planner.policies import POLICIES
from edl.quantities import Resources
from edl.simulator import (
    LINEAR,
    Amdahl,
    Elastic,
    Plain,
    Scenario,
    Service,
    SimulatedNodePool,
    Timing,
    Training,
    Work,
    Workload,
    WorkloadRole,
    queued,
)
from tests.edl.packed_draws import Draw, packed

ALL = Limits(load_ceiling=1)
"""Every core may be used."""
FAIR = Elastic(POLICIES["fair"], ALL)
PROMPT = Timing(start_up=0, shut_down=0)
"""Pods are there and gone at once."""


def shape(cpu: float = 1) -> Shape:
    return Shape(Resources.parse({"cpu": cpu, "pods": 1}))


def node(name: str, cpu: float = 4, **fields: Any) -> Node:
    room = Resources.parse({"cpu": cpu, "memory": "64Gi", "pods": 110})
    return Node(name, room, Resources(), Resources(), **fields)


def nodes(count: int, cpu: float = 4) -> tuple[Node, ...]:
    return tuple(node(f"node-{number}", cpu) for number in range(count))


def training(name: str, low: int, high: int, seconds: float, **fields: Any) -> Training:
    """PyTorch workers of one core; `seconds` of one of them, faster with more of them."""
    kind = Workload(fields.pop("framework", "pytorch"))
    roles = fields.pop("roles", [WorkloadRole("worker", low, high, shape(fields.pop("cpu", 1)))])
    given = {key: fields.pop(key) for key in ("priority", "items") if key in fields}
    work = Work(seconds, fields.pop("curve", LINEAR))
    return Training(queued(name, kind, roles, **given), work, **fields)


def world(*things: Node | Training | Service, settings: Timing = PROMPT, **fields: Any) -> Scenario:
    return Scenario(
        nodes=tuple(one for one in things if isinstance(one, Node)),
        trainings=tuple(one for one in things if isinstance(one, Training)),
        services=tuple(one for one in things if isinstance(one, Service)),
        settings=settings,
        **fields,
    )


def trainings(draw: Draw, number: int) -> Training:
    """One that fits into an empty world of `worlds`: its minimum has at most 4 pods of 1 core."""
    framework = draw.one_of("pytorch", "pytorch", "tensorflow", "none", "horovod")
    low = draw.between(1, 3)
    roles = [WorkloadRole("worker", low, low + draw.between(0, 6), shape())]
    if framework == "horovod":
        roles.insert(0, WorkloadRole("launcher", 1, 1, shape()))
    if framework == "tensorflow" and draw.yes():
        roles.insert(0, WorkloadRole("ps", 1, 1, shape()))
    job = queued(
        f"job-{number}",
        Workload(framework),
        roles,
        priority=draw.one_of(0, 0, 5),
        items=draw.between(1, 12) if framework == "none" else None,
    )
    curve = Amdahl(draw.one_of(0.0, 0.1, 1.0))
    return Training(
        job,
        Work(draw.one_of(5.0, 60.0, 700.0), curve),
        at=draw.one_of(0.0, 0.0, 10.0, 33.3, 400.0),
        checkpoint=draw.one_of(None, 20.0),
    )


@packed
def worlds(draw: Draw) -> Scenario:
    """Some jobs, and somebody else's pods for a while."""
    found = [trainings(draw, number) for number in range(draw.between(1, 5))]
    services = []
    if draw.yes():
        away = draw.one_of(50.0, 300.0)
        steps = ((0.0, draw.between(0, 4)), (away, 0))
        services.append(Service("web", shape(2), steps, priority=draw.one_of(0, 9)))
    size = draw.one_of(2, 4)
    return world(
        *nodes(draw.between(4 // size, 4), size),
        *found,
        *services,
        settings=Timing(start_up=draw.one_of(0, 2), shut_down=draw.one_of(0, 3)),
    )


@packed
def _pooled(draw: Draw) -> Scenario:
    """The same without nodes: they come for its pods."""
    size = draw.one_of(2, 4, 16)
    pool = SimulatedNodePool("pool", node("", size), limit=20, start_up=30, idle=30)
    return replace(draw.of(worlds()), nodes=(), pools=(pool,))


POOLED = _pooled()
MANNERS = st.sampled_from([*(Elastic(policy, ALL) for policy in POLICIES.values()), Plain()])
LEDS = st.sampled_from([Elastic(policy, ALL) for policy in POLICIES.values()])
LONG = timedelta(days=3).total_seconds()
