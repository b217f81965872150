"""Kubernetes objects of the experiments: base load, the web service, and the jobs of each arm."""

from collections.abc import Iterator
from typing import Any, Final

from benchmarks.experiments.cluster import BASE, MASTER, NGINX, PSERVER, TRAINER, Kind, nodes
from benchmarks.experiments.experiments import START_SECONDS, STOP_SECONDS, Experiment
from edl import contract

NAMESPACE: Final = "experiment"
KIND_LABEL: Final = "experiment/kind"
JOB_LABEL: Final = "experiment/job"
PRIORITY_CLASS: Final = "experiment-web"

Manifest = dict[str, Any]


def namespace() -> Manifest:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}


def base_load() -> Iterator[Manifest]:
    """A pod on every node that exists before all others, like those of DaemonSets."""
    for node, _ in nodes():
        template = _template(BASE, "")
        yield {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"base-{node}", "namespace": NAMESPACE} | template["metadata"],
            "spec": {**template["spec"], "nodeName": node},
        }


def priority_class() -> Manifest:
    """The priority recommended for services in our documentation: jobs shrink, no preemption."""
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": PRIORITY_CLASS},
        "value": 1000,
        "preemptionPolicy": "Never",
    }


def web(replicas: int) -> Manifest:
    template = _template(NGINX, "")
    template["spec"] |= {"priorityClassName": PRIORITY_CLASS, "restartPolicy": "Always"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": NGINX.name, "namespace": NAMESPACE},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {KIND_LABEL: NGINX.name}},
            "template": template,
        },
    }


def elastic(experiment: Experiment, name: str) -> Iterator[Manifest]:
    """The training job as its users label it, with the names of Paddle's EDL controller."""
    all_roles = f"master=1,pserver={experiment.pservers},trainer={experiment.min}..{experiment.max}"
    notes = {
        contract.ROLES: all_roles,
        contract.MODE: "cloud",
        contract.ENTRYPOINT: "python train.py",
        contract.WORKSPACE: "/home/job-1",
    }
    for kind in (MASTER, PSERVER, TRAINER):
        labels = {contract.FRAMEWORK: "paddle", contract.JOB: name, contract.ROLE: kind.name}
        yield _job(kind, name, {"labels": labels, "annotations": notes}, {})


def plain(experiment: Experiment, name: str) -> Iterator[Manifest]:
    """The same job with a fixed number of trainers and without our labels."""
    sizes = {MASTER: 1, PSERVER: experiment.pservers, TRAINER: experiment.fixed}
    for kind, size in sizes.items():
        spec = {"parallelism": size, "completions": size, "completionMode": "Indexed"}
        yield _job(kind, name, {}, spec)


def scaled(experiment: Experiment, name: str) -> Iterator[Manifest]:
    """The same job without our labels, starting at its minimum: EDL resizes the trainers.

    Its trainer pods have no indexes; its Job is complete when one has succeeded and no other runs.
    """
    fixed = {MASTER: 1, PSERVER: experiment.pservers}
    for kind, size in fixed.items():
        spec = {"parallelism": size, "completions": size, "completionMode": "Indexed"}
        yield _job(kind, name, {}, spec)
    yield _job(TRAINER, name, {}, {"parallelism": experiment.min})


def _job(kind: Kind, name: str, metadata: Manifest, spec: Manifest) -> Manifest:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": f"{name}-{kind.name}", "namespace": NAMESPACE} | metadata,
        "spec": spec | {"template": _template(kind, name)},
    }


def _template(kind: Kind, job: str) -> Manifest:
    asked = {"cpu": f"{kind.cpu}m", "memory": f"{kind.memory}Mi"}
    container = {"name": kind.name, "image": "example/image:1", "resources": {"requests": asked}}
    times = {
        "sandbox.edl.dev/run-after": f"{START_SECONDS}s",
        "sandbox.edl.dev/stop-after": f"{STOP_SECONDS}s",
    }
    return {
        "metadata": {"labels": {KIND_LABEL: kind.name, JOB_LABEL: job}, "annotations": times},
        "spec": {"restartPolicy": "OnFailure", "containers": [container]},
    }
