"""Training jobs that will not get on by themselves."""

import dataclasses
from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from functools import partial
from typing import Final, TypeAlias

from msgspec.structs import replace

from edl import contract, frameworks
from edl.errors import Forbidden
from edl.kube.cluster import ListOptions
from edl.kube.decode.object_facts import node
from edl.messages import message
from edl.model import ClusterState, ObjectRef, Phase, TrainingJob
from edl.parsing import namespace_policy
from edl.phases import ending, phase
from edl.quantities import Resources
from kubectl_edl.client.cluster_view import Survey, survey_cluster, survey_ruled
from kubectl_edl.client.reconciler_settings import SettingsOverrides, deciding
from kubectl_edl.doctor.checks import reconciler_health
from kubectl_edl.doctor.checks.check import Diagnosis, Findings, Patient, failure, warning, well
from kubectl_edl.model.training_job_view import why
from kubectl_edl.output.age import duration

_SHOWN: Final = 10
_TRIED: Final = 20
"""Of the queued jobs so many are tried alone: each takes a decision over all nodes."""
_CAST: Final = timedelta(minutes=2)
_NOTICED: Final = timedelta(minutes=1)
_SLOW: Final = timedelta(minutes=10)

_Rule: TypeAlias = Callable[[TrainingJob, datetime], Diagnosis | None]


def stuck(patient: Patient) -> Findings:
    """By their phases and reasons: waiting for what nobody brings, half started, never ending."""
    jobs = _jobs(patient).jobs
    rules = _rules(reconciler_health.way_out(patient))
    bad = [said for job in jobs if (said := _stuck(job, rules, patient.now))]
    yield from bad[:_SHOWN]
    if len(bad) > _SHOWN:
        yield warning(f"and {len(bad) - _SHOWN} more like them", "kubectl edl status -A")
    if not bad:
        yield well(f"none of {len(jobs)} is stuck" if jobs else "there are none yet")


def unrequested(patient: Patient) -> Findings:
    """Elastic roles whose pods ask for nothing: they grow to their max, whatever capacity is free.

    Where a quota refuses such pods, `stuck` says so. Where rules of namespaces may not be read,
    only pods that exist tell: a LimitRange may give requests to others.
    """
    from edl.inject.warnings.request_warnings import roles  # noqa: PLC0415 (not for --help)

    survey = _jobs(patient)
    jobs = [job for job in survey.jobs if not ending(job)]
    found = [(job, role) for job in jobs for role in roles(job)]
    said = [
        (job, role)
        for job, role in found
        if not job.problem and (role.status.pods or not survey.hints)
    ]
    for job, role in said[:_SHOWN]:
        yield warning(
            f"{job.key}: no container of {role.name} requests CPU or memory: its pods count as "
            f"nothing, and all {role.spec.max} run whatever capacity is free",
            f"kubectl edl explain {job.key.name} -n {job.key.namespace}  "
            "# then recreate it with resources.requests",
        )
    if len(said) > _SHOWN:
        yield warning(f"and {len(said) - _SHOWN} more like them", "kubectl edl status -A")
    if jobs and not found:
        yield well("the pods of each elastic role request something")


def never(patient: Patient) -> Findings:
    """Queued jobs that would not even start if they were alone in the cluster."""
    from edl.planner.decide import decide  # noqa: PLC0415 (numpy, not for --help)

    state = survey_cluster(patient.connection.cluster, patient.now)
    by = deciding(patient.connection, SettingsOverrides(), patient.now)
    namespace = patient.connection.scope.namespace
    queued = [
        job
        for job in state.jobs
        if phase(job) is Phase.QUEUED and not job.problem and namespace in ("", job.key.namespace)
    ]
    hopeless = 0
    for job in queued[:_TRIED]:
        plan = decide(alone(state, job), by.settings.value(), by.settings.limits)
        # What waits for time only may start later; so may who fits now.
        if plan.admissions or plan.recheck_after is not None:
            continue
        hopeless += 1
        said = (message(held.reason) for held in plan.held if held.job == job.key)
        reason = next(said, "nothing fits")
        yield warning(
            f"{job.key} would not start if no other training job ran either: {reason}",
            f"kubectl edl explain {job.key.name} -n {job.key.namespace}",
        )
    if not hopeless:
        tried = min(len(queued), _TRIED)
        yield well(
            f"each of the {tried} queued could start" if queued else "none waits for capacity"
        )


def topologies(patient: Patient) -> Findings:
    """Labels of topologies that no node has."""
    asking = [job for job in _jobs(patient).jobs if not ending(job) and job.topology]
    if not asking:
        return
    listing = patient.connection.cluster.list(ListOptions("Node"))
    known = {label for raw in listing.items for label in node(raw).labels or {}}
    missing = [
        (job, label) for job in asking for label in job.topology.labels if label not in known
    ]
    for job, label in missing[:_SHOWN]:
        required = label in (one for _, one in job.topology.required)
        name = contract.REQUIRED_TOPOLOGY if required else contract.PREFERRED_TOPOLOGY
        then = "it cannot start" if required else "it has no effect"
        yield warning(
            f"{job.key}: no node has the label {label} of its {name}: {then}",
            "kubectl get nodes --show-labels",
        )
    if len(missing) > _SHOWN:
        yield warning(f"and {len(missing) - _SHOWN} more like them", "kubectl edl status -A")
    if not missing:
        yield well("nodes have each label of the jobs' topologies")


def consent(patient: Patient) -> Findings:
    """Launchers that exec into their workers: their namespace must let them."""
    found = _jobs(patient)
    waiting: defaultdict[str, list[str]] = defaultdict(list)
    for job in (*found.jobs, *found.bare):
        if not ending(job) and frameworks.needs_kubexec(job):
            waiting[job.key.namespace].append(job.key.name)
    lacking = [name for name in sorted(waiting) if not _consents(patient, name)]
    for namespace in lacking:
        names = waiting[namespace]
        yield warning(
            f"namespace {namespace} does not let launchers exec into workers: "
            f"{', '.join(names[:_SHOWN])} cannot start without",
            namespace_policy.allow_kubexec(namespace),
        )
    if waiting and not lacking:
        yield well("launchers may exec into their workers where they have to")


def _consents(patient: Patient, namespace: str) -> bool:
    found = patient.connection.cluster.get(ObjectRef("Namespace", "", namespace))
    return namespace_policy.read(found).kubexec


def alone(state: ClusterState, job: TrainingJob) -> ClusterState:
    """The same cluster without the other training jobs and all that their pods hold."""
    given_back: defaultdict[str, Resources] = defaultdict(Resources)
    for role in (role for one in state.jobs for role in one.roles):
        for pod in role.status.pods:
            if pod.node and not pod.ended:
                given_back[pod.node] += role.template.shape.requests
    nodes = tuple(replace(node, used=node.used - given_back[node.name]) for node in state.nodes)
    return replace(state, nodes=nodes, jobs=(job,), demands=(), bare_jobs=())


def _jobs(patient: Patient) -> Survey:
    """Everybody's, unless a namespace was named or only one's own may be read."""
    connection = patient.connection
    everywhere = dataclasses.replace(connection, namespace=connection.scope.namespace)
    try:
        return survey_ruled(everywhere, patient.now)
    except Forbidden:
        return survey_ruled(connection, patient.now)


def _rules(log: str) -> tuple[_Rule, ...]:
    """The first that holds speaks: the others say the same less well."""
    return (
        _unreadable,
        _incomplete,
        partial(_unnoticed, log),
        _unprovisioned,
        _half_started,
        _starting,
        _scaling,
        partial(_finishing, log),
    )


def _stuck(job: TrainingJob, rules: Iterable[_Rule], now: datetime) -> Diagnosis | None:
    return next((said for rule in rules if (said := rule(job, now))), None)


def _unreadable(job: TrainingJob, now: datetime) -> Diagnosis | None:
    """Paused and ended ones harm nobody."""
    del now
    if not job.problem or ending(job) is not None:
        return None
    return warning(f"{job.key}: {job.problem}", _explain(job))


def _incomplete(job: TrainingJob, now: datetime) -> Diagnosis | None:
    waits = now - job.queued_at
    if phase(job) is not Phase.INCOMPLETE or waits < _CAST:
        return None
    if not job.suspended:
        return warning(
            f"{job.key} runs without the Jobs of {', '.join(job.missing)}, which were deleted: "
            "it holds its nodes and cannot complete",
            "kubectl apply them again, or: "
            f"kubectl edl delete {job.key.name} -n {job.key.namespace}",
        )
    return warning(
        f"{job.key} has waited {duration(waits)} for the Jobs of {', '.join(job.missing)}: "
        "no role starts before the Jobs of all roles exist",
        f"kubectl get jobs -n {job.key.namespace} -l {contract.JOB}={job.key.name}",
    )


def _unnoticed(log: str, job: TrainingJob, now: datetime) -> Diagnosis | None:
    waits = now - job.queued_at
    said = any(role.record.reason for role in job.roles)
    if phase(job) is not Phase.QUEUED or said or waits < _NOTICED:
        return None
    return failure(
        f"{job.key} has been queued for {duration(waits)}, and no reconciler has looked at it",
        log,
    )


def _unprovisioned(job: TrainingJob, now: datetime) -> Diagnosis | None:
    asked = job.provisioning
    if phase(job) is not Phase.QUEUED or not (asked.failure or asked.pods):
        return None
    if asked.since and now - asked.since >= _NOTICED:
        what = f"{job.key} has waited {duration(now - asked.since)} for nodes of an autoscaler"
        pods = f"-l {contract.PROVISIONAL}={job.key.name}"
        return warning(what, f"kubectl describe pods -n {job.key.namespace} {pods}")
    if asked.failure is None:
        return None
    said = f": {asked.failure.message}" if asked.failure.message else ""
    ago = duration(now - asked.failure.at)
    return warning(
        f"{job.key} asked for nodes {asked.failure.attempts} times in vain, last {ago} ago{said}",
        _explain(job),
    )


def _half_started(job: TrainingJob, now: datetime) -> Diagnosis | None:
    """A gang starts whole; the reconciler completes a start or takes it back within minutes."""
    waiting = [role.name for role in job.live if role.status.suspended]
    since = job.started_at
    if ending(job) or not waiting or len(waiting) == len(job.live) or since is None:
        return None
    if now - since < _SLOW:
        return None
    return failure(
        f"{job.key} is half started: {', '.join(waiting)} still suspended after "
        f"{duration(now - since)}",
        _explain(job),
    )


def _starting(job: TrainingJob, now: datetime) -> Diagnosis | None:
    if phase(job) is not Phase.STARTING or job.started_at is None or now - job.started_at < _SLOW:
        return None
    pods = [pod for role in job.live for pod in role.status.pods if not (pod.ready or pod.ended)]
    return warning(
        f"{job.key} has been starting for {duration(now - job.started_at)}: {len(pods)} of its "
        "pods are not ready",
        f"kubectl describe pods -n {job.key.namespace} -l {contract.JOB}={job.key.name}",
    )


def _scaling(job: TrainingJob, now: datetime) -> Diagnosis | None:
    moments = [role.record.resized_at for role in job.live if role.record.resized_at]
    if phase(job) is not Phase.SCALING or not moments or now - max(moments) < _SLOW:
        return None
    return warning(
        f"{job.key} has been on its way to a new size for {duration(now - max(moments))}: "
        f"{why(job).message}",
        _explain(job),
    )


def _finishing(log: str, job: TrainingJob, now: datetime) -> Diagnosis | None:
    ended = [role.status.ended_at for role in job.roles if role.status.ended_at]
    if phase(job) is not Phase.FINISHING or not ended or now - max(ended) < _SLOW:
        return None
    left = ", ".join(role.name for role in job.live)
    return failure(
        f"{job.key} has ended {duration(now - max(ended))} ago, and {left} has not been ended",
        log,
    )


def _explain(job: TrainingJob) -> str:
    return f"kubectl edl explain {job.key.name} -n {job.key.namespace}"
