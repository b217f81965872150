"""How each contestant is installed, and what its users submit: ours, and Kueue as documented.

Kueue has a ClusterQueue for each team in one cohort, `reclaimWithinCohort: Any` and fair sharing,
as its documentation recommends for teams that lend. Its elastic Jobs change their size only when
another component asks for it, so that its borrowers have the size that uses the whole cluster.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any, Final

import yaml

from benchmarks.scheduling import kueue
from benchmarks.scheduling.teams.trace import GPU, Submission, Trace
from dev.installation import install
from edl import contract
from edl.kube.api.client import ApiClient
from edl.model import ObjectRef
from sandbox import Sandbox

_QUEUE: Final = Path(__file__).parent / "cluster_queue.yaml"
_FAIR_SHARING: Final = """
fairSharing:
  preemptionStrategies: [LessThanOrEqualToFinalShare, LessThanInitialShare]
"""
_COMPLETE_AFTER: Final = "sandbox.edl.dev/complete-after"


@dataclass(frozen=True, slots=True)
class Contestant:
    """`jobs` returns the Jobs of a submission, starting with that of its GPU pods."""

    install: Callable[[Sandbox, ApiClient, Trace], None]
    jobs: Callable[[Submission], Iterator[dict[str, Any]]]


def pod_template(submission: Submission, **resources: str) -> dict[str, Any]:
    """A pod template with these limits; an owner's pod ends after its time."""
    seconds = submission.seconds
    notes = {} if seconds is None else {_COMPLETE_AFTER: f"{seconds:.0f}s"}
    limits = resources or {GPU: "1"}
    container = {"name": "tensorflow", "image": "none", "resources": {"limits": limits}}
    spec = {"restartPolicy": "Never", "containers": [container]}
    return {"metadata": {"annotations": notes}, "spec": spec}


# -- ours --------------------------------------------------------------------------------------


def install_ours(sandbox: Sandbox, api: ApiClient, given: Trace) -> None:
    teams = [
        {"name": team, "namespaces": [team], "guaranteed": {GPU: gpus}}
        for team, gpus in given.guaranteed.items()
    ]
    install(sandbox, sandbox.folder / "edl")
    name = contract.TEAMS_CONFIG_MAP
    body = {
        "metadata": {"name": name},
        "data": {contract.TEAMS_KEY: yaml.safe_dump({"teams": teams})},
    }
    api.create(ObjectRef("ConfigMap", "edl-system", name), body)


def our_jobs(submission: Submission) -> Iterator[dict[str, Any]]:
    """A borrower trains with TensorFlow and a parameter server, so that workers can come and go.

    An owner's gang has one size.
    """
    if submission.seconds is not None:
        labels = {contract.FRAMEWORK: "pytorch"}
        yield _job(submission, submission.name, submission.pods, labels)
        return
    labels = {contract.FRAMEWORK: "tensorflow", contract.JOB: submission.name}
    roles = f"ps=1,worker={submission.least}..{submission.pods}"
    for role, pods in (("worker", submission.least), ("ps", 1)):
        name = f"{submission.name}-{role}"
        job = _job(submission, name, pods, labels | {contract.ROLE: role})
        job["metadata"]["annotations"] = {contract.ROLES: roles}
        if role == "ps":
            job["spec"]["template"] = pod_template(submission, cpu="100m")
        yield job


# -- Kueue -------------------------------------------------------------------------------------


def install_kueue(sandbox: Sandbox, _api: ApiClient, given: Trace) -> None:
    kueue.start(sandbox, _FAIR_SHARING)
    for team in given.guaranteed:
        text = Template(_QUEUE.read_text()).substitute(team=team, gpus=given.guaranteed[team])
        sandbox.kubectl("apply", "--server-side", "-f", "-", input=text)


def kueues_jobs(submission: Submission) -> Iterator[dict[str, Any]]:
    labels = {"kueue.x-k8s.io/queue-name": submission.team}
    job = _job(submission, submission.name, submission.pods, labels)
    job["spec"]["suspend"] = True
    yield job


def _job(submission: Submission, name: str, pods: int, labels: dict[str, str]) -> dict[str, Any]:
    sizes = {"parallelism": pods, "completions": pods, "completionMode": "Indexed"}
    return {
        "metadata": {"name": name, "namespace": submission.team, "labels": labels},
        "spec": {**sizes, "template": pod_template(submission)},
    }


CONTESTANTS: Final = {
    "kubectl-edl": Contestant(install_ours, our_jobs),
    "Kueue": Contestant(install_kueue, kueues_jobs),
}
