"""How each contestant is installed, and the Job that its users submit for the same work."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from string import Template
from typing import Any, Final

from benchmarks.scheduling import kueue
from benchmarks.scheduling.autoscaled.trace import CPU, LEAST, MOST, NAMESPACE, QUOTA
from dev.installation import install
from edl import contract
from sandbox import Sandbox

_QUEUE: Final = Path(__file__).parent / "queue.yaml"


@dataclass(frozen=True, slots=True)
class Contestant:
    """`job` returns the Job of this name."""

    install: Callable[[Sandbox], None]
    job: Callable[[str], dict[str, Any]]


def _install_ours(sandbox: Sandbox, *, growth: str) -> None:
    options = (f"--growth={growth}", "--idle-node-after=10", "--provisioning-timeout=120")
    install(sandbox, sandbox.folder / "edl", ("reconciler",), *options)


def _elastic(name: str) -> dict[str, Any]:
    labels = {contract.FRAMEWORK: "tensorflow", contract.MIN: str(LEAST), contract.MAX: str(MOST)}
    return _job(name, LEAST, labels)


def _install_kueue(sandbox: Sandbox) -> None:
    kueue.start(sandbox)
    values = {"queue": kueue.QUEUE, "namespace": NAMESPACE, "cpus": f"{QUOTA:.1f}"}
    text = Template(_QUEUE.read_text()).substitute(values)
    sandbox.kubectl("apply", "--server-side", "-f", "-", input=text)


def _fixed(name: str, pods: int) -> dict[str, Any]:
    job = _job(name, pods, kueue.LABELS)
    job["spec"]["suspend"] = True
    return job


def _job(name: str, pods: int, labels: dict[str, str]) -> dict[str, Any]:
    container = {"name": "tensorflow", "image": "none", "resources": {"requests": {"cpu": CPU}}}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    sizes = {"parallelism": pods, "completions": pods, "completionMode": "Indexed"}
    return {
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels},
        "spec": {**sizes, "template": template},
    }


CONTESTANTS: Final = {
    "kubectl-edl, needed-nodes": Contestant(
        partial(_install_ours, growth="needed-nodes"), _elastic
    ),
    "kubectl-edl, any-node": Contestant(partial(_install_ours, growth="any-node"), _elastic),
    **{
        f"Kueue, {pods} pods a job": Contestant(_install_kueue, partial(_fixed, pods=pods))
        for pods in (LEAST, (LEAST + MOST) // 2, MOST)
    },
}
