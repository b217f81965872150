"""What an observer sees of Jobs and pods: as little as the laws ask for."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import msgspec

from edl import contract
from edl.quantities import CPU, MEMORY, pod_requests

Json: TypeAlias = Mapping[str, Any]

COUNTED: Final = (CPU, MEMORY)
_ENDINGS: Final = ("Complete", "Failed")
_ENDED: Final = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True)
class JobSight:
    """One Job at one moment. `ending` is Complete, Failed or empty; `training` what it belongs to.

    `bounds`: min and max. `starts`: how many operations "started" its history tells of.
    """

    uid: str
    name: str
    training: str
    bounds: tuple[int, int]
    size: int
    suspended: bool
    ending: str
    request: tuple[int, ...]
    """Of one pod, by COUNTED."""
    completions: int | None = None
    completed: frozenset[int] = frozenset()
    """The indexes that the Job controller has counted."""
    started_at: str = ""
    starts: int = 0
    reason: str = ""
    gone: bool = False

    @property
    def runs(self) -> bool:
        return not (self.suspended or self.ending or self.gone)


@dataclass(frozen=True, slots=True)
class PodSight:
    """One pod at one moment. `job` is its owner's UID, empty for one of somebody else."""

    uid: str
    name: str
    job: str
    index: int | None
    node: str
    phase: str
    request: tuple[int, ...]
    terminating: bool = False
    gone: bool = False

    @property
    def holds(self) -> bool:
        """Whether it takes room on its node."""
        return bool(self.node) and not self.gone and self.phase not in _ENDED

    @property
    def runs(self) -> bool:
        return self.holds and self.phase == "Running" and not self.terminating


def job_sight(raw: bytes, *, gone: bool = False) -> JobSight:
    body: Json = msgspec.json.decode(raw)
    meta, spec, status = body["metadata"], body["spec"], body.get("status", {})
    labels, notes = meta.get("labels", {}), meta.get("annotations", {})
    size = int(spec.get("parallelism", 1))
    held = [c["type"] for c in status.get("conditions", ()) if c["status"] == "True"]
    history = notes.get(contract.HISTORY, "")
    return JobSight(
        uid=meta["uid"],
        name=meta["name"],
        training=labels.get(contract.JOB, meta["name"]),
        bounds=(int(labels.get(contract.MIN, size)), int(labels.get(contract.MAX, size))),
        size=size,
        suspended=bool(spec.get("suspend")),
        ending=next((kind for kind in held if kind in _ENDINGS), ""),
        request=_request(spec["template"]["spec"]),
        completions=spec.get("completions"),
        completed=_indexes(status.get("completedIndexes", "")),
        started_at=notes.get(contract.STARTED_AT, ""),
        starts=sum(line.split()[1:2] == ["started"] for line in history.splitlines()),
        reason=notes.get(contract.MESSAGE, ""),
        gone=gone,
    )


def pod_sight(raw: bytes, *, gone: bool = False) -> PodSight:
    body: Json = msgspec.json.decode(raw)
    meta, spec = body["metadata"], body["spec"]
    owners = [one["uid"] for one in meta.get("ownerReferences", ()) if one["kind"] == "Job"]
    index = meta.get("annotations", {}).get(contract.COMPLETION_INDEX_ANNOTATION)
    return PodSight(
        uid=meta["uid"],
        name=meta["name"],
        job=next(iter(owners), ""),
        index=None if index is None else int(index),
        node=spec.get("nodeName", ""),
        phase=body.get("status", {}).get("phase", "Pending"),
        request=_request(spec),
        terminating="deletionTimestamp" in meta,
        gone=gone,
    )


def _indexes(text: str) -> frozenset[int]:
    """Of intervals as the Job controller writes them: `0,2-4`."""
    pairs = (part.partition("-") for part in text.split(",") if part)
    return frozenset(
        index for first, _, last in pairs for index in range(int(first), int(last or first) + 1)
    )


def _request(pod_spec: Json) -> tuple[int, ...]:
    found = pod_requests(pod_spec)
    return tuple(found.get(name) for name in COUNTED)
