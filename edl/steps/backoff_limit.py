"""Forgives old failures, so that a training job that runs for weeks survives many node failures.

A Job counts failed and deleted pods for its whole life, and the restarts of their containers while
a pod exists. It fails beyond `backoffLimit`, which may be raised at any time. A job that fails at
every start never runs long enough for that.
"""

from datetime import datetime

from edl import contract
from edl.job_state.lost_pods import CALM
from edl.model import Role, TrainingJob
from edl.spec.allowed_sizes import unended
from edl.steps.preconditioned_patches import job_patch
from edl.writes import Patch


def raise_backoff_limit(job: TrainingJob, role: Role, now: datetime) -> tuple[Patch, ...]:
    """Raises `backoffLimit` so that all retries are left, once nothing has failed for `CALM`."""
    if is_forgiven(role) or not _is_stable(role, now):
        return ()
    limit = counted_failures(role) + role.spec.retries
    noted = {contract.RAISED_LIMIT: str(limit)}
    return (job_patch(job.key, role, {"backoffLimit": limit}, noted),)


def is_forgiven(role: Role) -> bool:
    """Whether all retries that our limit grants are left, or a user set the limit."""
    retries = role.spec.retries
    return not retries or role.spec.backoff_limit >= counted_failures(role) + retries


def counted_failures(role: Role) -> int:
    """What the Job controller compares with the limit: failed pods and, apart from them, restarts.

    Of the restarts only those of containers of pods that exist, with `restartPolicy: OnFailure`.
    """
    if not role.template.restarts_in_place:
        return role.status.failures
    restarts = sum(pod.containers.restarts for pod in role.status.pods)
    return max(role.status.failures, restarts)


def _is_stable(role: Role, now: datetime) -> bool:
    """Whether every replica that has not ended has been ready for `CALM`."""
    ready = [pod.ready_since for pod in role.status.pods if pod.ready and not pod.terminating]
    return len(ready) >= unended(role, role.status.size) > 0 and all(
        since is not None and now - since >= CALM for since in ready
    )
