"""Jobs whose end the API server refuses to record while they are suspended."""

from edl.model import TrainingJob
from edl.steps import preconditioned_patches
from edl.writes import Patch


def freed(job: TrainingJob) -> tuple[Patch, ...]:
    """Not suspended any more they are finished at once, without a pod (docs/kubernetes.md 23)."""
    return tuple(
        preconditioned_patches.job(job.key, role, {"suspend": False}, {})
        for role in job.roles
        if role.wedged
    )
