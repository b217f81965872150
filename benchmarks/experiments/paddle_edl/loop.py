"""Runs EDL's algorithm on a real control plane: it reads nodes, pods and Jobs, and patches Jobs."""

import threading
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from benchmarks.experiments.cluster import TRAINER
from benchmarks.experiments.experiments import Experiment
from benchmarks.experiments.manifests import JOB_LABEL, KIND_LABEL, NAMESPACE
from benchmarks.experiments.paddle_edl.algorithm import (
    PERIOD,
    Idle,
    Pods,
    Room,
    Trainers,
    decide,
    megabytes,
)
from benchmarks.follow import Observed, observed
from edl.errors import ClusterError
from edl.kube.cluster import Cluster, ListOptions
from edl.model import ObjectRef
from edl.quantities import CPU, Resources

_OVER: Final = ("Succeeded", "Failed")


@dataclass
class Autoscaler:
    """Decides every `PERIOD` seconds, and at once when a job is added or removed."""

    api: Cluster
    experiment: Experiment
    _names: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _news: threading.Event = field(default_factory=threading.Event)
    _ended: bool = False

    def start(self) -> None:
        threading.Thread(target=self._run, name="paddle-edl", daemon=True).start()

    def stop(self) -> None:
        self._ended = True
        self._news.set()

    def add(self, name: str) -> None:
        with self._lock:
            self._names.add(name)
        self._news.set()

    def remove(self, name: str) -> None:
        with self._lock:
            self._names.discard(name)
        self._news.set()

    def look(self) -> dict[str, int]:
        """Make one decision and carry it out; returns the parallelism of each resized job."""
        with self._lock:
            names = set(self._names)
        nodes = observed(self.api.list(ListOptions("Node")).items)
        pods = observed(self.api.list(ListOptions("Pod")).items)
        jobs = observed(self.api.list(ListOptions("Job", NAMESPACE)).items)
        sizes = {job.metadata.name: job.spec.parallelism for job in jobs}
        changes = decide(self._trainers(names, sizes, pods), room(nodes, pods))
        for name, size in changes.items():
            target = ObjectRef("Job", NAMESPACE, f"{name}-{TRAINER.name}")
            self.api.patch(target, {"spec": {"parallelism": size}})
        return changes

    def _trainers(
        self, names: Iterable[str], sizes: Mapping[str, int], pods: Iterable[Observed]
    ) -> list[tuple[Trainers, Pods]]:
        """The jobs whose trainer Job exists; the next decision looks for the others again."""
        counts = counted(pods)
        there = {name: sizes.get(f"{name}-{TRAINER.name}") for name in sorted(names)}
        cpu, memory = TRAINER.cpu, megabytes(TRAINER.memory * 2**20)
        bounds = (self.experiment.min, self.experiment.max)
        return [
            (Trainers(name, *bounds, size, cpu, memory), counts.get(name, Pods(0, 0, 0)))
            for name, size in there.items()
            if size is not None
        ]

    def _run(self) -> None:
        due = time.monotonic() + PERIOD
        while not self._ended:
            if not self._news.wait(max(due - time.monotonic(), 0.0)):
                due += PERIOD
            self._news.clear()
            try:
                self.look()
            except ClusterError as error:
                print(f"EDL's algorithm: {error}", flush=True)


def counted(pods: Iterable[Observed]) -> dict[str, Pods]:
    """The trainer pods of each job; an ended or terminating pod counts only in `total`."""
    found: dict[str, Counter[str]] = {}
    for pod in pods:
        labels = pod.metadata.labels
        if labels.get(KIND_LABEL) == TRAINER.name:
            states = found.setdefault(labels.get(JOB_LABEL, ""), Counter())
            states["total"] += 1
            states[pod.status.phase] += not pod.gone
    return {
        name: Pods(states["total"], states["Running"], states["Pending"])
        for name, states in found.items()
    }


def room(nodes: Iterable[Observed], pods: Iterable[Observed]) -> Room:
    """The sums of the requests of all pods that have not ended."""
    free = {node.metadata.name: Resources.parse(node.status.allocatable) for node in nodes}
    total = sum(free.values(), Resources())
    asked = Resources()
    for pod in pods:
        if pod.status.phase not in _OVER:
            parts = (Resources.parse(one.resources.requests) for one in pod.spec.containers or ())
            requests = sum(parts, Resources())
            asked += requests
            if pod.spec.nodeName in free:
                free[pod.spec.nodeName] -= requests
    return Room(
        cpu_total=total.get(CPU),
        cpu=asked.get(CPU),
        memory_total=megabytes(total.get("memory")),
        memory=megabytes(asked.get("memory")),
        nodes=[Idle(left.get(CPU), megabytes(left.get("memory"))) for left in free.values()],
    )
