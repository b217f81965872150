"""What an autoscaler says of provisional pods, which a reconciler knows from their Events."""

from collections.abc import Container

from msgspec.structs import replace

from edl.errors import ClusterError
from edl.kube.autoscaler_words import about_pod, waiting_pod
from edl.kube.cluster import PluginCluster
from edl.model import ClusterState, JobKey, TrainingJob


def with_autoscaler_messages(
    cluster: PluginCluster, state: ClusterState, keys: Container[JobKey]
) -> ClusterState:
    """The state in which these jobs have the autoscaler's last message, if it may be read."""

    def heard(job: TrainingJob) -> TrainingJob:
        pod = waiting_pod(job) if job.key in keys else None
        if pod is None:
            return job
        try:
            text = about_pod(cluster, job.key, pod)
        except ClusterError:
            return job
        return replace(job, provisioning=replace(job.provisioning, message=text))

    return replace(state, jobs=tuple(map(heard, state.jobs)))
