"""The output of `kubectl edl explain`."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from edl import reasons
from edl.domain_counts import DomainCounts
from edl.forecast.estimate import Certainty
from edl.messages import message
from edl.messages.device_messages import caveat
from edl.model import Caveat, Role
from edl.model.causes.blockers import OwnCondition, QuotaExceeded
from edl.model.causes.reason_codes import TIMED_CODES
from edl.spec.allowed_sizes import is_finishing
from kubectl_edl.client.pending_pods import WaitingPod
from kubectl_edl.explain.blocker_documents import blockers_document
from kubectl_edl.explain.explained_job import (
    ExplainedJob,
    blocker_lists,
    borrowed_text,
    capacity_document,
    guaranteed_text,
    other_blockers,
    reason_is_listed,
)
from kubectl_edl.explain.job_remedies import job_remedies
from kubectl_edl.explain.pod_requests import requests_text
from kubectl_edl.explain.role_sizes import sizes_table, why_this_size
from kubectl_edl.history.view import operation_document
from kubectl_edl.job_views import resize_limits, topology_view
from kubectl_edl.job_views.blocker_facts import BlockerList
from kubectl_edl.job_views.job_blockers import blocker_documents
from kubectl_edl.job_views.published_queue import counts_document
from kubectl_edl.job_views.role_history import PastOperation
from kubectl_edl.job_views.start_estimates import document as when_document
from kubectl_edl.job_views.start_estimates import when
from kubectl_edl.job_views.training_job_view import time_text
from kubectl_edl.output.age import age
from kubectl_edl.output.documents.decision_documents import (
    CaveatDocument,
    ExplainedRoleDocument,
    TrainingJobExplanationDocument,
)
from kubectl_edl.output.documents.shared_documents import (
    ExplainedTopologyDocument,
    LimitedCooldownDocument,
)
from kubectl_edl.output.report import Report, documents
from kubectl_edl.output.safe_text import labelled
from kubectl_edl.output.table import Column, Table

_LABEL: Final = 13
_PREEMPTS: Final = (
    "only replicas above other jobs' minimum; whole jobs of lower priority too, which makes room "
    "for it, with: {}"
)
"""Why a job waits although a lower priority runs, where preemption would give it capacity."""
_UPGRADE: Final = (
    "kubectl edl upgrade{} --set reconciler.planning.preempt=true, or --preempt of a reconciler "
    "outside of the cluster"
)
_PREEMPTS_NOTHING: Final = (
    "only replicas above other jobs' minimum, as the PriorityClass of its pods has "
    "preemptionPolicy: Never; whole jobs would make room for it"
)


def explain_report(explained: ExplainedJob, now: datetime) -> Report:
    """The job's state, the roles' sizes and reasons, blockers, pending pods, past operations."""
    return Report(
        sections=(
            labelled(explanation_facts(explained, now), _LABEL),
            sizes_table(explained),
            domains_table(explained),
            *(section.text for section in blocker_lists(explained)),
            BlockerList.of_job(other_blockers(explained)).text,
            labelled(administrator_facts(explained), _LABEL),
            Table.of(_pods(now), explained.waiting_pods),
            Table.of(_past(now), explained.past),
        ),
        objects=documents("TrainingJobExplanation", [_document(explained)]),
        names=(explained.view.name,),
    )


def explanation_facts(explained: ExplainedJob, now: datetime) -> dict[str, str]:
    """The facts about the job by label; an unknown one is empty."""
    job, decided = explained.view.job, explained.decided
    return {
        "Name": job.key.name,
        "Namespace": job.key.namespace,
        "Phase": explained.view.phase.value,
        "Requested": explained.view.requested,
        "Reason": "" if reason_is_listed(explained) else explained.why.message,
        "Team": explained.team_text,
        "Guaranteed": guaranteed_text(decided.capacity),
        "Borrowed": borrowed_text(decided.capacity),
        "Queue": explained.place,
        "Nearest": topology_view.nearest(explained.waits_for),
        **_when(explained, now),
        "Nodes": explained.decided.awaited(now),
        "Manual size": ", ".join(
            _manual_size(role, explained) for role in _manual_roles(explained)
        ),
        "Cooldown": _pacing(explained),
        "Requests": requests_text(explained),
        "Devices": "; ".join(f"{role}: {caveat(note)}" for role, note in _caveats(explained)),
        "Would help": job_remedies(explained),
        "Decided by": explained.deciding.text if decided.explanation else "",
    }


def administrator_facts(explained: ExplainedJob) -> dict[str, str]:
    """Settings of the cluster that would help, by label; they follow what users can do."""
    trials, flags = explained.decided.trials, explained.view.scope.edl_flags
    preempts = _PREEMPTS.format(_UPGRADE.format(flags)) if trials.preemption else ""
    forbids = _PREEMPTS_NOTHING if trials.permission else ""
    return {"Reclaims": _reclaims(explained), "Preempts": forbids or preempts}


def domains_table(explained: ExplainedJob) -> Table:
    """The topology domains of its pods; empty without a topology."""
    return topology_view.table(_domains(explained) or ())


def _reclaims(explained: ExplainedJob) -> str:
    """The team's setting that keeps the job from its guarantee, found by a trial decision."""
    team = explained.decided.trials.reclaiming_team
    return team and (
        "only replicas above borrowers' minimum; whole jobs too, which makes room for it, with: "
        f"kubectl edl teams set {team} --reclaim jobs{explained.view.scope.edl_flags}"
    )


def _caveats(explained: ExplainedJob) -> Iterator[tuple[str, Caveat]]:
    return ((role, note) for role, note in explained.decided.caveats if role in explained.roles)


def _domains(explained: ExplainedJob) -> Sequence[DomainCounts] | None:
    """Domain counts of the roles that are shown."""
    domains = explained.decided.domains
    return domains and [counts for counts in domains if counts.role in explained.roles]


def _topology(explained: ExplainedJob) -> ExplainedTopologyDocument | None:
    document = topology_view.document(explained.view.job.topology, _domains(explained))
    near = topology_view.nearest_document(explained.waits_for)
    return {**document, "nearest": near} if document else None


def _manual_roles(explained: ExplainedJob) -> Iterator[Role]:
    """Shown roles that have a manual size."""
    for role in explained.view.job.live:
        if role.request.replicas is not None and role.name in explained.roles:
            yield role


def _manual_size(role: Role, explained: ExplainedJob) -> str:
    """The manual size; if it is not reached, what it waits for, unless the blockers say so."""
    short = (role.request.replicas or 0) - role.status.size
    if role.status.suspended or short <= 0:
        return f"{role.name}={role.request.replicas}"
    lacks, planned = f"{role.name}={role.request.replicas}, {short} short", explained.decided.roles
    search = next((change.blockers for change in planned if change.role == role.name), None)
    if search and any(isinstance(one, QuotaExceeded | OwnCondition) for one in search.found[:1]):
        return lacks
    if is_finishing(role):
        return f"{lacks}: {message(reasons.PODS_SUCCEEDED)}"
    within = "" if search else " within its quotas"
    return (
        f"{lacks}: it is scaled up into idle capacity{within}, and other jobs give none up for it"
    )


def _cooldown(explained: ExplainedJob) -> resize_limits.Pace | None:
    limits = explained.deciding.settings.limits
    seconds = [one.total_seconds() for one in (limits.growth_cooldown, limits.restart_cooldown)]
    return resize_limits.pace(explained.view.job, resize_limits.ReconcilerCooldowns(*seconds))


def _until(explained: ExplainedJob) -> datetime | None:
    """The end of the job's own cooldown or back-off, from the plan."""
    waiting = explained.decided.waiting
    return waiting.until if waiting and waiting.reason.code in TIMED_CODES else None


def _pacing(explained: ExplainedJob) -> str:
    text, until = resize_limits.text(_cooldown(explained)), _until(explained)
    return f"{text}, not before {until:%H:%M:%S} UTC" if text and until else text


def _when(explained: ExplainedJob, now: datetime) -> dict[str, str]:
    """The estimated start or growth; empty if no role may grow, because the table says why."""
    live = explained.view.job.live
    if explained.estimate is None:
        return {}
    if explained.published.entry or any(role.status.suspended for role in live):
        return {"Starts": when(explained.estimate, now, explained.why.reason)}
    at_once = explained.estimate.certainty is Certainty.NOW
    first_smaller = {one.role for one in explained.decided.roles if one.after < one.before}
    may_grow = any(
        role.request.replicas is None
        and role.status.size < role.spec.max
        and not (at_once and role.name in first_smaller)
        for role in live
    )
    return {"Grows": when(explained.estimate, now, explained.why.reason)} if may_grow else {}


def _pods(now: datetime) -> tuple[Column[WaitingPod], ...]:
    return (
        Column("PENDING POD", lambda pod: pod.name),
        Column("NODE", lambda pod: pod.node),
        Column("AGE", lambda pod: age(pod.since, now)),
        Column("WHY", lambda pod: pod.why, shrinks=True),
    )


def _past(now: datetime) -> tuple[Column[PastOperation], ...]:
    return (
        Column("AGO", lambda row: age(row.at, now)),
        Column("WHAT HAPPENED", lambda row: row.operation.value),
        Column("SIZES", lambda row: row.text),
        Column("MESSAGE", lambda row: row.message, shrinks=True),
    )


def _document(explained: ExplainedJob) -> TrainingJobExplanationDocument:
    job, waiting, published = explained.view.job, explained.decided.waiting, explained.published
    return {
        "metadata": {"name": job.key.name, "namespace": job.key.namespace},
        "phase": explained.view.phase.value,
        **explained.why.document,
        "complete": explained.decided.explanation is not None,
        "settings": explained.deciding.document,
        "topology": _topology(explained),
        "cooldown": _cooldown_document(explained),
        "team": explained.team or None,
        "teamCapacity": capacity_document(explained.decided.capacity),
        "position": explained.position,
        "blockedBy": [str(key) for key in waiting.ahead] if waiting else [],
        "blockedByTeam": counts_document(published.entry.ahead) if published.entry else [],
        "observedTime": time_text(published.as_of),
        "estimate": when_document(explained.estimate) if explained.estimate else None,
        "caveats": [_caveat_document(role, note) for role, note in _caveats(explained)],
        "start": explained.start,
        "roles": _role_documents(explained),
        "pendingPods": [
            {
                "name": pod.name,
                "jobName": pod.job,
                "nodeName": pod.node or None,
                "message": pod.why,
            }
            for pod in explained.waiting_pods
        ],
        "blockers": blocker_documents(other_blockers(explained)),
        "operations": [operation_document(operation) for operation in explained.past],
    }


def _caveat_document(role: str, note: Caveat) -> CaveatDocument:
    message = caveat(note)
    return {"role": role, "type": note.code.value, "subject": note.subject, "message": message}


def _cooldown_document(explained: ExplainedJob) -> LimitedCooldownDocument | None:
    cooldown = resize_limits.document(_cooldown(explained))
    return {**cooldown, "notBefore": time_text(_until(explained))} if cooldown else None


def _role_documents(explained: ExplainedJob) -> list[ExplainedRoleDocument]:
    roles = {role.name: role for role in explained.view.job.roles}
    return [
        {
            "name": change.role,
            "replicas": change.before,
            "nextReplicas": change.after,
            **why_this_size(explained.view.job, roles[change.role], change).document,
            "scaleUp": blockers_document(change.blockers, explained.view.argument)
            if change.blockers
            else None,
        }
        for change in explained.decided.roles
        if change.role in explained.roles
    ]
