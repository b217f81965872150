"""Forgives old failures, so that a training job that runs for weeks survives many node failures.

A Job counts failed and deleted pods for its whole life, and the restarts of their containers while
a pod exists. It fails beyond `backoffLimit`, which may be raised at any time. A job that fails at
every start never runs long enough for that.
"""

from datetime import datetime, timedelta
from typing import Final

from edl import contract
from edl.model import Role, TrainingJob
from edl.steps.preconditioned_patches import job_patch
from edl.writes import Patch

CALM: Final = timedelta(minutes=10)
"""How long all pods must have been ready; the kubelet resets container back-offs after this too."""


def raise_backoff_limit(job: TrainingJob, role: Role, now: datetime) -> tuple[Patch, ...]:
    """Raises `backoffLimit` so that all retries are left, once nothing has failed for `CALM`."""
    limit = counted_failures(role) + role.spec.retries
    if not role.spec.retries or role.spec.backoff_limit >= limit or not _is_stable(role, now):
        return ()
    noted = {contract.RAISED_LIMIT: str(limit)}
    return (job_patch(job.key, role, {"backoffLimit": limit}, noted),)


def counted_failures(role: Role) -> int:
    """What the Job controller compares with the limit: failed pods and, apart from them, restarts.

    Of the restarts only those of containers of pods that exist, with `restartPolicy: OnFailure`.
    """
    if not role.template.restarts_in_place:
        return role.status.failures
    restarts = sum(pod.containers.restarts for pod in role.status.pods)
    return max(role.status.failures, restarts)


def _is_stable(role: Role, now: datetime) -> bool:
    """Whether every replica has been ready for `CALM`."""
    ready = [pod.ready_since for pod in role.status.pods if pod.ready and not pod.terminating]
    return len(ready) >= role.status.size > 0 and all(
        since is not None and now - since >= CALM for since in ready
    )
