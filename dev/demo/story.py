"""The demo's scenes, in order: each does one thing and waits until the cluster has reacted."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dev.demo.expectations import Expectations
from dev.demo.samples import NAMESPACE, Look, Sampler
from dev.demo.screen import Screen
from edl import contract
from edl.writes import Json
from sandbox import Sandbox

MANIFESTS: Final = Path("examples/story")
_PATIENCE: Final = 90.0
"""The seconds after which a scene fails."""
_WEB: Final = 12


class SceneFailed(Exception):
    """The cluster did not reach the state that the scene waits for."""


@dataclass(frozen=True, slots=True)
class Story:
    """Plays the scenes, with what they need."""

    sandbox: Sandbox
    sampler: Sampler
    screen: Screen
    expectations: Expectations

    def play(self) -> None:
        self._kubectl("create", "namespace", NAMESPACE)
        self._kubectl("label", "namespace", NAMESPACE, f"{contract.KUBEXEC}={contract.ENABLED}")
        self._start_mnist()
        self._start_resnet()
        self._queue_bert()
        self._make_room_for_web()
        self._finish_mnist()
        self._finish_the_rest()

    def _start_mnist(self) -> None:
        self.screen.scene(
            "TensorFlow (a chief, two ps, workers 1..12) starts, and scales up into idle capacity"
        )
        self._apply("mnist.yaml")
        self._until(lambda look: _full(look, "mnist-worker"), "mnist runs 12 workers")

    def _start_resnet(self) -> None:
        self.screen.scene(
            "Horovod (a launcher, workers 2..10) starts with the list of its ready workers"
        )
        self._apply("resnet.yaml")
        self._until(lambda look: _running(look, "resnet-launcher") == 1, "resnet's launcher runs")
        self._until(lambda look: _full(look, "resnet-worker"), "resnet grows to 10")

    def _queue_bert(self) -> None:
        self.screen.scene(
            "A gang that needs 17 whole nodes does not fit: it is queued, with the reason"
        )
        self._apply("bert.yaml")
        self._until(
            lambda look: "bert" in look.jobs and bool(look.jobs["bert"].reason), "bert waits"
        )
        self._edl("status")
        self._edl("queue")

    def _make_room_for_web(self) -> None:
        self.screen.scene(
            f"A service with priority scales to {_WEB}: elastic jobs scale down, no pod is evicted"
        )
        self._apply("web.yaml")
        self._kubectl("scale", "deployment", "web", f"--replicas={_WEB}")
        self._until(lambda look: look.web == _WEB, f"{_WEB} web pods run")
        preempted = self._kubectl(
            "get", "events", "--field-selector=reason=Preempted", "-o", "name"
        )
        self.expectations.expect(
            not preempted, "pods were preempted, although the class never preempts"
        )
        self.screen.scene("The service scales down: the jobs scale up again")
        self._kubectl("scale", "deployment", "web", "--replicas=0")
        self._until(
            lambda look: _full(look, "mnist-worker") and _full(look, "resnet-worker"),
            "both have grown back",
        )
        self._show_injected()

    def _finish_mnist(self) -> None:
        self.screen.scene(
            "mnist's chief completes: the training job ends, and the gang of 17 starts"
        )
        self._complete("mnist-chief")
        self._until(lambda look: look.jobs["mnist-ps"].done, "ps and workers are ended")
        self._until(lambda look: _full(look, "bert"), "bert runs as a whole")

    def _finish_the_rest(self) -> None:
        self.screen.scene(
            "The other jobs finish; deleting the Jobs deletes all that was created for them"
        )
        self._complete("bert")
        self._complete("resnet-launcher")
        self._until(lambda look: all(job.done for job in look.jobs.values()), "every Job is done")
        self._edl("status")
        if self.expectations.broken:
            return
        self._kubectl("delete", "jobs", "--all")
        self._until(lambda look: not look.jobs and not look.uids, "Jobs and pods are gone")

    def _apply(self, manifest: str) -> None:
        file = MANIFESTS / manifest
        self.screen.command(f"kubectl apply -f {file}", self._kubectl("apply", "-f", str(file)))

    def _complete(self, job: str) -> None:
        """Let pod 0 succeed, which decides the Job; simulated pods end only when told."""
        selector = f"{contract.JOB_NAME_LABEL}={job},{contract.COMPLETION_INDEX_ANNOTATION}=0"
        self._kubectl("annotate", "pods", "-l", selector, "sandbox.edl.dev/complete-after=100ms")

    def _show_injected(self) -> None:
        worker = self._read_pod("mnist-worker", "0")
        env = worker["spec"]["containers"][0]["env"]
        config = next(entry["value"] for entry in env if entry["name"] == contract.TF_CONFIG_ENV)
        self.screen.command("TF_CONFIG of mnist-worker-0, as stored by the API server", config)
        listed, most = config.count("-worker-"), self.sampler.last.jobs["mnist-worker"].max
        self.expectations.expect(listed == most, f"TF_CONFIG has {listed} of {most} workers")
        # A launcher that has just begun is told a little later.
        self._until(
            lambda look: self._hostfile().count("-worker-") == look.jobs["resnet-worker"].size,
            "the host list has every worker",
        )
        self.screen.command(f"{contract.EDL_HOSTFILE} of resnet's launcher, live", self._hostfile())

    def _hostfile(self) -> str:
        notes = self._read_pod("resnet-launcher", "0")["metadata"]["annotations"]
        return str(notes.get(contract.HOSTFILE, ""))

    def _read_pod(self, job: str, index: str) -> Json:
        selector = f"{contract.JOB_NAME_LABEL}={job},{contract.COMPLETION_INDEX_ANNOTATION}={index}"
        found: Json = json.loads(self._kubectl("get", "pods", "-l", selector, "-o", "json"))
        return dict(found["items"][0])

    def _edl(self, command: str) -> None:
        found = subprocess.run(
            [self.sandbox.kubectl_path, "edl", command, "-n", NAMESPACE],
            env={**self.sandbox.kubectl_environment(), "PATH": plugin_path()},
            capture_output=True,
            text=True,
            check=False,
        )
        self.screen.command(f"kubectl edl {command}", found.stdout + found.stderr)
        self.expectations.expect(found.returncode == 0, f"kubectl edl {command} failed")

    def _kubectl(self, *args: str) -> str:
        return self.sandbox.kubectl("-n", NAMESPACE, *args)

    def _until(self, holds: Callable[[Look], bool], what: str) -> None:
        deadline = time.monotonic() + _PATIENCE
        while not holds(self.sampler.last):
            self.sandbox.check()
            if time.monotonic() > deadline:
                raise SceneFailed(f"not within {_PATIENCE:.0f} s: {what}")
            time.sleep(0.1)


def plugin_path() -> str:
    """PATH with the folder of this Python first, where kubectl finds the plugin."""
    return f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"


def _running(look: Look, name: str) -> int:
    job = look.jobs.get(name)
    return job.running if job else 0


def _full(look: Look, name: str) -> bool:
    job = look.jobs.get(name)
    return job is not None and job.running == job.max
