"""Why a training job, or a role of it, is as it is: a reason code and its message, for display."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec.structs import replace

from edl import contract, reasons
from edl.job_state.lost_pods import why_any_missing, why_missing, why_role_lacks
from edl.job_state.phases import (
    below_minimum,
    ending,
    phase,
    unready,
    why_below_minimum,
    why_kept,
    why_unscheduled,
)
from edl.job_state.requested_nodes import nodes_due
from edl.messages import QUEUE_CLOSED, UNTIL, container_messages, message
from edl.model import (
    Code,
    ConflictingJob,
    JobEnd,
    Phase,
    Pod,
    Reason,
    ResizePolicy,
    Role,
    TrainingJob,
)
from edl.model.causes.reason_subjects import Size
from edl.spec.allowed_sizes import is_finishing

if TYPE_CHECKING:
    from kubectl_edl.output.documents.training_job_documents import WhyDocument

_BEFORE_MANUAL: Final = frozenset(
    {
        Code.ADMITTED,
        Code.IDLE_CAPACITY,
        Code.ABOVE_MAX,
        Code.RECLAIMED,
        Code.FAIR_SHARING,
        Code.FIFO_ORDER,
        Code.UTILIZATION,
        Code.UNSCHEDULABLE,
        Code.GROWTH_UNSCHEDULABLE,
        Code.NODE_UNNEEDED,
        Code.PODS_REMOVED,
    }
)
"""Reasons of changes to a size that is manual since: a removal by name makes its size manual."""
REQUESTS_NO_NODES: Final = (
    f"it requests none, as its annotation {contract.PROVISION}, or the default of its namespace "
    f"({contract.DEFAULT_PROVISION}), is {contract.Provision.NEVER}"
)
_MAX_CONFLICTS: Final = 3
_ENDS: Final = {JobEnd.COMPLETE: Code.COMPLETE, JobEnd.FAILED: Code.FAILED}


class Why(NamedTuple):
    """The reason for a training job's state; `reason` is its code, None if none is recorded."""

    reason: Code | None
    message: str

    @property
    def code(self) -> str:
        """The code for a cell; empty if none is recorded."""
        return self.reason.value if self.reason else ""

    @property
    def document(self) -> "WhyDocument":
        return {"reason": self.code or None, "message": self.message}


def why(job: TrainingJob) -> Why:
    """The first of: its end, an error, missing or stalled pods, why it waits, a role's size.

    A quota that refuses missing pods comes before the back-off of the Job controller.
    """
    end = ending(job)
    if end is not None:
        return why_of(reasons.ended(job, end))
    for lacks in (unready, refused_pods, why_missing, why_kept, why_below_minimum, why_unscheduled):
        if reason := lacks(job):
            return why_of(reason)
    if pods := next(stalled_pods(job), None):
        return _why_stalled(pods)
    if reason := why_any_missing(job):
        return why_of(reason)
    first = min(_role_reasons(job), key=lambda entry: entry[0], default=None)
    if first is not None:
        return first[1]
    return why_of(reasons.UNOBSERVED) if phase(job) is Phase.QUEUED else Why(None, "")


def until_nodes_come(why: Why, job: TrainingJob, limit: timedelta | None) -> Why:
    """The reason of a job that waits for requested nodes says until when, if that is known."""
    due = nodes_due(job.provisioning, limit) if limit else None
    if why.reason is not Code.WAITING_FOR_NODES or due is None:
        return why
    return why._replace(message=f"{why.message}{UNTIL.format(due)}")


def problem_text(job: TrainingJob) -> str:
    """Why it cannot be planned; empty if it can."""
    return message(job.problem) if job.problem else ""


def conflicts(job: TrainingJob, named: ConflictingJob | None = None) -> Iterator[str]:
    """Why Jobs with its `edl.dev/job` are left out of it; any user could create thousands.

    `named`: a Job that the reader has read of already.
    """
    first = job.conflicting[:_MAX_CONFLICTS]
    yield from (message(other.reason) for other in first if other is not named)
    if (more := len(job.conflicting) - _MAX_CONFLICTS) > 0:
        yield f"{more} more with {contract.JOB}={job.key.name} {'is' if more == 1 else 'are'}, too"


def conflict_hints(jobs: Iterable[TrainingJob]) -> Iterator[str]:
    for job in jobs:
        yield from (f"hint: {job.key}: {text}" for text in conflicts(job))


def refused_pods(job: TrainingJob) -> Reason | None:
    """What refuses pods that the job lacks; None if it lacks none, or that is not known."""
    return next((role.refused_pods for role in job.live if role.refused_pods), None)


def stalled_pods(job: TrainingJob, before: datetime | None = None) -> Iterator[list[Pod]]:
    """Pods of which a container cannot start, grouped by cause; with `before`, only older pods."""
    pods = (pod for role in job.roles for pod in role.stalled_pods)
    yield from _by_cause(pod for pod in pods if before is None or pod.created_at < before)


def _by_cause(stalled: Iterable[Pod]) -> Iterable[list[Pod]]:
    groups: dict[object, list[Pod]] = {}
    for pod in stalled:
        if pod.containers.waits:
            groups.setdefault(pod.containers.waits.cause, []).append(pod)
    return groups.values()


def _why_stalled(pods: Sequence[Pod]) -> Why:
    return Why(Code.CONTAINER_WAITING, container_messages.stalled(pods))


def _role_reasons(job: TrainingJob) -> Iterator[tuple[tuple[bool, bool], Why]]:
    """Each role's reason, ranked. The reason of a wait is on the first Job only."""
    for role in job.roles:
        if (reason := why_of_role(job, role)).message:
            fixed = role.spec.resizing is ResizePolicy.FIXED and not job.suspended
            yield (not role.request.problem, fixed), reason


def why_of_role(job: TrainingJob, role: Role) -> Why:
    """The first of: its end or the job's, an error, missing, unbound or stalled pods, its size."""
    stalled = map(_why_stalled, _by_cause(role.stalled_pods))
    return (
        _why_ended(job, role) or _why_lacking(job, role) or next(stalled, None) or _why_sized(role)
    )


def _why_ended(job: TrainingJob, role: Role) -> Why | None:
    if role.status.ending is None:
        end = ending(job)
        return why_of(reasons.ended(job, end)) if end else None
    code = _ENDS[role.status.ending]
    if role.record.reason in _ENDS.values():  # it ended because of another role
        return None
    return Why(code, f"its Job {'is complete' if code is Code.COMPLETE else 'has failed'}")


def _why_lacking(job: TrainingJob, role: Role) -> Why | None:
    """The error in the user's request, or why pods of a started role are missing or unbound."""
    if role.request.problem:
        return Why(Code.INVALID, role.request.problem)
    lacks = below_minimum(role)
    size = reasons.below_minimum(lacks) if lacks else None
    deleted = job.problem if job.namespace_terminating else None
    lacking = size or deleted or role.refused_pods or why_role_lacks(role)
    reason = lacking or why_unscheduled(job, role)
    return why_of(reason) if reason else None


def _why_sized(role: Role) -> Why:
    """The reason on the role's Job, unless another one holds since.

    No reason is written for a manual size that equals the role's size, because nothing is resized,
    and none when a manual size is removed, or when fewer work items are left than the role has had
    replicas: the code then is None. Growth up to another max than now is shown without it.
    """
    if role.queue_closed and (left := _work_left(role)):
        return left
    superseded = _is_superseded(role)
    if (
        (superseded or role.record.reason is Code.MANUAL_SIZE)
        and role.request.replicas is None
        and not role.status.suspended
    ):
        fixed = role.spec.resizing is ResizePolicy.FIXED  # restarted with a role that has one
        return why_of(reasons.FIXED_SIZE) if fixed else Why(None, "sized automatically")
    if (
        (superseded or role.record.reason in _BEFORE_MANUAL)
        and role.request.replicas == role.status.size
        and not role.status.suspended
    ):
        return why_of(reasons.MANUAL_SIZE)
    if left := _work_left(role):
        return left
    last = role.record.last
    current = last and last.code is role.record.reason
    if last and current and isinstance(last.about, Size) and last.about.max != role.spec.max:
        return why_of(replace(last, about=None))
    return Why(role.record.reason, role.record.message or _unreached(role))


def _work_left(role: Role) -> Why | None:
    """The reason that a running role has fewer work items left than its size, or than its max."""
    remaining = role.status.remaining
    if not remaining or remaining > role.status.size or role.status.suspended:
        return None
    below_max = role.record.reason is Code.IDLE_CAPACITY and remaining < role.spec.max
    if remaining == role.status.size and not below_max:
        return None
    if role.queue_closed:
        pods = "1 pod is" if remaining == 1 else f"{remaining} pods are"
        return Why(None, f"{pods} left; {QUEUE_CLOSED}")
    items = "1 work item is" if remaining == 1 else f"{remaining} work items are"
    return Why(None, f"{items} left, with one pod each")


def _unreached(role: Role) -> str:
    """A manual size after a reverted one, which the role does not have yet; else empty."""
    wanted, size = role.request.replicas, role.status.size
    if wanted is None or role.status.suspended or not _is_superseded(role):
        return ""
    ends = message(reasons.PODS_SUCCEEDED) if is_finishing(role) else ""
    short = f", {wanted - size} short: {ends or 'the scale-up waits for free capacity'}"
    return f"manual size {wanted}{short if wanted > size else ''}"


def _is_superseded(role: Role) -> bool:
    """Whether a new size request removed the message of a reverted scale-up."""
    last = role.record.last
    return role.record.reason is None and last is not None and last.code is Code.SCALE_FAILED


def why_of(reason: Reason) -> Why:
    """A planner's reason, with its message."""
    return Why(reason.code, message(reason))
