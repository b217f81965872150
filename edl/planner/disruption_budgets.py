"""The PodDisruptionBudget of each role, which protects its minimum, and what it lets a drain evict.

The API server evicts pods that are not ready in any case (`unhealthyPodEvictionPolicy`).
"""

from collections.abc import Sequence

from edl.frameworks import FRAMEWORKS
from edl.model import Pod, Role, TrainingJob
from edl.spec.allowed_sizes import unended, with_unended


def min_available(job: TrainingJob, role: Role) -> int:
    """How many ready pods the role's PodDisruptionBudget keeps; 0: the role has none.

    Independent work items may be evicted one by one: plans never move them, so a budget of their
    minimum would block the upgrade of a node for as long as they run. Once fewer items remain than
    the minimum, no replacement makes up for an evicted pod. Bare pods have no budget, nor do ranks
    that have ended.
    """
    if job.pods:
        return 0
    least, remaining = role.spec.min, role.status.remaining
    if FRAMEWORKS[job.framework].ranked:
        return unended(role, protected_size(role))
    return 0 if remaining is not None and remaining < least else least - 1


def protected_size(role: Role) -> int:
    """The size at which its minimum of ranks runs: pods with higher indexes are extras."""
    return with_unended(role, role.spec.min)


def counted_pods(role: Role) -> Sequence[Pod]:
    """The pods that its budget selects: ranked pods by index, so that extras never count."""
    pods = role.status.pods
    if not role.spec.indexed:
        return pods
    size = protected_size(role)
    return [pod for pod in pods if pod.index < size]


def disruptions_allowed(job: TrainingJob, role: Role) -> int:
    """How many ready pods of the minimum may be evicted now."""
    healthy = sum(pod.ready and pod.active for pod in counted_pods(role))
    return max(healthy - min_available(job, role), 0)
