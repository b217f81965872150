"""Blockers of a training job by its pods: they fail, wait, or do not become ready."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from edl import contract
from edl.job_state.lost_pods import longest_wait, why_any_missing, why_missing
from edl.job_state.phases import ending, phase, unready_minimum
from edl.messages import container_messages, message
from edl.model import Phase, Pod, PodPhase, Role, TrainingJob
from edl.spec import addresses
from edl.spec.job_spec import UNLIMITED
from kubectl_edl.client.failed_pods import FailedPod
from kubectl_edl.client.pending_pods import WaitingPod
from kubectl_edl.job_views.blocker_facts import SLOW, SOON, BlockerFacts, JobBlocker, Urgency
from kubectl_edl.job_views.job_reasons import stalled_pods
from kubectl_edl.job_views.training_job_view import JobView, RoleView, pod_status
from kubectl_edl.output.age import ago, duration
from kubectl_edl.output.cell_quantities import counted

_LATELY: Final = timedelta(minutes=10)
_NEVER_READY: Final = timedelta(minutes=30)
"""A start that has not ended by then is reported even if its pods are replaced again and again."""
_LONG: Final = timedelta(minutes=2)
"""Extras that are missing for longer are reported, although the job runs without them."""
_CRASHES: Final = 3
"""Failures of one pod and its replacements that are reported, if pods failed in the last hour.

The kubelet counts the restarts of a container since its pod was created, and dates only the last.
"""
_CRASHED: Final = timedelta(hours=1)


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


def crash_loops(facts: BlockerFacts) -> Iterator[JobBlocker]:
    """Starts whose pods fail again and again, with the last failure of the most affected pod."""
    groups: defaultdict[tuple[str, str], list[FailedPod]] = defaultdict(list)
    for role in facts.job.live if may_crash_loop(facts.job) else ():
        for pod in facts.crashed.get((facts.job.key.namespace, role.job), ()):
            if pod.finished and facts.now - pod.finished <= _CRASHED:
                groups[role.name, pod.index].append(pod)
    counts = {place: sum(pod.times for pod in pods) for place, pods in groups.items()}
    place = max(counts, key=lambda where: counts[where], default=None)
    if place is None or counts[place] < _CRASHES:
        return
    role_name, index = place
    last = max(groups[place], key=lambda pod: pod.finished or facts.now)
    why = ": ".join(filter(None, (last.why, last.message)))
    selected = f" --role {role_name}" + (f" --index {index}" if index else "")
    yield JobBlocker(
        f"it crash-loops: {f'{role_name}-{index}'.rstrip('-')} failed {counts[place]} times, last "
        f"{ago(last.finished or facts.now, facts.now)}: {why}",
        f"kubectl edl logs {facts.view.argument}{selected} --tail 50",
    )


def lost(facts: BlockerFacts) -> Iterator[JobBlocker]:
    """Lost pods of the minimum, without which it does not run; extras if they are long missing."""
    job = facts.job
    lacks = why_any_missing(job) if longest_wait(job, extras=True) > _LONG else why_missing(job)
    if lacks and not ending(job):
        yield JobBlocker(message(lacks), f"kubectl edl events {facts.view.argument}")


def pending(facts: BlockerFacts) -> Iterator[JobBlocker]:
    """Pending pods, grouped by reason, without those of which a container cannot start."""
    yield from _waiting(facts, [pod for pod in facts.waiting if not pod.stalled])


def unprocessed(facts: BlockerFacts) -> Iterator[JobBlocker]:
    """Pending pods that another scheduler than kube-scheduler has not processed, by scheduler."""
    yield from _waiting(facts, [pod for pod in facts.waiting if pod.scheduler])


def lacks_nodes(facts: BlockerFacts) -> bool:
    """Whether pods of a minimum have had no node for a while."""
    return any(
        sum(bool(pod.node) for pod in role.status.pods) < min(role.spec.min, role.status.size)
        and any(not pod.node and facts.now - pod.created_at > SOON for pod in role.status.pods)
        for role in facts.job.live
    )


def _waiting(facts: BlockerFacts, pods: Sequence[WaitingPod]) -> Iterator[JobBlocker]:
    late = [pod for pod in pods if pod.since is None or facts.now - pod.since > SOON]
    for why in dict.fromkeys(pod.why for pod in late):
        same = [pod for pod in late if pod.why == why]
        named = f"{same[0].name} waits" if len(same) == 1 else f"{counted(len(same), 'pod')} wait"
        what = f"{named}: {_why_pending(facts.view, same[0])}"
        yield JobBlocker(what, _pod_remedy(facts.view, same[0]), Urgency.USUAL)


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


def stalled(facts: BlockerFacts) -> Iterator[JobBlocker]:
    """Pods of which a container cannot start, grouped by its cause.

    An image of a new pod is pulled again after a first error.
    """
    for pods in () if ending(facts.job) else stalled_pods(facts.job, facts.now - SOON):
        waits, account = pods[0].containers.waits, _generated_account(facts.job, pods[0])
        options = facts.view.namespace_option
        remedy = container_messages.next_command(pods[0].name, waits, options, account)
        yield JobBlocker(container_messages.stalled(pods), remedy)


def _generated_account(job: TrainingJob, pod: Pod) -> str:
    """The ServiceAccount that the reconciler has created for the pod; empty if it has another."""
    generated = (addresses.launcher_account(job.key.name), addresses.peers_account(job.key.name))
    accounts = (role.template.account for role in job.roles if pod in role.stalled_pods)
    return next((account for account in accounts if account in generated), "")


def unready(facts: BlockerFacts) -> Iterator[JobBlocker]:
    """Pods that run on ready nodes, or on unknown ones, and never become ready."""
    view, gone = facts.view, {node.name for node in facts.nodes if not node.ready}
    for role in facts.job.roles if view.phase in _PODS_RUN else ():
        late = [pod for pod in role.status.pods if _never_ready(pod, facts.now)]
        late = [pod for pod in late if pod.node not in gone]
        are = "is" if len(late) == 1 else "are"
        if late:
            yield JobBlocker(
                f"{counted(len(late), 'pod')} of {role.name} {are} not ready: {late[0].name}",
                f"kubectl describe pod {late[0].name} {view.namespace_option}",
                Urgency.USUAL,
            )


def _never_ready(pod: Pod, now: datetime) -> bool:
    unready = pod.phase is PodPhase.RUNNING and pod_status(pod) == "NotReady"
    return unready and not pod.containers.waits and now - pod.created_at > SOON


def slow_start(facts: BlockerFacts) -> Iterator[JobBlocker]:
    """A minimum that is not ready long after the creation of its pods, or after the start."""
    job, view, now = facts.job, facts.view, facts.now
    lacks = sum(map(unready_minimum, job.live))
    if view.phase is not Phase.STARTING or job.started_at is None or not lacks:
        return
    pods = [pod for role in job.live for pod in role.status.pods if not (pod.ready or pod.ended)]
    oldest = min((pod.created_at for pod in pods), default=job.started_at)
    if now - oldest < SLOW and now - job.started_at < _NEVER_READY:
        return
    of = sum(min(role.spec.min, role.status.size) for role in job.live)
    chosen = f"pods {view.namespace_option} -l {contract.JOB}={job.key.name}"
    yield JobBlocker(
        f"it does not run {duration(now - job.started_at)} after its start: {lacks} of {of} "
        f"pods of its minimum {'is' if lacks == 1 else 'are'} not ready",
        f"kubectl describe {chosen}" if pods else f"kubectl edl explain {view.argument}",
    )


def failures(facts: BlockerFacts) -> Iterator[JobBlocker]:
    """Recent failures of pods, grouped by reason, with the number that fails the Job."""
    view = facts.view
    for shown in view.roles if view.phase not in _OVER else ():
        pods = (pod for pod in facts.failed if pod.job == shown.role.job)
        recent = [pod for pod in pods if not _is_past(view, shown, pod, facts.now)]
        for why in dict.fromkeys(pod.why for pod in recent):
            same = [pod for pod in recent if pod.why == why]
            named = f"{same[0].name} failed" if len(same) == 1 else f"{len(same)} pods failed"
            what = f"{named}: {why} ({_count(shown.role, same)})"
            yield JobBlocker(what, _failure_remedy(view, same[0]), Urgency.USUAL)


def _count(role: Role, pods: Sequence[FailedPod]) -> str:
    """`1 failure of mnist-worker; more than 72 fail it`, or what their exit code causes.

    The Job controller counts a failed pod later; with backoffLimitPerIndex, as it replaces it.
    """
    pod = pods[0]
    rules, limit = role.spec.failure_rules, role.spec.backoff_limit
    by_code = rules.by_exit_code if pod.container else ()
    decides = (rule.action for rule in by_code if rule.matches(pod.container, pod.exit_code))
    if then := _BY_EXIT_CODE.get(next(decides, ""), ""):
        return f"by the podFailurePolicy of {role.job}, exit code {pod.exit_code} {then}"
    limits = {
        "more than {} fail it": None if limit == UNLIMITED else limit,
        "its backoffLimitPerIndex of {} limits those of one index": rules.per_index,
        "its maxFailedIndexes of {} limits failed indexes": rules.indexes,
    }
    stated = [what.format(most) for what, most in limits.items() if most is not None]
    count = max(role.status.failures, len(pods) if pod.container else 0)
    return "; ".join([f"{counted(count, 'failure')} of {role.job}", *(stated or [_UNLIMITED])])


def _is_past(view: JobView, shown: RoleView, pod: FailedPod, now: datetime) -> bool:
    """Whether a pod failed a while ago, or is replaced; in a failed job, no failure is past."""
    if view.phase is Phase.FAILED:
        return False
    replaced = shown.size > 0 and not shown.pending
    if pod.finished is None:
        return replaced
    return now - pod.finished > (SOON if replaced else _LATELY)


def _failure_remedy(view: JobView, pod: FailedPod) -> str:
    logs = f"kubectl logs {pod.name} {view.namespace_option}"
    if pod.reason == container_messages.OUT_OF_MEMORY:
        return f"{container_messages.MORE_MEMORY}: {logs}"
    return f"{logs} shows why"


_UNLIMITED: Final = "its backoffLimit does not limit them"
_BY_EXIT_CODE: Final[Mapping[str, str]] = {
    "FailJob": "fails it at once",
    "FailIndex": "fails the index of its pod at once",
    "Ignore": "is not counted",
}
_OVER: Final = frozenset({Phase.SUCCEEDED, Phase.FINISHING})
_PODS_RUN: Final = frozenset({Phase.STARTING, Phase.RUNNING, Phase.SCALING})
