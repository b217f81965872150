"""How each contestant is installed, and the Jobs that its users submit for the same work."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from string import Template
from typing import Final

from benchmarks.scheduling import kueue
from benchmarks.scheduling.autoscaled.trace import CPU, LEAST, MAX_PODS, NAMESPACE, QUOTA
from dev.installation import install
from edl import contract
from edl.writes import Json
from sandbox import Sandbox

_WORKER: Final = "-worker"
_QUEUE: Final = Path(__file__).parent / "queue.yaml"


@dataclass(frozen=True, slots=True)
class Contestant:
    """`jobs` returns the Jobs of one submission.

    The pods of the Job of its name, followed by `suffix`, do the work.
    """

    install: Callable[[Sandbox], None]
    jobs: Callable[[str], Sequence[Json]]
    suffix: str = ""


def _install_ours(sandbox: Sandbox, *, growth: str) -> None:
    sandbox.kubectl("label", "namespace", NAMESPACE, f"{contract.KUBEXEC}=enabled")
    options = (f"--growth={growth}", "--idle-node-after=10", "--provisioning-timeout=120")
    install(sandbox, sandbox.folder / "edl", ("reconciler",), *options)


def _restarting(name: str) -> Sequence[Json]:
    """TensorFlow without parameter servers restarts as a whole for a new size."""
    labels = {
        contract.FRAMEWORK: "tensorflow",
        contract.MIN: str(LEAST),
        contract.MAX: str(MAX_PODS),
    }
    return (_job(name, LEAST, labels),)


def _live(name: str, *, least: int) -> Sequence[Json]:
    """Horovod is resized while it trains; its launcher asks for next to nothing."""
    roles = {contract.ROLES: f"launcher=1,worker={least}..{MAX_PODS}"}
    labels = {contract.FRAMEWORK: "horovod", contract.JOB: name}
    launcher = _job(f"{name}-launcher", 1, labels | {contract.ROLE: "launcher"}, "30m")
    workers = _job(f"{name}{_WORKER}", least, labels | {contract.ROLE: "worker"})
    for job in (launcher, workers):
        job["metadata"]["annotations"] = roles
    return launcher, workers


def _install_kueue(sandbox: Sandbox) -> None:
    kueue.start(sandbox)
    values = {"queue": kueue.QUEUE, "namespace": NAMESPACE, "cpus": f"{QUOTA:.1f}"}
    text = Template(_QUEUE.read_text()).substitute(values)
    sandbox.kubectl("apply", "--server-side", "-f", "-", input=text)


def _fixed(name: str, *, pods: int) -> Sequence[Json]:
    job = _job(name, pods, kueue.LABELS)
    job["spec"]["suspend"] = True
    return (job,)


def _job(name: str, pods: int, labels: dict[str, str], cpu: str = CPU) -> Json:
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": cpu}}}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    sizes = {"parallelism": pods, "completions": pods, "completionMode": "Indexed"}
    return {
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels},
        "spec": {**sizes, "template": template},
    }


_NEEDED: Final = partial(_install_ours, growth="needed-nodes")
_ANY: Final = partial(_install_ours, growth="any-node")
_MEDIUM: Final = 5
"""Between `LEAST` and `MAX_PODS`."""

CONTESTANTS: Final = {
    "kubectl-edl, live, 2 to 8": Contestant(_NEEDED, partial(_live, least=LEAST), _WORKER),
    "kubectl-edl, live, 5 to 8": Contestant(_NEEDED, partial(_live, least=_MEDIUM), _WORKER),
    "kubectl-edl, live, 2 to 8, any-node": Contestant(_ANY, partial(_live, least=LEAST), _WORKER),
    "kubectl-edl, restarts, 2 to 8": Contestant(_NEEDED, _restarting),
    **{
        f"Kueue, {pods} pods a job": Contestant(_install_kueue, partial(_fixed, pods=pods))
        for pods in (LEAST, _MEDIUM, MAX_PODS)
    },
}
