"""Builders for planner tests: a cluster in a line. Times count in seconds from NOON."""

# ruff: noqa: ANN401 - the builders pass any field on

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec.structs import replace

from edl.model import (
    ClusterState,
    Demand,
    JobKey,
    Node,
    Pod,
    PodPhase,
    ResizePolicy,
    Role,
    Shape,
    TrainingJob,
)
from edl.quantities import Resources
from tests.roles import pod_of, role_of

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def room(cpu: float = 0, memory: str = "0", gpu: int = 0, pods: int = 1) -> Resources:
    named = {"cpu": cpu, "memory": memory, "nvidia.com/gpu": gpu, "pods": pods}
    return Resources.parse(named)


def shape(cpu: float = 1, memory: str = "0", gpu: int = 0, **rules: Any) -> Shape:
    return Shape(room(cpu, memory, gpu), **rules)


def node(name: str, cpu: float = 4, memory: str = "64Gi", gpu: int = 0, **fields: Any) -> Node:
    return Node(name, room(cpu, memory, gpu, pods=110), Resources(), Resources(), **fields)


def pod(index: int, on: str = "", **fields: Any) -> Pod:
    given: dict[str, Any] = {
        "name": f"pod-{index}",
        "index": index,
        "node": on,
        "phase": PodPhase.RUNNING if on else PodPhase.PENDING,
        "ready": bool(on),
        "terminating": False,
        "gates": (),
        "created_at": at(-3600),
        "version": "1",
    }
    return pod_of(**(given | fields))


def role(name: str = "worker", low: int = 1, high: int = 1, **fields: Any) -> Role:
    """A suspended LIVE role; `on` names the nodes of its pods and starts it."""
    on = fields.pop("on", None)
    given: dict[str, Any] = {
        "job": name,
        "uid": name,
        "version": "1",
        "size": low if on is None else len(on),
        "suspended": on is None,
        "resizing": ResizePolicy.LIVE if high > low else ResizePolicy.FIXED,
        "is_leader": name in ("worker", "chief"),
        "is_service": name == "ps",
        "indexed": True,
        "shape": shape(),
        "pods": tuple(pod(index, found) for index, found in enumerate(on or ())),
    }
    return role_of(name=name, min=low, max=high, **(given | fields))


def job(name: str, *roles: Role, queued: float = -3600, **fields: Any) -> TrainingJob:
    """Its roles are gated where the webhook gates them, or as they say."""
    several = len(roles) > 1
    roles = tuple(
        found.changed(
            gated=found.template.gated or several or found.spec.resizing is ResizePolicy.RESTART
        )
        for found in roles
    )
    started = any(not found.status.suspended for found in roles)
    # TensorFlow without parameter servers restarts as a whole for a lost pod.
    live = all(found.spec.resizing is not ResizePolicy.RESTART for found in roles)
    loses = live and any(found.has_new_failures for found in roles)
    given: dict[str, Any] = {
        "framework": "none" if loses else "tensorflow",
        "started_at": at(-3000) if started else None,
    }
    return TrainingJob(JobKey("ns", name), roles=roles, queued_at=at(queued), **(given | fields))


def worker(name: str, low: int, high: int, **fields: Any) -> TrainingJob:
    """A training job of one role; fields of the job are `queued`, `priority`, `paused`, …"""
    of_job = {
        key: fields.pop(key)
        for key in ("queued", "priority", "paused", "started_at", "missing", "problem", "refusals")
        if key in fields
    }
    return job(name, role("worker", low, high, **fields), **of_job)


def demand(name: str, needs: Shape, count: int = 1, priority: int = 0) -> Demand:
    return Demand(needs, priority, count, f"web/{name}")


def cluster(*things: Node | TrainingJob | Demand, seconds: float = 0) -> ClusterState:
    """Nodes' use is what the jobs' pods request, besides what a node says itself."""
    jobs = tuple(found for found in things if isinstance(found, TrainingJob))
    nodes = tuple(found for found in things if isinstance(found, Node))
    demands = tuple(found for found in things if isinstance(found, Demand))
    on_nodes = _on_nodes(jobs)
    used = tuple(_with_use(found, on_nodes) for found in nodes)
    return ClusterState(at(seconds), used, jobs, demands)


def alternating(size: int, *others: TrainingJob) -> ClusterState:
    """Replicas of live jobs fill the nodes; each job's alternate between two of them."""
    names = [f"node-{number:04}" for number in range(size)]
    pairs = zip(names, [*names[1:], names[0]], strict=True)
    jobs = (worker(f"low-{pair[0]}", 1, 4, on=[*pair] * 2) for pair in pairs)
    return cluster(*map(node, names), *jobs, *others)


def _with_use(found: Node, on_nodes: Mapping[str, Sequence[tuple[Resources, bool]]]) -> Node:
    used, leaving, evictable_pods = found.used, found.releasing, found.evictable_pods
    for requests, terminating in on_nodes.get(found.name, ()):
        used += requests
        if terminating:
            leaving += requests
        else:
            evictable_pods += 1
    return replace(found, used=used, releasing=leaving, evictable_pods=evictable_pods)


def _on_nodes(jobs: Iterable[TrainingJob]) -> dict[str, list[tuple[Resources, bool]]]:
    """By node what its pods request, and whether they are terminating."""
    found: dict[str, list[tuple[Resources, bool]]] = {}
    for training in jobs:
        for part in training.roles:
            for one in (*part.status.pods, *part.previous_pods):
                if one.node and not one.ended:
                    on_it = found.setdefault(one.node, [])
                    on_it.append((part.template.shape.requests, one.terminating))
    return found


def busy(found: Node, by: Resources) -> Node:
    """The node with other owners' pods on it."""
    return replace(found, used=found.used + by, evictable_pods=found.evictable_pods + 1)
