"""The condition `DisruptionTarget` of pods that a step ends, and its withdrawal where it does not.

A marked pod that runs on would be spared by its `podFailurePolicy` if it failed by itself.
"""

from collections.abc import Collection, Iterable, Sequence

from msgspec.structs import replace

from edl.errors import ClusterError, Conflict, NotFound, is_refusal
from edl.kube.cluster import Cluster
from edl.model import ObjectRef
from edl.spec.job_spec import DISRUPTION_TARGET
from edl.writes import Disrupt, Json, Write


def only_marks(chains: Iterable[Sequence[Write]]) -> list[Disrupt]:
    """The marks that these writes are; none if there is any other write among them."""
    writes = [write for found in chains for write in found]
    marks = [write for write in writes if isinstance(write, Disrupt)]
    return marks if len(marks) == len(writes) else []


def withdrawals(
    marks: Iterable[Disrupt], made: Collection[ObjectRef], error: ClusterError
) -> list[list[Disrupt]]:
    """The withdrawal of each mark that was made before the write that would have ended the pods.

    None if that write was made, or may have been made although its answer was lost, or if the Job
    is gone, which ends its pods.
    """
    refused = is_refusal(error) and error.status > 0  # without a status, the stored object differs
    if not (isinstance(error, Conflict) or refused):
        return []
    return [[replace(one, withdrawn=True)] for one in marks if one.target in made]


def set_condition(cluster: Cluster, write: Disrupt, version: str) -> Json | None:
    """The pod with the condition; None if it is gone."""
    condition = {
        "type": DISRUPTION_TARGET,
        "status": str(not write.withdrawn),
        "reason": write.reason,
        "message": write.message,
        "lastTransitionTime": write.at,
    }
    try:
        return cluster.add_condition(write.target, condition, version or write.version)
    except NotFound:
        return None
    except Conflict:
        if not write.withdrawn:
            raise
        return None  # it has changed since it was marked
