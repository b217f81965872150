"""What users and administrators do to a cluster, drawn from a seed."""

import time
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Final

from tests.attack.api import MERGE, Api, Json, Refused, path
from tests.attack.promises import PREFIX

if TYPE_CHECKING:
    from collections.abc import Callable

NAMESPACES: Final = ("attack-a", "attack-b")
_CONFLICT: Final = 409


def container(cpu: str) -> Json:
    asked = {"requests": {"cpu": cpu, "memory": "64Mi"}}
    return {"name": "main", "image": "none", "command": ["train"], "resources": asked}


def job(name: str, labels: Json, cpu: str, notes: Json | None = None) -> Json:
    spec = {"restartPolicy": "OnFailure", "terminationGracePeriodSeconds": 1,
            "containers": [container(cpu)]}  # fmt: skip
    named = {PREFIX + word: text for word, text in labels.items()}
    noted = {PREFIX + word: text for word, text in (notes or {}).items()}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "labels": named, "annotations": noted},
        "spec": {"template": {"spec": spec}},
    }


def training(framework: str, name: str, sizes: tuple[int, int], cpu: str) -> list[Json]:
    """The Jobs of one training job."""
    low, high = sizes
    if framework in ("none", "pytorch"):
        words = {"framework": framework, "min": str(low), "max": str(high)}
        # A calm cluster is judged after seconds: torchrun's own cooldown would outlast them.
        one = job(name, words, cpu, {"cooldown": "10s"} if framework == "pytorch" else {})
        one["spec"]["parallelism"] = low
        return [one]
    first = {"tensorflow": ("chief", "ps"), "horovod": ("launcher",)}[framework]
    all_roles = ",".join([*(f"{role}=1" for role in first), f"worker={low}..{high}"])
    return [
        job(f"{name}-{role}", {"framework": framework, "job": name, "role": role}, cpu,
            {"roles": all_roles})
        for role in (*first, "worker")
    ]  # fmt: skip


def deployment(replicas: int) -> Json:
    labels = {"app": "web"}
    pod: Json = {"metadata": {"labels": labels}, "spec": {"containers": [container("1")]}}
    pod["spec"]["terminationGracePeriodSeconds"] = 1
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": pod},
    }


@dataclass(slots=True)
class Churn:
    """One seed's deeds, one after another."""

    api: Api
    dice: Random
    living: dict[tuple[str, str], list[Json]] = field(default_factory=dict)
    """The Jobs of each training job that was created, by namespace and name."""
    twins: list[tuple[tuple[str, str], tuple[str, str]]] = field(default_factory=list)
    deleted: set[tuple[str, str]] = field(default_factory=set)
    _made: int = 0
    _cordoned: list[str] = field(default_factory=list)

    def begin(self) -> None:
        for namespace in NAMESPACES:
            body = {"apiVersion": "v1", "kind": "Namespace"}
            meta = {"name": namespace, "labels": {PREFIX + "kubexec": "enabled"}}
            self.api.call("POST", path("Namespace"), body | {"metadata": meta})
            self.api.call("POST", path("Deployment", namespace), deployment(0))

    def deed(self) -> None:
        deeds: list[Callable[[], None]] = [self.create, self.create, self.create, self.delete]
        deeds += [self.scale_web, self.scale_web, self.cordon, self.uncordon, self.kill]
        with suppress(Refused):  # what is gone meanwhile is gone
            self.dice.choice(deeds)()

    def create(self) -> None:
        framework = self.dice.choice(("none", "pytorch", "tensorflow", "horovod"))
        low = self.dice.randint(1, 3)
        sizes, cpu = (low, low + self.dice.randint(0, 6)), self.dice.choice(("500m", "1", "2"))
        namespace = self.dice.choice(NAMESPACES)
        keys = [self._create(namespace, framework, sizes, cpu) for _ in range(2)]
        self.twins.append((keys[0], keys[1]))

    def _create(
        self, namespace: str, framework: str, sizes: tuple[int, int], cpu: str
    ) -> tuple[str, str]:
        self._made += 1
        key = (namespace, f"{framework[:2]}{self._made}")
        self.living[key] = training(framework, key[1], sizes, cpu)
        for one in self.living[key]:
            self.api.call("POST", path("Job", namespace), one)
        time.sleep(1.1)  # creation times count in seconds
        return key

    def delete(self) -> None:
        if self.living:
            self._delete(self.dice.choice(sorted(self.living)))

    def _delete(self, key: tuple[str, str]) -> None:
        self.deleted.add(key)
        for one in self.living.pop(key):
            with suppress(Refused):
                body = {"propagationPolicy": "Background"}
                self.api.call("DELETE", path("Job", key[0], one["metadata"]["name"]), body)

    def scale_web(self) -> None:
        self._patch("Deployment", self.dice.choice(NAMESPACES), "web",
                    {"spec": {"replicas": self.dice.randint(0, 14)}})  # fmt: skip

    def cordon(self) -> None:
        nodes = [one["metadata"]["name"] for one in self.api.list("Node")["items"]]
        if len(self._cordoned) * 4 < len(nodes):
            self._cordoned.append(self.dice.choice(nodes))
            self._patch("Node", "", self._cordoned[-1], {"spec": {"unschedulable": True}})

    def uncordon(self) -> None:
        if self._cordoned:
            self._patch("Node", "", self._cordoned.pop(), {"spec": {"unschedulable": None}})

    def kill(self) -> None:
        """A pod of a training job is deleted by hand; never one that must stay."""
        namespace = self.dice.choice(NAMESPACES)
        pods = [one["metadata"]["name"] for one in self.api.list("Pod", namespace)["items"]]
        if workers := sorted(name for name in pods if "-worker-" in name):
            self.api.call("DELETE", path("Pod", namespace, self.dice.choice(workers)))

    def calm(self) -> None:
        """Nodes and other owners' pods as in the beginning."""
        for namespace in NAMESPACES:
            self._patch("Deployment", namespace, "web", {"spec": {"replicas": 0}})
        while self._cordoned:
            self.uncordon()

    def apply_again(self) -> list[str]:
        """Names of Jobs that the same manifest changes."""
        changed = []
        for (namespace, _), jobs in sorted(self.living.items()):
            for one in jobs:
                where = path("Job", namespace, one["metadata"]["name"])
                with suppress(Refused):
                    before, after = self._apply(where, one)
                    if before["metadata"]["generation"] != after["metadata"]["generation"]:
                        differs = [
                            key
                            for key in after["spec"]
                            if after["spec"][key] != before["spec"].get(key)
                        ]
                        changed.append(f"{namespace}/{one['metadata']['name']}: {differs}")
        return changed

    def _apply(self, where: str, manifest: Json) -> tuple[Json, Json]:
        """The Job before and after; whoever else writes it in between is no part of this."""
        while True:
            before = self.api.call("GET", where)
            metadata = manifest["metadata"] | {
                "resourceVersion": before["metadata"]["resourceVersion"]
            }
            try:
                return before, self.api.call(
                    "PATCH", where, manifest | {"metadata": metadata}, MERGE
                )
            except Refused as error:
                if error.status != _CONFLICT:
                    raise

    def end(self) -> None:
        for key in sorted(self.living):
            self._delete(key)

    def _patch(self, kind: str, namespace: str, name: str, body: Json) -> None:
        self.api.call("PATCH", path(kind, namespace, name), body, MERGE)
