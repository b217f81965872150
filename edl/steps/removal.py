"""Named pods that are to go: a node that is about to leave, a GPU that fails.

A Job drops its highest index, never a chosen one. So the named pod is ended, its index comes back
wherever there is room, and the size that is wanted ends the highest. Pods are named, not counted:
one that came in the place of a named one is never taken for it, whatever crashed in between.
"""

from edl.model import Pod, Role, Target, TrainingJob
from edl.writes import Delete


def going(role: Role) -> tuple[Pod, ...]:
    """The named pods that are still there."""
    return tuple(
        pod
        for pod in role.pods
        if pod.name in role.removing and not pod.terminating and not pod.ended
    )


def deletions(job: TrainingJob, role: Role) -> tuple[Delete, ...]:
    return tuple(
        Delete(Target("Pod", job.key.namespace, pod.name), pod.version) for pod in going(role)
    )


def reason(role: Role) -> str:
    return f"removed by name: {', '.join(sorted(role.removing))}"
