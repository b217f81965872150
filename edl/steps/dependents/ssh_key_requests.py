"""The key pair of a training job whose launcher reaches its workers by ssh.

The reconciler may not read Secrets, so it never sees whether one exists: it asks for one at each
start, and again while pods still wait for their volumes; asking for what exists changes nothing.
"""

from datetime import datetime, timedelta
from typing import Final

from edl.frameworks import FRAMEWORKS
from edl.model import ObjectRef, PodPhase, TrainingJob
from edl.spec import addresses
from edl.steps.dependents.owner_references import owned
from edl.writes import CreateKeys

PATIENCE: Final = timedelta(seconds=5)
"""A bound pod that is pending for longer may lack its volume: a job that is created again
under the same name may have met the old job's Secret, a moment before it was collected."""


def keys(job: TrainingJob) -> tuple[CreateKeys, ...]:
    """The Secret, for a training job whose mode needs one."""
    if not _needs_keys(job):
        return ()
    target = ObjectRef("Secret", job.key.namespace, addresses.ssh_secret(job.key.name))
    return (CreateKeys(target, owned(job, target, {"type": "Opaque"})),)


def missed_keys(job: TrainingJob, now: datetime) -> tuple[CreateKeys, ...]:
    """The same, while pods may be waiting for it."""
    if not _needs_keys(job):
        return ()
    pods = (pod for role in job.live for pod in role.status.pods if not pod.terminating)
    waiting = any(
        pod.phase is PodPhase.PENDING and pod.node and now - pod.created_at > PATIENCE
        for pod in pods
    )
    return keys(job) if waiting else ()


def _needs_keys(job: TrainingJob) -> bool:
    return any(mode.keys and mode.name == job.mode for mode in FRAMEWORKS[job.framework].modes)
