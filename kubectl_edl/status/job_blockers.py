"""Blockers of a training job, each with its remedy."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import chain
from typing import Final

from edl.kube.event_facts import EventFacts
from edl.messages import container_messages, message
from edl.model import Code, ConflictingJob, Node, Phase, Pod, PodPhase, Role
from edl.model.causes.reason_codes import PROMISING_CODES
from edl.phases import blocked
from edl.spec.job_spec import UNLIMITED
from kubectl_edl.client.failed_pods import FailedPod
from kubectl_edl.client.pending_pods import WaitingPod
from kubectl_edl.client.reconciler_lease import LeaseView
from kubectl_edl.job_views.creation_failures import (
    JobBlocker,
    missing_class_remedy,
    uncreated_pods,
)
from kubectl_edl.job_views.job_reasons import conflicts, stalled_pods
from kubectl_edl.job_views.training_job_view import JobView, RoleView, pod_status
from kubectl_edl.output.cell_quantities import counted
from kubectl_edl.output.documents.training_job_documents import JobBlockerDocument
from kubectl_edl.output.safe_text import harmless

_SOON: Final = timedelta(seconds=30)
"""A wait up to this long is normal: pods are created, and images are pulled."""
_LATELY: Final = timedelta(minutes=10)
_DOCTOR: Final = "kubectl edl doctor"
CORRECT: Final = "correct its file and apply it again; where that is refused, delete the Job first"
_DEADLINE_EXCEEDED: Final = "DeadlineExceeded"
"""The Job controller's reason for a Job that ran longer than its `activeDeadlineSeconds`."""


def job_blockers(
    view: JobView,
    waiting: Sequence[WaitingPod],
    changes: Sequence[EventFacts],
    lead: LeaseView,
    now: datetime,
) -> tuple[JobBlocker, ...]:
    """Blockers, the most important first; empty for a job that makes progress by itself.

    `waiting` are its pending pods, `changes` the last Events of its Jobs.
    """
    of_phase = _OF_PHASE.get(view.phase)
    found = of_phase(view, now) if of_phase else ()
    if view.phase is Phase.QUEUED and lead.stalled:
        doctor = f"{_DOCTOR}{view.scope.edl_flags}"
        found = [JobBlocker(one.what, doctor) if one.remedy else one for one in found]
    missing = uncreated_pods(view, changes, now)
    late = [*_of_waiting(view, waiting, now), *_stalled(view, now)]
    others = (*_unattended(view, lead), *found, *missing, *late)
    more = tuple(left_out(view))
    # The Job of a role that it lacks comes first.
    rest = (others, more) if view.job.missing == view.job.absent else (more, others)
    return (*_problem(view), *chain.from_iterable(rest))


def blockers_section(found: Iterable[JobBlocker]) -> str:
    """The section `Blockers:` of a report; empty for none."""
    lines = [
        f"  {number}. {harmless(one.what)}\n"
        + (f"     fix: {harmless(one.remedy)}\n" if one.remedy else "")
        for number, one in enumerate(found, 1)
    ]
    return "".join(("Blockers:\n", *lines)) if lines else ""


def blocker_documents(found: Iterable[JobBlocker]) -> list[JobBlockerDocument]:
    return [{"message": one.what, "remediation": one.remedy} for one in found]


def _problem(view: JobView) -> Iterator[JobBlocker]:
    if view.job.problem:
        # If no label can be read, the findings lack a remedy.
        create = missing_class_remedy(view.job, view.scope.cluster_flags)
        yield JobBlocker(message(view.job.problem), create if view.job.roles else CORRECT)
    for refused in view.job.refused_writes:
        what = "the write is" if refused.size else "its start is"
        yield JobBlocker(str(refused), f"change what refuses it: {what} tried again")


def recorded_problem(view: JobView) -> Iterator[JobBlocker]:
    """Why plans leave a queued job out, as it is recorded; the message contains the remedy."""
    if view.phase is Phase.QUEUED and view.why.reason in (Code.INVALID, Code.EXEC_NOT_ALLOWED):
        yield JobBlocker(view.why.message, "")


def left_out(view: JobView, named: ConflictingJob | None = None) -> Iterator[JobBlocker]:
    """Jobs that conflict with it; the message already contains the remedy."""
    yield from (JobBlocker(text, "") for text in conflicts(view.job, named))


def _unattended(view: JobView, lead: LeaseView) -> Iterator[JobBlocker]:
    """Requests for a started job that no reconciler carries out."""
    sizes = (
        f"the manual size {role.role.name}={role.role.request.replicas}"
        for role in view.roles
        if role.size and role.role.request.replicas not in (None, role.size)
    )
    requests = [*(["the pause"] if view.pausing else ()), *sizes]
    if requests and lead.stalled:
        are = "is" if len(requests) == 1 else "are"
        what = f"{' and '.join(requests)} {are} not carried out"
        yield JobBlocker(
            f"no reconciler is running ({lead.why}): {what}", f"{_DOCTOR}{view.scope.edl_flags}"
        )


def incomplete(view: JobView) -> Iterator[JobBlocker]:
    """Blockers for missing Jobs, before the start or while it runs."""
    job = view.job
    if not job.absent:
        return
    names = ", ".join(f"{job.key.name}-{role}" for role in job.absent)
    one = len(job.absent) == 1
    noun, they, them = ("Job", "is", "it") if one else ("Jobs", "are", "them")
    if job.suspended:
        yield JobBlocker(
            f"it waits for its {noun} {names}", f"apply the {noun}: no role starts without {them}"
        )
        return
    running = counted(sum(shown.running for shown in view.roles), "pod")
    yield JobBlocker(
        f"its {noun} {names} {they} gone, and {running} cannot complete the training without "
        f"{them}",
        f"apply the {noun} again, or: kubectl edl delete {view.argument}",
    )


def _queued(view: JobView, now: datetime) -> Iterator[JobBlocker]:
    why, new = view.why, now - view.job.queued_at <= _SOON
    if blocked(view.job) or (new and why.reason in PROMISING_CODES):
        return
    # `explain` makes its own decision, so it explains a new job before the reconciler has seen it.
    unseen = why.reason is Code.UNOBSERVED and not new
    if recorded := [*recorded_problem(view)]:
        yield from recorded
    elif unseen:
        yield JobBlocker(why.message, f"{_DOCTOR}{view.scope.edl_flags}")
    else:
        yield JobBlocker(why.message, f"kubectl edl explain {view.argument}", explained=True)


def _paused(view: JobView, _: datetime) -> Iterator[JobBlocker]:
    by = f": {view.job.paused_by} suspended it" if view.job.paused_by else ""
    yield JobBlocker(f"it is paused{by}", f"kubectl edl resume {view.argument}")
    yield from incomplete(view)


def _failed(view: JobView, _: datetime) -> Iterator[JobBlocker]:
    failure = view.job.failure
    if failure and failure.reason == _DEADLINE_EXCEEDED:
        remedy = "delete its Jobs and apply them with a longer activeDeadlineSeconds"
    else:
        pods = any(role.status.pods for role in view.job.roles)
        why = f"kubectl edl logs {view.argument} shows why" if pods else _pods_gone(view)
        remedy = f"{why}; delete its Jobs and apply them to try again"
    yield JobBlocker(view.why.message, remedy)


def _pods_gone(view: JobView) -> str:
    """Where to look if all pods were deleted, for example by a drain or `kubectl delete pod`."""
    return f"its pods no longer exist, and so have no logs: kubectl edl events {view.argument}"


def unready_pods(view: JobView, nodes: Iterable[Node], now: datetime) -> Iterator[JobBlocker]:
    """Pods that run on ready nodes, or on unknown ones, and never become ready."""
    lost = {node.name for node in nodes if not node.ready}
    for role in view.roles if view.phase not in (*_OVER, *_OF_PHASE) else ():
        late = [
            pod for pod in role.role.status.pods if _never_ready(pod, now) and pod.node not in lost
        ]
        are = "is" if len(late) == 1 else "are"
        if late:
            yield JobBlocker(
                f"{counted(len(late), 'pod')} of {role.role.name} {are} not ready: {late[0].name}",
                f"kubectl describe pod {late[0].name} {view.namespace_option}",
            )


def _never_ready(pod: Pod, now: datetime) -> bool:
    unready = pod.phase is PodPhase.RUNNING and pod_status(pod) == "NotReady"
    return unready and not pod.containers.waits and now - pod.created_at > _SOON


def _of_waiting(
    view: JobView, waiting: Sequence[WaitingPod], now: datetime
) -> Iterator[JobBlocker]:
    """Pending pods, grouped by reason, without those of which a container cannot start."""
    pods = [pod for pod in waiting if not pod.stalled]
    late = [pod for pod in pods if pod.since is None or now - pod.since > _SOON]
    for why in dict.fromkeys(pod.why for pod in late):
        same = [pod for pod in late if pod.why == why]
        named = f"{same[0].name} waits" if len(same) == 1 else f"{counted(len(same), 'pod')} wait"
        yield JobBlocker(f"{named}: {_why_pending(view, same[0])}", _pod_remedy(view, same[0]))


def _why_pending(view: JobView, pod: WaitingPod) -> str:
    """What its gang lacks, if that is known, rather than that it waits for its gang."""
    return message(view.unplaced) if pod.gated and view.unplaced else pod.why


def _pod_remedy(view: JobView, pod: WaitingPod) -> str:
    describe = f"kubectl describe pod {pod.name} {view.namespace_option}"
    if pod.claims:
        return f"kubectl get pvc,storageclass {view.namespace_option}"
    if pod.scheduler:
        return (
            f"run {pod.scheduler}, or delete its Jobs and apply them with a schedulerName that runs"
        )
    return describe if pod.node else f"kubectl edl explain {view.argument}"


def _stalled(view: JobView, now: datetime) -> Iterator[JobBlocker]:
    """Pods of which a container cannot start, grouped by its cause."""
    for pods in stalled_pods(view.job, now - _SOON):
        remedy = container_messages.remedy(pods[0], view.namespace_option)
        yield JobBlocker(container_messages.stalled(pods), remedy)


def failure_blockers(
    view: JobView, failed: Sequence[FailedPod], now: datetime
) -> Iterator[JobBlocker]:
    """Recent failures of pods, grouped by reason, with the number that fails the Job."""
    for shown in view.roles if view.phase not in _OVER else ():
        role = shown.role
        found = [
            pod for pod in failed if pod.job == role.job and not _is_past(view, shown, pod, now)
        ]
        for why in dict.fromkeys(pod.why for pod in found):
            same = [pod for pod in found if pod.why == why]
            named = f"{same[0].name} failed" if len(same) == 1 else f"{len(same)} pods failed"
            yield JobBlocker(
                f"{named}: {why} ({_failures(role, same)})", _failure_remedy(view, same[0])
            )


def _failures(role: Role, pods: Sequence[FailedPod]) -> str:
    """`1 failure of mnist-worker; more than 72 fail it`, or what their exit code causes.

    The Job controller counts a failed pod later; with backoffLimitPerIndex, as it replaces it.
    """
    pod = pods[0]
    rules = role.spec.exit_code_rules if pod.container else ()
    decides = (one.action for one in rules if one.matches(pod.container, pod.exit_code))
    if then := _BY_EXIT_CODE.get(next(decides, ""), ""):
        return f"by the podFailurePolicy of {role.job}, exit code {pod.exit_code} {then}"
    ended = len(pods) if pod.container else 0
    count, limit = max(role.status.failures, ended), role.spec.backoff_limit
    then = (
        "its backoffLimit does not limit them"
        if limit == UNLIMITED
        else f"more than {limit} fail it"
    )
    return f"{counted(count, 'failure')} of {role.job}; {then}"


def _is_past(view: JobView, shown: RoleView, pod: FailedPod, now: datetime) -> bool:
    """Whether a pod failed a while ago, or is replaced; in a failed job, no failure is past."""
    if view.phase is Phase.FAILED:
        return False
    replaced = shown.size > 0 and not shown.pending
    if pod.finished is None:
        return replaced
    return now - pod.finished > (_SOON if replaced else _LATELY)


def _failure_remedy(view: JobView, pod: FailedPod) -> str:
    logs = f"kubectl logs {pod.name} {view.namespace_option}"
    if pod.reason == container_messages.OUT_OF_MEMORY:
        return f"{container_messages.MORE_MEMORY}: {logs}"
    return f"{logs} shows why"


_BY_EXIT_CODE: Final[Mapping[str, str]] = {
    "FailJob": "fails it at once",
    "FailIndex": "fails the index of its pod at once",
    "Ignore": "is not counted",
}
_OVER: Final = frozenset({Phase.SUCCEEDED, Phase.FINISHING})
_OF_PHASE: Final[dict[Phase, Callable[[JobView, datetime], Iterable[JobBlocker]]]] = {
    Phase.INCOMPLETE: lambda view, _: incomplete(view),
    Phase.QUEUED: _queued,
    Phase.PAUSED: _paused,
    Phase.FAILED: _failed,
}
