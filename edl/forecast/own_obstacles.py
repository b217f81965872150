"""What a job's start depends on beside other jobs and the cluster's capacity."""

from edl.forecast.estimate import Certainty, Estimate, waiting_for
from edl.job_state.lost_pods import missing_pods
from edl.job_state.phases import blocked
from edl.model import TrainingJob


def ends_earlier(job: TrainingJob) -> str:
    """What would make it sooner: back-offs and grace periods are simulated at their longest."""
    if any(map(missing_pods, job.live)):
        return "the Job controller's back-off after lost pods ends earlier"
    pods = (pod for role in job.live for pod in role.status.pods)
    leaves = any(pod.terminating and pod.deletion.due_at for pod in pods)
    return "its previous pods end before their grace period does" if leaves else ""


def own_obstacle(job: TrainingJob) -> Estimate | None:
    """The estimate of a job that starts with no capacity of the cluster; None for others."""
    why = ""
    if job.paused:
        why = "it is paused" if job.suspended else "its pause is requested"
    elif problem := blocked(job):
        return waiting_for(Certainty.UNKNOWN, problem)
    elif lacks := job.absent or job.missing:
        what = "do not exist yet" if job.absent else "are left out of it"
        why = f"its Jobs of {', '.join(lacks)} {what}"
    return Estimate(Certainty.UNKNOWN, reason=why) if why else None
