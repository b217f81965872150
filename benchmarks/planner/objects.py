"""Objects as an API server sends them, in large numbers: made on request and never kept.

A pod has 5 or 6 kB, a Job 4 kB, a node 8 kB (its images), with managed fields and conditions. Every
node is full, every training job runs at half of its maximum.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from edl import contract, node_affinity

if TYPE_CHECKING:
    from collections.abc import Callable

CREATED: Final = "2026-01-01T10:00:00Z"
NAMESPACES: Final = 40
_CPU: Final = ("500m", "1", "2", "4")
_MEMORY: Final = ("1Gi", "2Gi", "4Gi", "8Gi")
_FOLDER: Final = Path(__file__).parent / "templates"
_TEXTS: Final[Mapping[str, str]] = {
    path.stem: " ".join(path.read_text().split()) for path in _FOLDER.glob("*.json")
}


class Scale(NamedTuple):
    """The size of the cluster; half of the pods belong to the training jobs, in equal parts."""

    nodes: int
    pods: int
    jobs: int

    @property
    def each(self) -> int:
        return self.pods // 2 // self.jobs


class Objects:
    """The objects of a cluster as JSON, by kind; all have the resource version `version`."""

    def __init__(self, scale: Scale, version: int = 1000) -> None:
        self.scale = scale
        self.version = version
        self._kinds: dict[str, tuple[Callable[[int], bytes], int]] = {
            "Node": (self.node, scale.nodes),
            "Pod": (self.pod, scale.pods),
            "Job": (self.job, scale.jobs),
            "Service": (self.service, scale.jobs),
            "PodDisruptionBudget": (self.budget, scale.jobs),
            "Namespace": (self.namespace, NAMESPACES),
        }

    def of(self, kind: str) -> Iterator[bytes]:
        if kind in self._kinds:
            make, count = self._kinds[kind]
            yield from map(make, range(count))

    def node(self, number: int, **changes: str) -> bytes:
        return self._filled("node", number, {"NAME": f"node-{number:05}"} | changes)

    def pod(self, number: int, **changes: str) -> bytes:
        """A training job's pod in the first half of the numbers, a ReplicaSet's in the second."""
        ours = number < self.scale.pods // 2
        job, index = divmod(number, self.scale.each)
        owner = _job(job) if ours else f"web-{number % 2000:05}-7d9f8c6b5d"
        values = {
            "NAME": f"{owner}-{index}-x{number:05x}",
            "OWNER": owner,
            "OWNERUID": _uid("job", job) if ours else _uid("set", number % 2000),
            "NAMESPACE": _namespace(job if ours else number),
            "INDEX": str(index),
            "NODE": f"node-{number * 7919 % self.scale.nodes:05}",
            "IP": f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}",
            "READY": "True",
            **(_amounts(job) if ours else {"CPU": "100m", "MEMORY": "128Mi"}),
        }
        return self._filled("our-pod" if ours else "other-pod", number, values | changes)

    def placed(self, number: int) -> bytes:
        """A training job's pod with the node that a plan gave it."""
        node = f"node-{number * 7919 % self.scale.nodes:05}"
        notes = f'"annotations": {{"{contract.ASSIGNED_NODE}": "{node}", '
        required = json.dumps(node_affinity.narrowed("[]", node))
        found = self.pod(number % (self.scale.pods // 2)).decode()
        found = found.replace('"annotations": {', notes, 1)
        return found.replace('"affinity": {', f'"affinity": {required[:-1]}, ', 1).encode()

    def job(self, number: int, **changes: str) -> bytes:
        """A running elastic Job as the webhook completes it."""
        values = {"NAME": _job(number), "SIZE": str(self.scale.each), **_amounts(number)}
        return self._filled("job", number, values | {"NAMESPACE": _namespace(number)} | changes)

    def service(self, number: int) -> bytes:
        return self._around(number, _job(number))

    def budget(self, number: int) -> bytes:
        return self._around(number, f"{_job(number)}-first-2")

    def namespace(self, number: int) -> bytes:
        return self._filled("namespace", number, {"NAME": _namespace(number)})

    def _around(self, number: int, name: str) -> bytes:
        values = {"NAME": name, "NAMESPACE": _namespace(number), "OWNER": _job(number)}
        return self._filled("around", number, values)

    def _filled(self, template: str, number: int, values: Mapping[str, str]) -> bytes:
        always = {
            "UID": _uid(template, number),
            "VERSION": str(self.version),
            "AT": f"2026-01-01T09:{number // 60 % 60:02}:{number % 60:02}Z",
            "BEAT": CREATED,
            "ZONE": "abc"[number % 3],
        }
        text = _TEXTS[template].replace('"%SIZE%"', values.get("SIZE", ""))
        for name, value in {**always, **values}.items():
            text = text.replace(f"%{name}%", value)
        return text.encode()


def _uid(kind: str, number: int) -> str:
    return f"{sum(map(ord, kind)):08x}-51b0-4c3a-9e21-{number:012x}"


def _job(number: int) -> str:
    return f"train-{number:05}"


def _namespace(number: int) -> str:
    return f"team-{number % NAMESPACES:02}"


def _amounts(job: int) -> dict[str, str]:
    return {"CPU": _CPU[job % 4], "MEMORY": _MEMORY[job // 4 % 4]}
