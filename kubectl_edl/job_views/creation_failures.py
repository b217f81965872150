"""Why pods of a training job could not be created, by the Events of its Jobs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from edl.job_state.last_changes import pods_were_not_created
from edl.kube.cluster import Cluster
from edl.kube.create_failures import CreateFailure, create_failure, missing_name
from edl.kube.event_facts import EventFacts
from edl.kube.state.quota_usage import charge
from edl.messages import message
from edl.messages.blocker_messages import restart_commands
from edl.model import JobKey, TrainingJob
from edl.model.causes.reason_subjects import Usage
from edl.model.quotas import Excess
from kubectl_edl.client.event_reader import jobs_of, warnings_by_job
from kubectl_edl.client.optional_reads import Hints
from kubectl_edl.job_views.blocker_facts import JobBlocker
from kubectl_edl.job_views.job_reasons import refused_pods
from kubectl_edl.job_views.training_job_view import JobView, RoleView

_LATELY: Final = timedelta(minutes=10)
_REFUSED: Final = "FailedCreate"
"""The reason of the Job controller's Events about pods that it cannot create."""


def creation_failures(
    cluster: Cluster, views: Iterable[JobView], now: datetime
) -> tuple[Mapping[JobKey, tuple[JobBlocker, ...]], Hints]:
    """Why pods could not be created, by job that lacks pods, or did when its last start failed.

    Without such a job nothing is requested. A hint says that the user may not list Events.
    """
    lacking = [view for view in views if any(map(_lacks_pods, view.roles))]
    warnings, errors = warnings_by_job(cluster, jobs_of(view.job for view in lacking))
    hints = tuple(f"hint: why pods cannot be created is missing: {error}" for error in errors[:1])
    by_job: dict[JobKey, tuple[JobBlocker, ...]] = {}
    for view in lacking:
        events = [warned for job in jobs_of([view.job]) for warned in warnings.get(job, ())]
        by_job[view.job.key] = tuple(uncreated_pods(view, events, now))
    return by_job, hints


def _lacks_pods(shown: RoleView) -> bool:
    """Whether pods of this role do not exist, or did not when its start failed."""
    if shown.role.status.suspended:
        return pods_were_not_created(shown.role)
    return len(shown.role.replicas) < shown.size


def uncreated_pods(
    view: JobView, changes: Sequence[EventFacts], now: datetime
) -> Iterator[JobBlocker]:
    """Pods that the Job controller cannot create: a quota refuses them, or its Event says why."""
    refused = refused_pods(view.job)
    if refused and isinstance(refused.about, Usage):
        yield JobBlocker(message(refused), _more_quota(view, refused.about))
    elif refused:
        where = f"kubectl describe limitrange,resourcequota {view.namespace_option}"
        yield JobBlocker(message(refused), where)
    for shown in view.roles:
        role = shown.role
        refusals = [one for one in changes if one.reason == _REFUSED and one.name == role.job]
        failed = role.status.suspended  # the last Event says why, for as long as it backs off
        if not _lacks_pods(shown) or not refusals:
            continue
        last, text = refusals[-1].last, refusals[-1].message
        if last and any(pod.created_at > last for pod in role.status.pods):
            continue  # the API server has accepted a pod since
        stated = {
            CreateFailure.QUOTA: role.refused_pods is not None,
            CreateFailure.LIMIT_RANGE: role.refused_pods is not None,
            CreateFailure.NAMESPACE_TERMINATING: view.job.namespace_terminating,
        }
        if stated.get(create_failure(text)):
            continue
        if not (failed or (last and now - last <= _LATELY)):
            continue
        remedy = _CREATION_REMEDIES[create_failure(text)].format(
            job=role.job,
            name=missing_name(text),
            there=view.namespace_option,
            flags=view.scope.cluster_flags,
        )
        if failed:
            remedy += f"; then, for a start at once: {restart_commands(view.argument)}"
        yield JobBlocker(f"{role.job}: {_REFUSED}: {text}", remedy)


def missing_class_remedy(job: TrainingJob, flags: str = "") -> str:
    """The command that creates the PriorityClass of its pods; empty if it exists.

    `flags`: the options by which kubectl reaches the cluster.
    """
    name = next((one.template.missing_class for one in job.live if one.template.missing_class), "")
    create = _CREATION_REMEDIES[CreateFailure.PRIORITY_CLASS]
    return create.format(name=name, flags=flags) if name else ""


def _more_quota(view: JobView, usage: Usage) -> str:
    """Raise the quota, or scale down this job if its extras hold enough of it, else others."""
    every = (usage, *usage.more)
    enough = ",".join(excess.budget.assigned(excess.used + excess.needs) for excess in every)
    raised = f"raise {usage.budget.place} to {enough}"
    if all(_fits_at_minimum(view.roles, excess) for excess in every):
        return f"{raised}, or: kubectl edl scale {view.argument} SIZE"
    return f"{raised}, or scale down other jobs: kubectl edl status {view.namespace_option}"


def _fits_at_minimum(roles: Sequence[RoleView], exceeded: Excess) -> bool:
    """Whether the job's pods would fit into the quota if it had no extras."""
    used, missing = exceeded.used, 0
    for role in (shown.role for shown in roles if not shown.role.status.suspended):
        pods = [pod for pod in role.replicas if not pod.ended]
        remaining = [pod for pod in pods if not role.spec.indexed or pod.index < role.spec.min]
        stay = min(len(remaining), role.spec.min)
        amount = charge(role, exceeded.budget)
        used -= (len(pods) - stay) * amount
        missing += (role.spec.min - stay) * amount
    return not missing or used + missing <= exceeded.budget.hard


_CREATION_REMEDIES: Final = {
    CreateFailure.SERVICE_ACCOUNT: "create the ServiceAccount: kubectl create serviceaccount "
    "{name} {there}",
    CreateFailure.PRIORITY_CLASS: "create the PriorityClass: kubectl create priorityclass {name} "
    "--value=VALUE{flags}",
    CreateFailure.RUNTIME_CLASS: "create the RuntimeClass, or delete the Jobs and apply them with "
    "one of: kubectl get runtimeclass{flags}",
    CreateFailure.QUOTA: "kubectl describe resourcequota {there}",
    CreateFailure.LIMIT_RANGE: "kubectl describe limitrange {there}",
    CreateFailure.POD_SECURITY: "delete the Jobs and apply them with a securityContext that the "
    "namespace allows, or relax its pod-security.kubernetes.io labels",
    CreateFailure.WEBHOOK: "kubectl describe job/{job} {there}; "
    "kubectl get mutatingwebhookconfiguration,validatingwebhookconfiguration{flags}",
    CreateFailure.NAMESPACE_TERMINATING: "apply the Jobs in another namespace",
    CreateFailure.OTHER: "kubectl describe job/{job} {there}",
}
