"""The condition `DisruptionTarget` of pods that a step ends, or does not end after all."""

from edl.errors import Conflict, NotFound
from edl.kube.cluster import Cluster, find
from edl.kube.writer.conditional_patch import TRIES, ends
from edl.spec.job_spec import DISRUPTION_TARGET
from edl.writes import Disrupt, Json


def set_condition(cluster: Cluster, write: Disrupt) -> Json | None:
    """The pod with the condition; None if it is gone, or ends by itself."""
    condition = {
        "type": DISRUPTION_TARGET,
        "status": str(not write.withdrawn),
        "reason": write.reason,
        "message": write.message,
        "lastTransitionTime": write.at,
    }
    version, tries = write.version, TRIES
    while True:
        try:
            return cluster.add_condition(write.target, condition, version)
        except NotFound:
            return None
        except Conflict:
            tries -= 1
            if write.withdrawn:
                return None  # it has changed since it was marked
            if not tries:
                raise
            current = find(cluster, write.target)
            if current is None or ends(current):
                return None
            version = current["metadata"]["resourceVersion"]
