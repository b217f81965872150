"""`make demo REAL=1`: TensorFlow trains on a real node while workers are added and removed."""

import json
import os
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import Final

from dev import images, in_cluster
from dev.demo.samples import NAMESPACE
from dev.demo.screen import Screen
from dev.demo.story import plugin_path
from edl import contract
from edl.writes import Json
from sandbox import Sandbox
from sandbox.builds.build import BuildEnvironment
from sandbox.errors import SandboxError
from sandbox.paths import places

JOB: Final = "digits"
MAX_WORKERS: Final = 3
UNTOUCHED: Final = (f"{JOB}-chief", f"{JOB}-ps")
_EXAMPLE: Final = Path("examples/tensorflow/job.yaml")
_CLAIM: Final = "tensorflow-data"
_PATIENCE: Final = 240.0
"""The seconds after which a scene fails."""
_WATCHED: Final = 8.0
"""How many seconds of training are watched at each size."""


@dataclass(frozen=True, slots=True)
class Progress:
    """The highest step that any trainer has reached, and its loss."""

    step: int
    loss: float


@dataclass
class Training:
    """Plays the scenes of the real training."""

    sandbox: Sandbox
    screen: Screen
    _begun: float = field(default_factory=time.monotonic)

    def play(self) -> list[str]:
        """Play the scenes; returns the broken promises. SandboxError: a scene timed out."""
        self._install()
        self._kubectl("create", "namespace", NAMESPACE)
        self.screen.scene(
            "TensorFlow: a chief, a ps and one worker start; workers scale up into idle capacity"
        )
        applied = self._kubectl("apply", "-f", str(_EXAMPLE))
        self.screen.command(f"kubectl apply -f {_EXAMPLE}", applied)
        watch = self._follow_status()
        try:
            return self._train()
        finally:
            watch.terminate()
            watch.wait()

    def _install(self) -> None:
        self.screen.scene("A real node that runs kubectl-edl from its own image")
        build_env = BuildEnvironment(places(os.environ).cache, os.environ)
        archives = [
            images.built(n, build_env, self.screen.command) for n in ("kubectl-edl", "tensorflow")
        ]
        started = self.sandbox.up(real=True)
        self.screen.command(f"python -m sandbox up --real   # ready after {started.seconds:.1f} s")
        for archive in archives:
            self.sandbox.import_image(archive)
        in_cluster.apply(self.sandbox)
        self.screen.command("kubectl apply -k manifests/base")
        pods = self.sandbox.kubectl("get", "pods", "-n", contract.SYSTEM_NAMESPACE)
        self.screen.command(f"kubectl get pods -n {contract.SYSTEM_NAMESPACE}", pods)
        self._begun = time.monotonic()

    def _train(self) -> list[str]:
        self._until(lambda: self._running() == MAX_WORKERS, f"{MAX_WORKERS} workers run")
        self._until(lambda: self._progress() is not None, "the first step is made")
        first, pods = self._watch(), self._lasting()
        self.screen.scene("Two workers are removed during training; chief and ps continue")
        self._scale("1")
        self._until(lambda: self._running() == 1, "one worker runs")
        self._watch()
        self.screen.scene("Two workers are added again")
        self._scale("--auto")
        self._until(lambda: self._running() == MAX_WORKERS, f"{MAX_WORKERS} workers run")
        self._watch()
        touched = self._lasting() != pods
        self.screen.scene(
            "The chief makes the last step: the workers end, and the reconciler ends ps"
        )
        self._until(self._is_done, "every Job is complete")
        return self._broken(first, self._watch(0), touched=touched)

    def _broken(self, first: Progress, last: Progress, *, touched: bool) -> list[str]:
        promises = {
            "chief and ps were not to be replaced or restarted": not touched,
            f"the loss was to fall, from {first.loss:.3f} to {last.loss:.3f}": last.loss
            < first.loss,
        }
        return [promise for promise, kept in promises.items() if not kept]

    def _scale(self, size: str) -> None:
        done = subprocess.run(
            self._edl("scale", JOB, size),
            env=self._environ(),
            capture_output=True,
            text=True,
            check=False,
        )
        self.screen.command(f"kubectl edl scale {JOB} {size}", done.stdout + done.stderr)
        if done.returncode:
            raise SandboxError(f"kubectl edl scale {JOB} {size} failed: {done.stderr.strip()}")

    def _watch(self, seconds: float = _WATCHED) -> Progress:
        time.sleep(seconds)
        now = self._progress()
        if now is None:
            raise SandboxError("no worker has made a step")
        self._line(f"step {now.step}, loss {now.loss:.3f}")
        return now

    def _progress(self) -> Progress | None:
        """The progress that trainers have recorded in their volume; None if there is none yet."""
        volume = self._kubectl("get", "pvc", _CLAIM, "-o", "jsonpath={.spec.volumeName}")
        folder = self._kubectl("get", "pv", volume, "-o", "jsonpath={.spec.hostPath.path}")
        ledgers = [path.read_text() for path in Path(folder, "ledger").glob("*.jsonl")]
        # The last line may be half written.
        lines = [line for text in ledgers for line in text.split("\n")[:-1][-1:]]
        steps = [
            Progress(int(found["step"]), float(found["loss"])) for found in map(json.loads, lines)
        ]
        return max(steps, key=lambda progress: progress.step, default=None)

    def _follow_status(self) -> subprocess.Popen[str]:
        """Start `kubectl edl status -w`; its lines are printed between ours as they come."""
        self.screen.command("kubectl edl status -w &")
        watch = subprocess.Popen(
            self._edl("status", "-w"), env=self._environ(), stdout=subprocess.PIPE, text=True
        )
        Thread(target=self._repeat, args=(watch,), daemon=True).start()
        return watch

    def _repeat(self, watch: subprocess.Popen[str]) -> None:
        for line in watch.stdout or ():
            self._line(line.rstrip())

    def _line(self, text: str) -> None:
        self.screen.verdict([f"  {time.monotonic() - self._begun:5.1f} s  {text}"])

    def _lasting(self) -> list[tuple[str, int]]:
        """UID and restart count of each pod that no resize may touch."""
        return [
            (pod["metadata"]["uid"], pod["status"]["containerStatuses"][0]["restartCount"])
            for job in UNTOUCHED
            for pod in self._items("pods", f"-l={contract.JOB_NAME_LABEL}={job}")
        ]

    def _running(self) -> int:
        workers = self._items("pods", f"-l={contract.JOB_NAME_LABEL}={JOB}-worker")
        return sum(pod["status"].get("phase") == "Running" for pod in workers)

    def _is_done(self) -> bool:
        conditions = (job["status"].get("conditions", ()) for job in self._items("jobs"))
        return all(any(c["type"] == "Complete" for c in found) for found in conditions)

    def _items(self, *what: str) -> list[Json]:
        return list(json.loads(self._kubectl("get", *what, "-o", "json"))["items"])

    def _until(self, holds: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + _PATIENCE
        while not holds():
            self.sandbox.check()
            if time.monotonic() > deadline:
                pods = self._kubectl("get", "jobs,pods")
                raise SandboxError(f"it never came: {what}\n{pods}")
            time.sleep(0.3)

    def _kubectl(self, *args: str) -> str:
        return self.sandbox.kubectl("-n", NAMESPACE, *args)

    def _edl(self, *args: str) -> list[str]:
        return [str(self.sandbox.kubectl_path), "edl", *args, "-n", NAMESPACE]

    def _environ(self) -> dict[str, str]:
        """The environment of kubectl, which finds the plugin."""
        return {**self.sandbox.kubectl_environment(), "PATH": plugin_path()}
