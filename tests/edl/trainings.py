"""Training jobs as they stand in a cluster, and what steps write for them."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec.structs import replace

from edl import contract
from edl.annotations.last_change import read_reason
from edl.model import (
    JobKey,
    ObjectRef,
    Pod,
    PodPhase,
    ResizePolicy,
    Restart,
    Role,
    Shape,
    TrainingJob,
)
from edl.quantities import Resources
from edl.steps.dependents import dependents_of
from edl.writes import Create, Delete, Json, Patch, Step
from tests.roles import pod_of, role_of

NOW = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)
LONG_AGO = NOW - timedelta(hours=1)
KEY = JobKey("lab", "mnist")
_SHAPE = Shape(Resources.of({"cpu": 1000, "pods": 1}))


def seconds(count: float) -> timedelta:
    return timedelta(seconds=count)


def role(name: str, low: int = 1, high: int | None = None, **fields: Any) -> Role:  # noqa: ANN401
    """A running role, LIVE where it can move, of size `low` unless said otherwise."""
    most = low if high is None else high
    usual: dict[str, Any] = {
        "job": f"mnist-{name}",
        "uid": f"uid-{name}",
        "version": f"v-{name}",
        "size": low,
        "suspended": False,
        "resizing": ResizePolicy.FIXED if low == most else ResizePolicy.LIVE,
        "is_leader": name in ("chief", "launcher"),
        "is_service": name == "ps",
        "indexed": True,
        "shape": _SHAPE,
        "port": 2222,
        "resized_at": LONG_AGO,
    }
    return role_of(name=name, min=low, max=most, **(usual | fields))


def pod(role_name: str, index: int, **fields: Any) -> Pod:  # noqa: ANN401
    """A ready pod, an hour old."""
    usual: dict[str, Any] = {
        "node": "n1",
        "phase": PodPhase.RUNNING,
        "ready": True,
        "terminating": False,
        "gates": (),
        "created_at": LONG_AGO,
    }
    name = f"mnist-{role_name}-{index}-abcde"
    return pod_of(name=name, index=index, version=f"v-{name}", **(usual | fields))


def pods(role_name: str, indexes: Iterable[int], **fields: Any) -> tuple[Pod, ...]:  # noqa: ANN401
    return tuple(pod(role_name, index, **fields) for index in indexes)


def training(*roles: Role, framework: str = "tensorflow", **fields: Any) -> TrainingJob:  # noqa: ANN401
    """A training job with all its dependents, unless `existing_dependents` is given."""
    job = TrainingJob(KEY, framework, roles, LONG_AGO, **fields)
    return job if "existing_dependents" in fields else surrounded(job)


def surrounded(job: TrainingJob) -> TrainingJob:
    """With everything that it needs around it."""
    wanted = dependents_of(replace(job, existing_dependents={}))
    targets = (write.target for write in wanted if isinstance(write, Create))
    return replace(job, existing_dependents={target: f"uid of {target.name}" for target in targets})


def host(index: int) -> str:
    return f"mnist-worker-{index}.mnist.lab.svc"


def hostfile(indexes: Iterable[int], slots: int = 1) -> str:
    return "".join(f"{host(index)}:{slots}\n" for index in indexes)


def patches(step: Step) -> list[Patch]:
    return [write for write in step.writes if isinstance(write, Patch)]


def job_patches(step: Step) -> Mapping[str, Json]:
    """Bodies by Job name, without their annotations."""
    return {
        patch.target.name: dict(patch.body.get("spec") or {})
        for patch in patches(step)
        if patch.target.kind == "Job"
    }


def written(patch: Patch) -> Mapping[str, str]:
    """Annotations of the patched object, by their names in the contract."""
    found: Mapping[str, str] = patch.body["metadata"].get("annotations", {})
    return found


def is_stopped(annotations: Mapping[str, str]) -> bool:
    """Whether a role was stopped in order to start again."""
    found = read_reason(annotations[contract.LAST_CHANGE])
    return found is not None and found.restart is Restart.STOPPED


def published(writes: Iterable[object]) -> str | None:
    """The host list that is written to launchers, None where none is."""
    lists = [
        written(write)[contract.HOSTFILE]
        for write in writes
        if isinstance(write, Patch) and contract.HOSTFILE in written(write)
    ]
    return lists[0] if lists else None


def created(step: Step) -> list[ObjectRef]:
    return [write.target for write in step.writes if isinstance(write, Create)]


def deleted(step: Step) -> list[ObjectRef]:
    return [write.target for write in step.writes if isinstance(write, Delete)]
