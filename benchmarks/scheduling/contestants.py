"""Contestants that start gangs on a sandbox's control plane: ours, and Kueue.

Each gets the same nodes, tenants' pods and gangs (`benchmarks/scheduling/racks.py`). All gangs are
queued first, and released together.
"""

import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Thread
from typing import Any, Final

from benchmarks.follow import Observed, follow, observed
from benchmarks.report.processor import processor
from benchmarks.scheduling import kueue
from benchmarks.scheduling.racks import (
    BLOCK,
    GPU,
    RACK,
    TENANTS,
    Gang,
    Placements,
    RackScenario,
    groups,
    template,
    tenants,
)
from dev.installation import install
from edl import contract
from edl.kube.api.client import ApiClient, connect
from edl.kube.cluster import ListOptions
from edl.model import ObjectRef
from sandbox import Sandbox, temporary_sandbox

NAMESPACE: Final = "default"
THREADS: Final = 8
QUOTA: Final = "nothing-yet"
QUIET: Final = 20.0
"""The seconds without a new binding after which gangs that wait count as waiting for good."""
PATIENCE: Final = 300.0


_BATCH: Final = "batch.kubernetes.io"
_INDEX: Final = f"{_BATCH}/job-completion-index"


@dataclass(frozen=True, slots=True)
class Contestant:
    """A contestant. `hold` runs before the gangs are created, `release` starts the queue."""

    job: Callable[[Gang], dict[str, Any]]
    hold: Callable[[Sandbox, ApiClient], None]
    queued: Callable[[Sandbox, ApiClient], int]
    release: Callable[[Sandbox, ApiClient], None]


def _job(gang: Gang, labels: Mapping[str, str], **fields: Any) -> dict[str, Any]:  # noqa: ANN401
    sizes = {"parallelism": gang.pods, "completions": gang.pods, "completionMode": "Indexed"}
    metadata = {"name": gang.name, "labels": dict(labels)}
    return {"metadata": metadata, "spec": {**sizes, **fields}}


def our_job(gang: Gang) -> dict[str, Any]:
    """The gang as our Job; it prefers few racks, as Kueue does in a required block."""
    asked = {contract.REQUIRED_TOPOLOGY: gang.required} if gang.required else {}
    wished = {contract.PREFERRED_TOPOLOGY: f"{BLOCK},{RACK}"}
    found = _job(gang, {contract.FRAMEWORK: "pytorch"}, template=template(gang.gpus))
    found["metadata"]["annotations"] = asked | wished
    return found


def our_hold(sandbox: Sandbox, api: ApiClient) -> None:
    """Make gangs wait, with a quota of no GPUs."""
    body = {"metadata": {"name": QUOTA}, "spec": {"hard": {f"requests.{GPU}": "0"}}}
    api.create(ObjectRef("ResourceQuota", NAMESPACE, QUOTA), body)
    install(sandbox, sandbox.folder / "edl")


def our_queued(_sandbox: Sandbox, api: ApiClient) -> int:
    jobs = observed(api.list(ListOptions("Job", NAMESPACE)).items)
    return sum(contract.REASON in job.metadata.annotations for job in jobs)


def our_release(sandbox: Sandbox, _api: ApiClient) -> None:
    sandbox.kubectl("delete", "resourcequota", "-n", NAMESPACE, QUOTA, "--wait=false")


def kueues_job(gang: Gang) -> dict[str, Any]:
    prefix = "kueue.x-k8s.io/podset"
    asked = {f"{prefix}-required-topology": gang.required}
    wished = {f"{prefix}-preferred-topology": RACK}
    pods = template(gang.gpus, asked if gang.required else wished)
    return _job(gang, kueue.LABELS, suspend=True, template=pods)


def kueues_hold(sandbox: Sandbox, _api: ApiClient) -> None:
    kueue.install(sandbox, NAMESPACE, kueue.TOPOLOGY)


OURS, KUEUE = "kubectl-edl", "Kueue"
CONTESTANTS: Final = {
    OURS: Contestant(our_job, our_hold, our_queued, our_release),
    KUEUE: Contestant(
        kueues_job,
        kueues_hold,
        lambda sandbox, _api: kueue.workloads(sandbox, NAMESPACE),
        lambda sandbox, _api: kueue.open_queue(sandbox),
    ),
}


def watch(api: ApiClient, found: Placements) -> None:
    """Follow the pods and record their bindings; never returns."""

    def seen(pod: Observed, _deleted: bool) -> None:  # noqa: FBT001 - as it is called
        if node := pod.spec.nodeName:
            labels = pod.metadata.labels
            found.see(labels[f"{_BATCH}/job-name"], labels[_INDEX], node, time.monotonic())

    follow(api, ListOptions("Pod", NAMESPACE), lambda _: None, seen)


def measure(contestant: Contestant, given: RackScenario) -> Placements:
    with temporary_sandbox("racks", *groups()) as sandbox, ThreadPoolExecutor(THREADS) as pool:
        api = connect(str(sandbox.kubeconfig))
        sandbox.kubectl("create", "namespace", TENANTS)
        others = tenants(given.machines)
        targets = ((ObjectRef("Pod", TENANTS, pod["metadata"]["name"]), pod) for pod in others)
        list(pool.map(lambda pair: api.create(*pair), targets))
        contestant.hold(sandbox, api)
        for gang in given.gangs:
            api.create(ObjectRef("Job", NAMESPACE, gang.name), contestant.job(gang))
            time.sleep(1.0)  # queues are ordered by creation times in whole seconds
        until(lambda: contestant.queued(sandbox, api) == len(given.gangs))
        found = Placements(given)
        Thread(target=watch, args=(connect(str(sandbox.kubeconfig)), found), daemon=True).start()
        time.sleep(2.0)  # until the watch is open
        before, found.begun = processor(sandbox), time.monotonic()
        contestant.release(sandbox, api)
        until(lambda: time.monotonic() - max(found.times, default=found.begun) > QUIET)
        found.processor = {name: spent - before[name] for name, spent in processor(sandbox).items()}
        return found


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError(f"after {PATIENCE:.0f} s")
        time.sleep(0.5)
