"""Old failures do not count: a training job that runs for weeks survives many node failures.

A Job counts its failed and deleted pods for as long as it lives, and fails beyond `backoffLimit`.
That limit may be raised at any time. A job that fails at every start never gets that far.
"""

from datetime import datetime, timedelta
from typing import Final

from edl.model import Role, TrainingJob
from edl.steps import preconditioned_patches
from edl.writes import Patch

CALM: Final = timedelta(minutes=10)
"""How long all pods have run without a failure; the kubelet forgets a container's after as long."""


def forgive(job: TrainingJob, role: Role, now: datetime) -> tuple[Patch, ...]:
    """A limit that leaves all retries again, once nothing has failed for `CALM`."""
    limit = role.status.failures + role.spec.retries
    if not role.spec.retries or role.spec.backoff_limit >= limit or not _calm(role, now):
        return ()
    return (preconditioned_patches.job(job.key, role, {"backoffLimit": limit}, {}),)


def _calm(role: Role, now: datetime) -> bool:
    """Whether every replica has been ready for that long."""
    ready = [pod.ready_since for pod in role.status.pods if pod.ready and not pod.terminating]
    return len(ready) >= role.status.size > 0 and all(
        since is not None and now - since >= CALM for since in ready
    )
