"""The PodDisruptionBudget of each role, which protects its minimum, and what it lets a drain evict.

The API server evicts pods that are not ready in any case (`unhealthyPodEvictionPolicy`).
"""

from collections.abc import Sequence

from edl.frameworks import FRAMEWORKS
from edl.model import Pod, Role, TrainingJob


def has_budget(job: TrainingJob, role: Role) -> bool:
    """Whether the role has a PodDisruptionBudget; bare pods and single independent pods have none.

    A single pod has no extras to evict first and no peers that would miss it, and its Job recreates
    it. Such Jobs may come in thousands.
    """
    single = not FRAMEWORKS[job.framework].ranked and role.spec.max == 1 and len(job.roles) == 1
    return not (job.pods or single)


def counted_pods(role: Role) -> Sequence[Pod]:
    """The pods that its budget selects: ranked pods by index, so that extras never count."""
    pods = role.status.pods
    return [pod for pod in pods if pod.index < role.spec.min] if role.spec.indexed else pods


def disruptions_allowed(job: TrainingJob, role: Role) -> int:
    """How many ready pods of the minimum may be evicted now."""
    healthy = sum(pod.ready and pod.active for pod in counted_pods(role))
    return max(healthy - role.spec.min, 0) if has_budget(job, role) else healthy
