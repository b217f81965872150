"""NEW_WORKER: whether a worker joins a training that already runs, known before it starts.

MXNet's elastic fork reads it from each worker's environment. A Job's pods are all alike, so they
wait behind their scheduling gate until the value is in an annotation of the pod.
"""

from edl import contract
from edl.frameworks import FRAMEWORKS
from edl.model import Pod, Role, TrainingJob
from edl.steps import preconditioned_patches
from edl.writes import Patch


def role_of(job: TrainingJob) -> str:
    """The role whose pods are told, empty where none are."""
    mode = FRAMEWORKS[job.framework].mode(job.mode, [role.name for role in job.roles])
    return mode.newcomers if mode else ""


def told(job: TrainingJob) -> tuple[Patch, ...]:
    """For each worker that waits: whether it is new, and how many there are with it."""
    name = role_of(job)
    deciders = [pod for role in job.roles if role.spec.is_leader for pod in role.status.pods]
    began = any(pod.published.hosts is not None for pod in deciders if not pod.terminating)
    return tuple(
        _let_in(job, role, pod, new=began)
        for role in job.live
        if role.name == name
        for pod in role.status.pods
        if contract.HOSTS_GATE in pod.gates and not (pod.unplaced or pod.terminating)
    )


def _let_in(job: TrainingJob, role: Role, pod: Pod, *, new: bool) -> Patch:
    annotations = {contract.NEW_WORKER: str(int(new)), contract.WORKERS: str(role.status.size)}
    return preconditioned_patches.pod(
        job.key, pod, annotations, preconditioned_patches.ungated(pod, contract.HOSTS_GATE)
    )
