"""Rules that report a training job which waits in its phase without progress."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Final, NamedTuple, TypeAlias

from edl import contract
from edl.lost_pods import longest_wait, why_any_missing, why_missing
from edl.messages import container_messages, message
from edl.model import Code, JobKey, Phase, PodPhase, TrainingJob
from edl.phases import below_minimum, blocked, ending, phase, unready_minimum, why_below_minimum
from kubectl_edl.cli.suggested_commands import FixCommand, explanation, on_job
from kubectl_edl.client.failed_pods import FailedPod
from kubectl_edl.doctor.checks.check import CheckResult, failure, warning
from kubectl_edl.job_views.creation_failures import JobBlocker, missing_class_remedy
from kubectl_edl.job_views.job_reasons import conflicts, stalled_pods, why
from kubectl_edl.output.age import ago, duration
from kubectl_edl.status.job_blockers import CORRECT

_ROLES: Final = timedelta(minutes=2)
_NOTICED: Final = timedelta(minutes=1)
_PULLED: Final = timedelta(seconds=30)
"""An image of a new pod is pulled again after a first error."""
_SLOW: Final = timedelta(minutes=10)
_NEVER_READY: Final = timedelta(minutes=30)
"""A start that has not ended by then is reported even if its pods are replaced again and again."""
_LONG: Final = timedelta(minutes=2)
"""Extras that are missing for longer are reported, although the job runs without them."""
_RAISED: Final = timedelta(minutes=2)
"""Pods that give room for a raised minimum have ended by then, unless their grace is longer."""
_CRASHES: Final = 3
"""Failures of one pod and its replacements that are reported, if pods failed in the last hour.

The kubelet counts the restarts of a container since its pod was created, and dates only the last.
"""
_CRASHED: Final = timedelta(hours=1)
_NO_POD: Final = ("", "")
_UNPLANNABLE: Final = frozenset(
    {Code.INVALID, Code.EXEC_NOT_ALLOWED, Code.START_REFUSED, Code.NAMESPACE_TERMINATING}
)
"""The codes of `edl.phases.blocked`."""


class PodFailures(NamedTuple):
    """Why pods cannot be created, by training job; pods that failed, by (namespace, Job)."""

    uncreated: Mapping[JobKey, Sequence[JobBlocker]]
    crashed: Mapping[tuple[str, str], Sequence[FailedPod]]


StuckRule: TypeAlias = Callable[[TrainingJob, datetime], CheckResult | None]


def stuck_rules(log: str, failures: PodFailures) -> tuple[StuckRule, ...]:
    """The rules in order: only the first that applies is reported.

    `log` says where to look if the reconciler does nothing.
    """
    return (
        _unplannable,
        _incomplete,
        partial(_unnoticed, log),
        _unprovisioned,
        partial(_uncreated, failures),
        partial(_crashing, failures),
        _backing_off,
        _half_started,
        _lacking_lost_pods,
        _below_minimum,
        _stalled,
        _starting,
        _scaling,
        partial(_finishing, log),
    )


def _unplannable(job: TrainingJob, now: datetime) -> CheckResult | None:
    """Why plans leave the job out, as it is seen here or as the reconciler recorded it.

    A user who may not read the whole cluster sees no missing DeviceClass.
    """
    del now
    reason, text = why(job)
    if job.problem and job.problem.code is Code.EXEC_NOT_ALLOWED:
        return None  # the check `kubexec` reports it, once per namespace
    if reason not in _UNPLANNABLE or not (blocked(job) or phase(job) is Phase.QUEUED):
        return None
    return warning(f"{job.key}: {text}", _remedy(job, reason))


def _remedy(job: TrainingJob, reason: Code | None) -> FixCommand:
    """The message of a problem contains its fix, unless no label could be read."""
    if job.namespace_terminating:
        return FixCommand(f"kubectl describe namespace {job.key.namespace}")
    if reason is Code.START_REFUSED:
        return explanation(job)
    return FixCommand(missing_class_remedy(job) if job.roles else CORRECT)


def _incomplete(job: TrainingJob, now: datetime) -> CheckResult | None:
    waits = now - job.queued_at
    if phase(job) is not Phase.INCOMPLETE or not job.absent:  # left-out Jobs are reported anyway
        return None
    if not job.suspended:
        return warning(
            f"{job.key} runs without the Jobs of {', '.join(job.absent)}, which were deleted: "
            "it holds its nodes and cannot complete",
            FixCommand(f"apply them again, or: {on_job('delete', job)}"),
        )
    if waits < _ROLES:
        return None
    return warning(
        f"{job.key} has waited {duration(waits)} for the Jobs of {', '.join(job.absent)}: "
        "no role starts before the Jobs of all roles exist",
        FixCommand(f"kubectl get jobs -n {job.key.namespace} -l {contract.JOB}={job.key.name}"),
    )


def _unnoticed(log: str, job: TrainingJob, now: datetime) -> CheckResult | None:
    waits = now - job.queued_at
    noticed = any(role.record.reason for role in job.roles)
    if phase(job) is not Phase.QUEUED or noticed or waits < _NOTICED:
        return None
    return failure(
        f"{job.key} has been queued for {duration(waits)}, and no reconciler has processed it", log
    )


def _unprovisioned(job: TrainingJob, now: datetime) -> CheckResult | None:
    asked = job.provisioning
    if phase(job) is not Phase.QUEUED or not (asked.failure or asked.has_requests):
        return None
    if asked.since and now - asked.since >= _NOTICED:
        what = f"{job.key} has waited {duration(now - asked.since)} for nodes of an autoscaler"
        kind = "provisioningrequests" if asked.requests else "pods"
        chosen = f"{kind} -n {job.key.namespace} -l {contract.PROVISIONAL}={job.key.name}"
        return warning(what, FixCommand(f"kubectl describe {chosen}"))
    if asked.failure is None:
        return None
    detail = f": {asked.failure.message}" if asked.failure.message else ""
    times = f"{asked.failure.attempts} times without success"
    return warning(
        f"{job.key} requested nodes {times}, last {ago(asked.failure.at, now)}{detail}",
        explanation(job),
    )


def _uncreated(failures: PodFailures, job: TrainingJob, now: datetime) -> CheckResult | None:
    """Pods that the API server refuses, with the Job controller's message."""
    del now
    found = failures.uncreated.get(job.key, ())
    return next((warning(f"{job.key}: {one.what}", one.remedy) for one in found), None)


def may_crash_loop(job: TrainingJob) -> bool:
    """Whether the job does not run, and its pods are worth reading: many failed, or one is unready.

    The kubelet restarts containers without a failure of the Job.
    """
    if phase(job) not in (Phase.QUEUED, Phase.STARTING):
        return False
    failures = sum(role.status.failures for role in job.live)
    pods = (pod for role in job.live for pod in role.status.pods)
    return failures >= _CRASHES or any(
        pod.phase is PodPhase.RUNNING and not pod.ready for pod in pods
    )


def _crashing(failures: PodFailures, job: TrainingJob, now: datetime) -> CheckResult | None:
    """Starts whose pods fail again and again, with the last failure of the most affected pod."""
    groups = _crashes(failures, job, now) if may_crash_loop(job) else {}
    (role, index), pods = max(groups.items(), key=lambda one: _times(one[1]), default=(_NO_POD, ()))
    if (count := _times(pods)) < _CRASHES:
        return None
    last = max(pods, key=lambda one: one.finished or now)
    which = f"{role}-{index}".rstrip("-")
    why = ": ".join(filter(None, (last.why, last.message)))
    selected = f" --role {role}" + (f" --index {index}" if index else "")
    return warning(
        f"{job.key} crash-loops: {which} failed {count} times, last "
        f"{ago(last.finished or now, now)}: {why}",
        FixCommand(f"kubectl edl logs {job.key.name} -n {job.key.namespace}{selected} --tail 50"),
    )


def _crashes(
    failures: PodFailures, job: TrainingJob, now: datetime
) -> Mapping[tuple[str, str], Sequence[FailedPod]]:
    """Pods that failed in the last hour, by role and completion index."""
    found: defaultdict[tuple[str, str], list[FailedPod]] = defaultdict(list)
    for role in job.live:
        for pod in failures.crashed.get((job.key.namespace, role.job), ()):
            if pod.finished and now - pod.finished <= _CRASHED:
                found[role.name, pod.index].append(pod)
    return found


def _times(pods: Sequence[FailedPod]) -> int:
    return sum(pod.times for pod in pods)


def _backing_off(job: TrainingJob, now: datetime) -> CheckResult | None:
    """A start that failed: unless its cause is removed, the next one fails as well."""
    del now
    reason = job.roles[0].record.reason if job.roles else None
    if phase(job) is not Phase.QUEUED or reason is not Code.BACK_OFF:
        return None
    return warning(f"{job.key}: {why(job).message}", explanation(job))


def _half_started(job: TrainingJob, now: datetime) -> CheckResult | None:
    """An incomplete start: the reconciler completes or reverts one within minutes."""
    waiting = [role.name for role in job.live if role.status.suspended]
    since = job.started_at
    if ending(job) or not waiting or len(waiting) == len(job.live) or since is None:
        return None
    if now - since < _SLOW:
        return None
    return failure(
        f"{job.key} is half started: {', '.join(waiting)} still suspended after "
        f"{duration(now - since)}",
        explanation(job),
    )


def _lacking_lost_pods(job: TrainingJob, now: datetime) -> CheckResult | None:
    """Lost pods of the minimum, without which it does not run; extras if they are long missing."""
    del now
    lacks = why_any_missing(job) if longest_wait(job, extras=True) > _LONG else why_missing(job)
    if lacks is None or ending(job):
        return None
    return warning(f"{job.key}: {message(lacks)}", on_job("events", job))


def _below_minimum(job: TrainingJob, now: datetime) -> CheckResult | None:
    """A minimum that was raised a while ago; the reconciler records since when."""
    lacks = why_below_minimum(job)
    if lacks is None or ending(job):
        return None
    times = [role.record.below_min_since for role in job.live if below_minimum(role)]
    since = min((time for time in times if time), default=None)
    if since is None or now - since < _RAISED:
        return None
    return warning(f"{job.key}: {message(lacks)}", explanation(job))


def _stalled(job: TrainingJob, now: datetime) -> CheckResult | None:
    """Pods of which a container cannot start: it has no image, or it fails after each restart."""
    pods = next(stalled_pods(job, now - _PULLED), None)
    if pods is None or ending(job):
        return None
    remedy = container_messages.remedy(pods[0], f"-n {job.key.namespace}")
    return warning(f"{job.key}: {container_messages.stalled(pods)}", FixCommand(remedy))


def _starting(job: TrainingJob, now: datetime) -> CheckResult | None:
    """A minimum that is not ready long after the creation of its pods, or after the start."""
    lacks = sum(map(unready_minimum, job.live))
    if phase(job) is not Phase.STARTING or job.started_at is None or not lacks:
        return None
    pods = [pod for role in job.live for pod in role.status.pods if not (pod.ready or pod.ended)]
    oldest = min((pod.created_at for pod in pods), default=job.started_at)
    if now - oldest < _SLOW and now - job.started_at < _NEVER_READY:
        return None
    of = sum(min(role.spec.min, role.status.size) for role in job.live)
    chosen = f"pods -n {job.key.namespace} -l {contract.JOB}={job.key.name}"
    return warning(
        f"{job.key} does not run {duration(now - job.started_at)} after its start: {lacks} of {of} "
        f"pods of its minimum {'is' if lacks == 1 else 'are'} not ready",
        FixCommand(f"kubectl describe {chosen}") if pods else explanation(job),
    )


def _scaling(job: TrainingJob, now: datetime) -> CheckResult | None:
    moments = [role.record.resized_at for role in job.live if role.record.resized_at]
    if phase(job) is not Phase.SCALING or not moments or now - max(moments) < _SLOW:
        return None
    return warning(
        f"{job.key} has been resizing for {duration(now - max(moments))}: {why(job).message}",
        explanation(job),
    )


def _finishing(log: str, job: TrainingJob, now: datetime) -> CheckResult | None:
    ends = (role.status.end_condition for role in job.roles)
    ended = [end.since for end in ends if end]
    if phase(job) is not Phase.FINISHING or not ended or now - max(ended) < _SLOW:
        return None
    left = ", ".join(role.name for role in job.live)
    return failure(f"{job.key} ended {ago(max(ended), now)}, but {left} has not been stopped", log)


def left_out(job: TrainingJob) -> Iterator[CheckResult]:
    """Jobs that never start, as they conflict with this one."""
    its_jobs = f"kubectl get jobs -n {job.key.namespace} -l {contract.JOB}={job.key.name}"
    yield from (warning(f"{job.key}: {text}", FixCommand(its_jobs)) for text in conflicts(job))
