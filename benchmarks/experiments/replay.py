"""A run in real time, with a real control plane, webhook and reconciler, and simulated nodes."""

import json
import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from benchmarks.experiments import manifests
from benchmarks.experiments.ceiling import rooms
from benchmarks.experiments.cluster import (
    BASE,
    MACHINES,
    MASTER,
    NGINX,
    PSERVER,
    TRAINER,
    Kind,
    nodes,
)
from benchmarks.experiments.course import Course, Track, begin
from benchmarks.experiments.experiments import EDL, WITH, WITHOUT, Experiment, trace
from benchmarks.experiments.observe import RUNNING, Group, Pods
from benchmarks.experiments.paddle_edl.loop import Autoscaler
from benchmarks.experiments.record import LAG_LIMIT, Circumstances, Record, Step, record
from benchmarks.report import circumstances
from dev.installation import install
from edl.errors import NotFound
from edl.kube.api.client import ApiClient, connect
from edl.model import ObjectRef
from sandbox import NodeGroup, Sandbox, temporary_sandbox

LOOK: Final = 0.1
"""The seconds between two reads."""
SAMPLE: Final = 1.0
_ENDS: Final = {"metadata": {"annotations": {"sandbox.edl.dev/complete-after": "100ms"}}}
_PATIENCE: Final = 120.0
_MAKE: Final = {WITH: manifests.elastic, EDL: manifests.scaled, WITHOUT: manifests.plain}


def replay(experiment: Experiment, way: str, seed: int, logs: Path | None = None) -> Record:
    """Play one run from its beginning to its horizon. Raises SandboxError."""
    with _cluster(experiment, way, logs) as (sandbox, api):
        stage = ReplayRun(experiment, way, sandbox, api)
        stage.prepare()
        return stage.play(seed)


@contextmanager
def _cluster(
    experiment: Experiment, way: str, logs: Path | None
) -> Iterator[tuple[Sandbox, ApiClient]]:
    groups = [
        NodeGroup(
            count=machines.count,
            cpu=f"{machines.cpu}m",
            memory=f"{machines.memory}Mi",
            name_prefix=machines.name,
        )
        for machines in MACHINES
    ]
    with temporary_sandbox(f"{experiment.name.lower()}-{way}", *groups) as sandbox:
        if way == WITH:
            install(sandbox, sandbox.folder / "edl")
        yield sandbox, connect(str(sandbox.kubeconfig))
        if logs:
            _keep(sandbox, logs)


def _keep(sandbox: Sandbox, logs: Path) -> None:
    """Keep the logs of the processes and the start time of each pod, for later investigation."""
    logs.mkdir(parents=True, exist_ok=True)
    for name in sandbox.running():
        (logs / f"{name}.log").write_bytes(sandbox.log(name).read_bytes())
    pods = sandbox.kubectl("get", "pods", "-n", manifests.NAMESPACE, "-o", "json")
    (logs / "pods.json").write_text(pods)


@dataclass
class ReplayRun:
    """One run: repeatedly performs the actions that are due and records what runs."""

    experiment: Experiment
    way: str
    sandbox: Sandbox
    api: ApiClient
    pods: Pods = field(init=False)
    autoscaler: Autoscaler = field(init=False)
    steps: list[Step] = field(default_factory=list)
    loads: list[float] = field(default_factory=list)
    _told: set[str] = field(default_factory=set)
    _begun: float = 0.0

    def __post_init__(self) -> None:
        self.pods = Pods(self.api)
        self.autoscaler = Autoscaler(self.api, self.experiment)

    def prepare(self) -> None:
        """Start the base load and the service at its first size; all pods run before t = 0."""
        self.api.create(ObjectRef("Namespace", "", manifests.NAMESPACE), manifests.namespace())
        self._until_account()
        self.pods.start()
        for pod in manifests.base_load():
            self._create("Pod", pod)
        expected = {BASE.name: sum(machines.count for machines in MACHINES)}
        if self.experiment.nginx:
            _, replicas = self.experiment.nginx[0]
            self._create("PriorityClass", manifests.priority_class())
            text = json.dumps(manifests.web(replicas))
            self.sandbox.kubectl("apply", "-f", "-", input=text)
            expected[NGINX.name] = replicas
        self._until(expected)

    def play(self, seed: int) -> Record:
        before = circumstances.load()
        self.steps = [Step(0.0, self.experiment.replicas, 0.0)]
        course = begin(self.experiment, trace(self.experiment, seed))
        self._begun = time.monotonic()
        if self.way == EDL:
            self.autoscaler.start()
        with ThreadPoolExecutor(8) as acts:
            self._loop(course, acts)
        self.autoscaler.stop()
        lags = self.pods.lags(self._begun, LAG_LIMIT)
        if self.experiment.nginx:
            self._end_step()
        self.pods.stop()
        told = self._circumstances(seed, before)
        return record(told, course, tuple(self.steps), self._stops(course), lags)

    def _circumstances(self, seed: int, before: float) -> Circumstances:
        loads = (before, sum(self.loads) / len(self.loads), max(self.loads))
        return Circumstances(
            *(self.experiment.name, "replay", self.way, seed),
            date=circumstances.now(),
            commit=circumstances.commit(),
            load=tuple(round(load, 2) for load in loads),
            nice=os.getpriority(os.PRIO_PROCESS, 0),
            machine=circumstances.machine(),
        )

    def _loop(self, course: Course, acts: ThreadPoolExecutor) -> None:
        experiment, sampled = self.experiment, -SAMPLE
        steps = list(experiment.nginx[1:])
        arrivals = list(course.tracks.values())
        while (now := self._now()) < experiment.horizon:
            counts = self.pods.counts()
            for track in course.look(now, counts):
                self._clear(track, acts)
            self._end_trainers(course, acts)
            self._reach(now, counts.get(Group("", NGINX.name, RUNNING), 0))
            if now - sampled >= SAMPLE:
                self.sandbox.check()
                course.sample(now, counts)
                self.loads.append(circumstances.load())
                if not experiment.nginx and now <= experiment.window[1]:
                    self._end_step()
                sampled = now
            if arrivals and arrivals[0].arrival.at <= now:
                self._submit(arrivals.pop(0))
            if steps and steps[0][0] <= now:
                self._scale(steps.pop(0)[1], acts)
            time.sleep(LOOK)

    def _now(self) -> float:
        return time.monotonic() - self._begun

    def _submit(self, track: Track) -> None:
        track.created = track.work.at = track.seen = self._now()
        for manifest in _MAKE[self.way](self.experiment, track.arrival.name):
            self._create("Job", manifest)
        self.autoscaler.add(track.arrival.name)

    def _scale(self, replicas: int, acts: ThreadPoolExecutor) -> None:
        self._end_step()
        self.steps.append(Step(round(self._now(), 2), replicas, None))
        name = f"deployment/{NGINX.name}"
        namespace = ("-n", manifests.NAMESPACE)
        acts.submit(self.sandbox.kubectl, *namespace, "scale", name, f"--replicas={replicas}")

    def _reach(self, now: float, running: int) -> None:
        if (last := self.steps[-1]).reached is None and running == last.replicas:
            self.steps[-1] = replace(last, reached=round(now, 2))

    def _end_step(self) -> None:
        free = self._free({node: machines.cpu for node, machines in nodes()}, BASE, NGINX)
        left = self._free(free, PSERVER, MASTER)
        self.steps[-1] = replace(self.steps[-1], rooms=rooms(free), left=rooms(left))

    def _free(self, free: dict[str, int], *kinds: Kind) -> dict[str, int]:
        """The CPU of each node that pods of these kinds leave free."""
        held = {kind: self.pods.on_nodes(kind.name) for kind in kinds}
        return {
            node: room - sum(kind.cpu * counts[node] for kind, counts in held.items())
            for node, room in free.items()
        }

    def _end_trainers(self, course: Course, acts: ThreadPoolExecutor) -> None:
        """End all trainers of a job whose work is done, including those that started late."""
        for name, track in course.tracks.items():
            if track.finished is not None:
                for pod in self.pods.running(name, TRAINER.name):
                    if pod not in self._told:
                        self._told.add(pod)
                        acts.submit(self._end, pod)

    def _end(self, pod: str) -> None:
        with suppress(NotFound):
            self.api.patch(ObjectRef("Pod", manifests.NAMESPACE, pod), _ENDS)

    def _clear(self, track: Track, acts: ThreadPoolExecutor) -> None:
        """Delete Jobs at once that neither complete nor are deleted by kubectl-edl."""
        self.autoscaler.remove(track.arrival.name)
        if self.way != WITH:
            for kind in (MASTER, PSERVER):
                name = f"{track.arrival.name}-{kind.name}"
                acts.submit(self.api.delete, ObjectRef("Job", manifests.NAMESPACE, name))

    def _stops(self, course: Course) -> dict[str, int]:
        found = {kind.name: 0 for kind in (TRAINER, PSERVER, MASTER)}
        for stop in self.pods.stops:
            track = course.tracks.get(stop.job)
            finished = track.finished if track else None
            if track and (finished is None or stop.at - self._begun < finished):
                found[stop.kind] += 1
        return found

    def _create(self, kind: str, manifest: manifests.Manifest) -> None:
        metadata = manifest["metadata"]
        target = ObjectRef(kind, metadata.get("namespace", ""), metadata["name"])
        self.api.create(target, manifest)

    def _until_account(self) -> None:
        """Wait for the namespace's default ServiceAccount; pods are rejected before it exists."""
        account = ObjectRef("ServiceAccount", manifests.NAMESPACE, "default")
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline:
            with suppress(NotFound):
                self.api.get(account)
                return
            time.sleep(LOOK)

    def _until(self, expected: dict[str, int]) -> None:
        deadline = time.monotonic() + _PATIENCE
        wanted = {Group("", kind, RUNNING): count for kind, count in expected.items()}
        while not wanted.items() <= self.pods.counts().items():
            self.sandbox.check()
            if time.monotonic() > deadline:
                raise SystemExit(f"it never came: {expected}; there is {self.pods.counts()}")
            time.sleep(LOOK)
