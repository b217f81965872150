"""What an autoscaler says of provisional pods, which a reconciler knows from their Events."""

from msgspec.structs import replace

from edl.errors import ClusterError
from edl.kube.autoscaler_words import about_pod, waiting_pod
from edl.kube.cluster import PluginCluster
from edl.model import ClusterState, JobKey, TrainingJob


def autoscaler_message(cluster: PluginCluster, job: TrainingJob | None) -> str:
    """The last one about a job's provisional pods; empty if there is none that may be read."""
    pod = waiting_pod(job) if job else None
    if job is None or pod is None:
        return ""
    try:
        return about_pod(cluster, job.key, pod)
    except ClusterError:
        return ""


def with_autoscaler_message(
    cluster: PluginCluster, state: ClusterState, key: JobKey
) -> ClusterState:
    """The state in which this job has the autoscaler's last message."""

    def heard(job: TrainingJob) -> TrainingJob:
        text = autoscaler_message(cluster, job) if job.key == key else ""
        return replace(job, provisioning=replace(job.provisioning, message=text)) if text else job

    return replace(state, jobs=tuple(map(heard, state.jobs)))
