"""The condition `DisruptionTarget` of pods that a step ends, or does not end after all."""

from edl.errors import Conflict, NotFound
from edl.kube.cluster import Cluster
from edl.spec.job_spec import DISRUPTION_TARGET
from edl.writes import Disrupt, Json


def set_condition(cluster: Cluster, write: Disrupt) -> Json | None:
    """The pod with the condition; None if it is gone."""
    condition = {
        "type": DISRUPTION_TARGET,
        "status": str(not write.withdrawn),
        "reason": write.reason,
        "message": write.message,
        "lastTransitionTime": write.at,
    }
    try:
        return cluster.add_condition(write.target, condition, write.version)
    except NotFound:
        return None
    except Conflict:
        if not write.withdrawn:
            raise
        return None  # it has changed since it was marked
