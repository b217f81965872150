"""Blockers of a training job, each with its remedy: one table for `status` and `doctor`."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import timedelta
from itertools import chain, islice
from typing import Final, TypeAlias

from edl import contract
from edl.job_state.phases import below_minimum, blocked, ending, why_below_minimum
from edl.messages import message
from edl.model import Code, ConflictingJob, Phase
from edl.model.causes.reason_codes import PROMISING_CODES
from kubectl_edl.job_views import pod_blockers
from kubectl_edl.job_views.blocker_facts import (
    SLOW,
    SOON,
    BlockerFacts,
    JobBlocker,
    Urgency,
)
from kubectl_edl.job_views.creation_failures import missing_class_remedy
from kubectl_edl.job_views.job_reasons import conflicts
from kubectl_edl.job_views.training_job_view import JobView
from kubectl_edl.output.age import ago, duration
from kubectl_edl.output.cell_quantities import counted
from kubectl_edl.output.documents.training_job_documents import JobBlockerDocument

_NOTICED: Final = timedelta(minutes=1)
_ROLES: Final = timedelta(minutes=2)
_RAISED: Final = timedelta(minutes=2)
"""Pods that give room for a raised minimum have ended by then, unless their grace is longer."""
_CORRECT: Final = "correct its file and apply it again; where that is refused, delete the Job first"
_DEADLINE_EXCEEDED: Final = "DeadlineExceeded"
"""The Job controller's reason for a Job that ran longer than its `activeDeadlineSeconds`."""
_STUCK: Final = frozenset({Code.BACK_OFF, Code.START_REFUSED, Code.NAMESPACE_TERMINATING})
"""Recorded reasons for which a start fails, or is not tried, until their cause is removed."""
_ABOUT_NODES: Final = frozenset({Code.WAITING_FOR_NODES, Code.NODES_NOT_PROVISIONED})
_Rule: TypeAlias = Callable[[BlockerFacts], Iterator[JobBlocker]]


def job_blockers(facts: BlockerFacts) -> Iterator[JobBlocker]:
    """Blockers, the most important first; none of a job that makes progress by itself.

    A symptom is named unless a cause ends only by an action of the user.
    """
    explained = False
    for blocker in chain.from_iterable(rule(facts) for rule in _CAUSES):
        explained |= blocker.urgency is not Urgency.USUAL
        yield blocker
    symptoms = chain.from_iterable(rule(facts) for rule in _SYMPTOMS)
    yield from islice(symptoms, 0 if explained else 1)


def blocker_documents(blockers: Iterable[JobBlocker]) -> list[JobBlockerDocument]:
    return [{"message": blocker.what, "remediation": blocker.remedy} for blocker in blockers]


def _problem(facts: BlockerFacts) -> Iterator[JobBlocker]:
    view, job = facts.view, facts.job
    if job.problem:
        # `doctor` reports missing consent once per namespace.
        elsewhere = ending(job) or job.problem.code is Code.EXEC_NOT_ALLOWED
        urgency = Urgency.USUAL if elsewhere else Urgency.STUCK
        yield JobBlocker(message(job.problem), _correction(view), urgency)
    for refused in job.refused_writes:
        what, urgency = (
            ("the write", Urgency.USUAL) if refused.size else ("its start", Urgency.STUCK)
        )
        yield JobBlocker(str(refused), f"change what refuses it: {what} is tried again", urgency)


def _correction(view: JobView) -> str:
    """The message of a problem contains its remedy, unless no label could be read."""
    if view.job.namespace_terminating:
        return f"kubectl describe namespace {view.job.key.namespace}{view.scope.cluster_flags}"
    return missing_class_remedy(view.job, view.scope.cluster_flags) if view.job.roles else _CORRECT


def recorded_problem(view: JobView) -> Iterator[JobBlocker]:
    """Why plans leave a queued job out, as it is recorded; the message contains the remedy.

    A user who may not read the whole cluster sees no missing DeviceClass.
    """
    if view.phase is Phase.QUEUED and view.why.reason in (Code.INVALID, Code.EXEC_NOT_ALLOWED):
        yield JobBlocker(view.why.message, "")


def left_out(view: JobView, named: ConflictingJob | None = None) -> Iterator[JobBlocker]:
    """Jobs that conflict with it; the message already contains the remedy."""
    yield from (JobBlocker(text, "") for text in conflicts(view.job, named))


def _unattended(facts: BlockerFacts) -> Iterator[JobBlocker]:
    """Requests for a started job that no reconciler carries out."""
    sizes = (
        f"the manual size {role.role.name}={role.role.request.replicas}"
        for role in facts.view.roles
        if role.size and role.role.request.replicas not in (None, role.size)
    )
    requests = [*(["the pause"] if facts.view.pausing else ()), *sizes]
    if requests and facts.stalled:
        are = "is" if len(requests) == 1 else "are"
        what = f"{' and '.join(requests)} {are} not carried out"
        yield JobBlocker(
            f"no reconciler is running ({facts.stalled}): {what}",
            facts.reconciler,
            Urgency.UNATTENDED,
        )


def _incomplete(facts: BlockerFacts) -> Iterator[JobBlocker]:
    """Missing Jobs; their files are applied one after the other."""
    waits = facts.job.suspended and facts.now - facts.job.queued_at < _ROLES
    if facts.view.phase is Phase.INCOMPLETE:
        blockers = incomplete(facts.view)
        yield from (replace(one, urgency=Urgency.USUAL) if waits else one for one in blockers)


def incomplete(view: JobView) -> Iterator[JobBlocker]:
    """Blockers for missing Jobs, before the start or while it runs."""
    job = view.job
    if not job.absent:
        return
    names = ", ".join(f"{job.key.name}-{role}" for role in job.absent)
    single = len(job.absent) == 1
    noun, they, them = ("Job", "is", "it") if single else ("Jobs", "are", "them")
    if job.suspended:
        yield JobBlocker(
            f"it waits for its {noun} {names}", f"apply the {noun}: no role starts without {them}"
        )
        return
    running = sum(shown.running for shown in view.roles)
    cannot = f", and {counted(running, 'pod')} cannot complete the training without {them}"
    yield JobBlocker(
        f"its {noun} {names} {they} gone{cannot if running else ''}",
        f"apply the {noun} again, or: kubectl edl delete {view.argument}",
    )


def _nodes_requested(facts: BlockerFacts) -> Iterator[JobBlocker]:
    """Nodes of an autoscaler that do not come."""
    asked, job, view = facts.job.provisioning, facts.job, facts.view
    if view.phase is not Phase.QUEUED:
        return
    if asked.has_requests and asked.since and facts.now - asked.since >= _NOTICED:
        kind = "provisioningrequests" if asked.requests else "pods"
        chosen = f"{kind} {view.namespace_option} -l {contract.PROVISIONAL}={job.key.name}"
        detail = f": {asked.message}" if asked.message else ""
        yield JobBlocker(
            f"it has waited {duration(facts.now - asked.since)} for nodes of an autoscaler{detail}",
            f"kubectl describe {chosen}",
        )
    elif asked.failure:
        detail = f": {asked.failure.message}" if asked.failure.message else ""
        times = counted(asked.failure.attempts, "time")
        last = f"last {ago(asked.failure.at, facts.now)}{detail}"
        what = f"it requested nodes {times} without success, {last}"
        yield JobBlocker(what, _explain(view))


def _queued(facts: BlockerFacts) -> Iterator[JobBlocker]:
    view, why, waits = facts.view, facts.view.why, facts.now - facts.job.queued_at
    if view.phase is not Phase.QUEUED or blocked(facts.job):
        return
    if recorded := [*recorded_problem(view)]:
        yield from recorded
        return
    if waits <= SOON and why.reason in PROMISING_CODES:
        return
    if why.reason in _ABOUT_NODES and any(_nodes_requested(facts)):
        return
    # `explain` makes its own decision, so it explains a new job before the reconciler has seen it.
    if why.reason is Code.UNOBSERVED and waits >= _NOTICED:
        what = f"it has been queued for {duration(waits)}, and no reconciler has processed it"
        yield JobBlocker(what, facts.reconciler, Urgency.UNATTENDED)
        return
    urgency = Urgency.STUCK if why.reason in _STUCK else Urgency.USUAL
    remedy = facts.reconciler if facts.stalled else _explain(view)
    yield JobBlocker(why.message, remedy, urgency, explained=not facts.stalled)


def _paused(facts: BlockerFacts) -> Iterator[JobBlocker]:
    view = facts.view
    if view.phase is Phase.PAUSED:
        by = f": {view.job.paused_by} suspended it" if view.job.paused_by else ""
        resume = f"kubectl edl resume {view.argument}"
        for blocker in (JobBlocker(f"it is paused{by}", resume), *incomplete(view)):
            yield replace(blocker, urgency=Urgency.USUAL)


def _failed(facts: BlockerFacts) -> Iterator[JobBlocker]:
    view, failure = facts.view, facts.job.failure
    if view.phase is not Phase.FAILED:
        return
    if failure and failure.reason == _DEADLINE_EXCEEDED:
        remedy = "delete its Jobs and apply them with a longer activeDeadlineSeconds"
    else:
        why = f"kubectl edl logs {view.argument} shows why"
        if not any(role.status.pods for role in view.job.roles):  # as after a drain
            why = (
                f"its pods no longer exist, and so have no logs: kubectl edl events {view.argument}"
            )
        remedy = f"{why}; delete its Jobs and apply them to try again"
    yield JobBlocker(view.why.message, remedy, Urgency.USUAL)


def _half_started(facts: BlockerFacts) -> Iterator[JobBlocker]:
    """An incomplete start: the reconciler completes or reverts one within minutes."""
    job, since = facts.job, facts.job.started_at
    waiting = [role.name for role in job.live if role.status.suspended]
    if ending(job) or not waiting or len(waiting) == len(job.live) or since is None:
        return
    if (lasts := facts.now - since) >= SLOW:
        names = ", ".join(waiting)
        what = f"it is half started: {names} still suspended after {duration(lasts)}"
        yield JobBlocker(what, _explain(facts.view), Urgency.UNATTENDED)


def _below_minimum(facts: BlockerFacts) -> Iterator[JobBlocker]:
    """A minimum that was raised a while ago; the reconciler records since when."""
    lacks, roles = why_below_minimum(facts.job), filter(below_minimum, facts.job.live)
    times = [time for role in roles if (time := role.record.below_min_since)]
    if lacks and times and not ending(facts.job) and facts.now - min(times) >= _RAISED:
        why = facts.view.why
        what = why.message if why.reason is lacks.code else message(lacks)
        yield JobBlocker(what, _explain(facts.view), explained=True)


def _scaling(facts: BlockerFacts) -> Iterator[JobBlocker]:
    times = [time for role in facts.job.live if (time := role.record.resized_at)]
    if facts.view.phase is Phase.SCALING and times and facts.now - max(times) >= SLOW:
        lasts = duration(facts.now - max(times))
        what = f"it has been resizing for {lasts}: {facts.view.why.message}"
        yield JobBlocker(what, _explain(facts.view))


def _finishing(facts: BlockerFacts) -> Iterator[JobBlocker]:
    ended = [end.since for role in facts.job.roles if (end := role.status.end_condition)]
    if facts.view.phase is Phase.FINISHING and ended and facts.now - max(ended) >= SLOW:
        left = ", ".join(role.name for role in facts.job.live)
        what = f"it ended {ago(max(ended), facts.now)}, but these roles still run: {left}"
        yield JobBlocker(what, facts.reconciler, Urgency.UNATTENDED)


def _explain(view: JobView) -> str:
    return f"kubectl edl explain {view.argument}"


_CAUSES: Final[tuple[_Rule, ...]] = (
    _problem,
    _unattended,
    _incomplete,
    _nodes_requested,
    lambda facts: iter(facts.uncreated),
    pod_blockers.crash_loops,
    _queued,
    _paused,
    _failed,
    _half_started,
    _below_minimum,
    pod_blockers.pending,
    pod_blockers.stalled,
    pod_blockers.unready,
    pod_blockers.failures,
    _finishing,
)
_SYMPTOMS: Final[tuple[_Rule, ...]] = (pod_blockers.lost, pod_blockers.slow_start, _scaling)
