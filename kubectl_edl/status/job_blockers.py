"""Blockers of a training job, each with its remedy."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from edl import reasons
from edl.kube.create_failures import CreateFailure, create_failure
from edl.kube.event_facts import EventFacts
from edl.model import Code, Phase, Pod, PodPhase, Role
from edl.planner.snapshot.last_resizes import pods_were_not_created
from edl.spec.job_spec import UNLIMITED
from kubectl_edl.client.failed_pods import FailedPod
from kubectl_edl.client.pending_pods import NO_IMAGE, WaitingPod
from kubectl_edl.client.reconciler_lease import LeaseView
from kubectl_edl.model.training_job_view import JobView, RoleView, pod_status
from kubectl_edl.output.safe_text import harmless

if TYPE_CHECKING:
    from kubectl_edl.output.documents.training_job_documents import JobBlockerDocument

_SOON: Final = timedelta(seconds=30)
"""A wait up to this long is normal: pods are created, and images are pulled."""
_LATELY: Final = timedelta(minutes=10)
_DOCTOR: Final = "kubectl edl doctor"
_CORRECT: Final = "correct its file and apply it again; where that is refused, delete the Job first"
_DEADLINE_EXCEEDED: Final = "DeadlineExceeded"
"""The Job controller's reason for a Job that ran longer than its `activeDeadlineSeconds`."""
_OUT_OF_MEMORY: Final = "OOMKilled"
"""The kubelet's reason for a container that exceeded its memory limit."""
_CONFIG: Final = frozenset({"CreateContainerConfigError", "CreateContainerError"})


@dataclass(frozen=True, slots=True)
class JobBlocker:
    """One blocker in a sentence, and the remedy; empty if the sentence contains it."""

    what: str
    remedy: str


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
    found: Iterable[JobBlocker] = _OF_PHASE.get(view.phase, _of_pods)(view, now)
    if view.phase is Phase.QUEUED and lead.stalled:
        doctor = f"{_DOCTOR}{view.flags}"
        found = [JobBlocker(one.what, doctor) if one.remedy else one for one in found]
    missing = uncreated_pods(view, changes, now)
    return (*_problem(view), *found, *missing, *_of_waiting(view, waiting, now))


def blockers_section(found: Iterable[JobBlocker]) -> str:
    """The section `Blockers:` of a report; empty for none."""
    lines = [
        f"  {number}. {harmless(one.what)}\n"
        + (f"     fix: {harmless(one.remedy)}\n" if one.remedy else "")
        for number, one in enumerate(found, 1)
    ]
    return "".join(("Blockers:\n", *lines)) if lines else ""


def blocker_documents(found: Iterable[JobBlocker]) -> "list[JobBlockerDocument]":
    return [{"message": one.what, "remediation": one.remedy} for one in found]


def _flags(view: JobView) -> str:
    return f"{view.job.key.name} {_there(view)}"


def _there(view: JobView) -> str:
    return f"-n {view.job.key.namespace}{view.flags}"


def _problem(view: JobView) -> Iterator[JobBlocker]:
    if view.job.problem:
        # If no label can be read, the findings lack a remedy.
        yield JobBlocker(view.job.problem, "" if view.job.roles else _CORRECT)
    if view.job.refusal and view.job.refused:
        yield JobBlocker(str(view.job.refusal), "change what refuses it: its start is tried again")


def incomplete(view: JobView) -> Iterator[JobBlocker]:
    """Blockers for missing Jobs, before the start or while it runs."""
    job = view.job
    if not job.missing:
        return
    names = ", ".join(f"{job.key.name}-{role}" for role in job.missing)
    noun, they = ("Job", "is") if len(job.missing) == 1 else ("Jobs", "are")
    if job.suspended:
        yield JobBlocker(
            f"it waits for its {noun} {names}",
            f"kubectl apply the {noun}: without, no role starts",
        )
        return
    running = _pods(sum(shown.running for shown in view.roles))
    yield JobBlocker(
        f"its {noun} {names} {they} gone, and {running} cannot complete the training without",
        f"kubectl apply the {noun} again, or: kubectl edl delete {_flags(view)}",
    )


def _queued(view: JobView, now: datetime) -> Iterator[JobBlocker]:
    why, new = view.why, now - view.job.queued_at <= _SOON
    if view.job.blocker or (new and why.reason in reasons.PROMISING):
        return
    # `explain` makes its own decision, so it explains a new job before the reconciler has seen it.
    unseen = why.reason is Code.UNOBSERVED and not new
    way = f"{_DOCTOR}{view.flags}" if unseen else f"kubectl edl explain {_flags(view)}"
    # The message of an invalid job already contains the remedy.
    yield JobBlocker(why.message, "" if why.reason is Code.INVALID else way)


def _paused(view: JobView, now: datetime) -> Iterator[JobBlocker]:
    del now
    yield JobBlocker("it is paused", f"kubectl edl resume {_flags(view)}")
    yield from incomplete(view)


def _failed(view: JobView, now: datetime) -> Iterator[JobBlocker]:
    del now
    failure = view.job.failure
    if failure and failure.reason == _DEADLINE_EXCEEDED:
        remedy = "delete its Jobs and apply them with a longer activeDeadlineSeconds"
    else:
        logs = f"kubectl edl logs {_flags(view)} shows why"
        remedy = f"{logs}; delete its Jobs and apply them to try again"
    yield JobBlocker(view.why.message, remedy)


def _of_pods(view: JobView, now: datetime) -> Iterator[JobBlocker]:
    """Running pods that never become ready."""
    for role in view.roles:
        late = [pod for pod in role.role.status.pods if _never_ready(pod, now)]
        are = "is" if len(late) == 1 else "are"
        if late and view.phase not in _OVER:
            yield JobBlocker(
                f"{_pods(len(late))} of {role.role.name} {are} not ready: {late[0].name}",
                f"kubectl describe pod {late[0].name} {_there(view)}",
            )


def _never_ready(pod: Pod, now: datetime) -> bool:
    unready = pod.phase is PodPhase.RUNNING and pod_status(pod) == "NotReady"
    return unready and now - pod.created_at > _SOON


def lacks_pods(shown: RoleView) -> bool:
    """Whether pods of this role do not exist, or did not when its start failed."""
    if shown.role.status.suspended:
        return pods_were_not_created(shown.role)
    items = shown.role.status.remaining
    return len(shown.role.replicas) < (shown.size if items is None else min(shown.size, items))


def uncreated_pods(
    view: JobView, changes: Sequence[EventFacts], now: datetime
) -> Iterator[JobBlocker]:
    """Pods that the Job controller cannot create; its Event has the reason."""
    for shown in view.roles:
        role = shown.role
        warnings = [one for one in changes if one.warning and one.name == role.job]
        failed = role.status.suspended  # the last Event says why, for as long as it backs off
        if not lacks_pods(shown) or not warnings or not (failed or _is_recent(warnings[-1], now)):
            continue
        remedy = _CREATION_REMEDIES[create_failure(warnings[-1].message)].format(
            job=role.job, there=_there(view), flags=view.flags
        )
        yield JobBlocker(
            f"{role.job}: {warnings[-1].reason}: {warnings[-1].message}",
            f"{remedy}; then, for a start at once: {_retry(view)}" if failed else remedy,
        )


def _retry(view: JobView) -> str:
    """The commands that end the back-off of a failed start."""
    return f"kubectl edl pause {_flags(view)} and kubectl edl resume {_flags(view)}"


_CREATION_REMEDIES: Final = {
    CreateFailure.SERVICE_ACCOUNT: "create the ServiceAccount: kubectl create serviceaccount NAME "
    "{there}",
    CreateFailure.PRIORITY_CLASS: "create the PriorityClass: kubectl create priorityclass NAME "
    "--value=VALUE{flags}",
    CreateFailure.RUNTIME_CLASS: "create the RuntimeClass, or delete the Jobs and apply them with "
    "one of: kubectl get runtimeclass{flags}",
    CreateFailure.QUOTA: "kubectl describe resourcequota {there}",
    CreateFailure.LIMIT_RANGE: "kubectl describe limitrange {there}",
    CreateFailure.POD_SECURITY: "delete the Jobs and apply them with a securityContext that the "
    "namespace allows, or relax its pod-security.kubernetes.io labels",
    CreateFailure.WEBHOOK: "kubectl describe job/{job} {there}; "
    "kubectl get mutatingwebhookconfiguration,validatingwebhookconfiguration{flags}",
    CreateFailure.OTHER: "kubectl describe job/{job} {there}",
}


def _is_recent(event: EventFacts, now: datetime) -> bool:
    return event.last is not None and now - event.last <= _LATELY


def _of_waiting(
    view: JobView, waiting: Sequence[WaitingPod], now: datetime
) -> Iterator[JobBlocker]:
    """Pending pods, grouped by reason."""
    late = [pod for pod in waiting if pod.since is None or now - pod.since > _SOON]
    for why in dict.fromkeys(pod.why for pod in late):
        same = [pod for pod in late if pod.why == why]
        named = f"{same[0].name} waits" if len(same) == 1 else f"{_pods(len(same))} wait"
        yield JobBlocker(f"{named}: {why}", _pod_remedy(view, same[0]))


def _pod_remedy(view: JobView, pod: WaitingPod) -> str:
    describe = f"kubectl describe pod {pod.name} {_there(view)}"
    if pod.reason in NO_IMAGE:
        return f"is the image's name right, and may this cluster pull it? {describe}"
    if pod.reason in _CONFIG:
        return f"a ConfigMap or Secret that it names is missing: {describe}"
    if pod.claims:
        return f"kubectl get pvc,storageclass {_there(view)}"
    if pod.scheduler:
        return (
            f"run {pod.scheduler}, or delete its Jobs and apply them with a schedulerName that runs"
        )
    return describe if pod.node else f"kubectl edl explain {_flags(view)}"


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
            yield JobBlocker(f"{named}: {why} ({_failures(role)})", _failure_remedy(view, same[0]))


def _failures(role: Role) -> str:
    """`1 failure of mnist-worker; more than 72 fail it`."""
    count, limit = role.status.failures, role.spec.backoff_limit
    counted = f"{count} failure{'s' * (count != 1)} of {role.job}"
    return f"{counted}; {'no number fails' if limit == UNLIMITED else f'more than {limit} fail'} it"


def _is_past(view: JobView, shown: RoleView, pod: FailedPod, now: datetime) -> bool:
    """Whether a pod failed a while ago, or is replaced; in a failed job, no failure is past."""
    if view.phase is Phase.FAILED:
        return False
    replaced = shown.size > 0 and not shown.pending
    if pod.finished is None:
        return replaced
    return now - pod.finished > (_SOON if replaced else _LATELY)


def _failure_remedy(view: JobView, pod: FailedPod) -> str:
    logs = f"kubectl logs {pod.name} {_there(view)}"
    if pod.reason == _OUT_OF_MEMORY:
        return f"its container needs a higher memory limit, or less memory: {logs}"
    return f"{logs} shows why"


def _pods(count: int) -> str:
    return "1 pod" if count == 1 else f"{count} pods"


_OVER: Final = frozenset({Phase.SUCCEEDED, Phase.FINISHING})
_OF_PHASE: Final[dict[Phase, Callable[[JobView, datetime], Iterator[JobBlocker]]]] = {
    Phase.INCOMPLETE: lambda view, _: incomplete(view),
    Phase.QUEUED: _queued,
    Phase.PAUSED: _paused,
    Phase.FAILED: _failed,
}
