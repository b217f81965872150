"""Resolves the name that a user typed to a training job, or raises an error with a suggestion."""

from collections.abc import Sequence
from contextlib import suppress

import msgspec

from edl import contract
from edl.contract.manifest_parts import labels
from edl.errors import Forbidden
from edl.kube.cluster import find
from edl.kube.decode import job_facts
from edl.kube.decode.pod_shapes import ShapeInterner
from edl.kube.state.jobs.job_conflicts import conflicting_jobs
from edl.messages import message
from edl.model import ObjectRef, TrainingJob
from edl.writes import Json
from kubectl_edl.cli.command_errors import Missing, Refused, no_such_job, not_elastic
from kubectl_edl.cli.completion_candidates import plain
from kubectl_edl.cli.context import ClusterConnection
from kubectl_edl.client.cluster_view import Survey
from kubectl_edl.client.reconciler_lease import unmanaged


def training_job(name: str, survey: Survey, connection: ClusterConnection) -> TrainingJob:
    """The training job of this name, or the one to which a Job of this name belongs.

    Raises Missing with the closest names, Refused for a Job without our label or that is left out,
    or when several namespaces have one.
    """
    name = plain(name)
    matches = [job for job in survey.jobs if job.key.name == name] or [
        job for job in survey.jobs if any(role.job == name for role in job.roles)
    ]
    if len(matches) == 1:
        return matches[0]
    if matches:
        places = ", ".join(job.key.namespace for job in matches)
        raise Refused(f'"{name}" is in several namespaces ({places}): choose one with -n')
    for job in survey.jobs:
        for other in job.conflicting:
            if other.name == name:
                raise Refused(message(other.reason))
    if (plain_job := _find("Job", name, connection)) is not None:
        _refuse_unsurveyed(name, plain_job, connection)
    raise missing(name, sorted({job.key.name for job in survey.jobs}), connection)


def left_out(jobs: Sequence[Json]) -> frozenset[str]:
    """The names of those Jobs of one training job that are left out of it."""
    shapes = ShapeInterner()
    facts = [job_facts.job(msgspec.json.encode(job), shapes) for job in jobs]
    return frozenset(other.name for other in conflicting_jobs(facts[0].key, facts))


def _refuse_unsurveyed(name: str, job: Json, connection: ClusterConnection) -> None:
    """Raises Refused with the reason why no survey has this Job; none if it is new."""
    from edl.inject.warnings.unknown_keys import on_stored

    if contract.FRAMEWORK not in labels(job):
        raise not_elastic(name, connection, on_stored(job))
    if job["metadata"].get("deletionTimestamp"):
        raise Refused(f'Job "{name}" is being deleted')
    if connection.namespace in unmanaged(connection.cluster):
        raise Refused(
            f'Job "{name}" is not elastic: webhook and reconciler ignore namespace '
            f"{connection.namespace}: use another one, or remove the label {contract.FRAMEWORK}"
        )


def missing(name: str, names: Sequence[str], connection: ClusterConnection) -> Missing:
    """The error for a name that no training job has, with the closest of `names`.

    For a pod with our labels, it names its training job, or what to use for a bare pod.
    """
    with suppress(Forbidden):
        pod = _find("Pod", name, connection)
        if pod and contract.FRAMEWORK in labels(pod):
            return _of_pod(name, pod, connection)
    return no_such_job(name, names, connection)


def named_role(name: str, job: TrainingJob) -> str:
    """The role whose Job has this name; empty if the name is the training job's."""
    name = plain(name)
    return next((role.name for role in job.roles if role.job == name != job.key.name), "")


def _find(kind: str, name: str, connection: ClusterConnection) -> Json | None:
    if not connection.namespace:
        return None
    return find(connection.cluster, ObjectRef(kind, connection.namespace, name))


def _of_pod(name: str, pod: Json, connection: ClusterConnection) -> Missing:
    """The error for a labelled pod: of a training job, or a bare one, which no command manages."""
    scope, job = connection.scope, labels(pod).get(contract.JOB)
    owners = pod["metadata"].get("ownerReferences") or ()
    if job and any(owner["kind"] == "Job" for owner in owners):
        return Missing(
            f'"{name}" is a pod of training job {job}: kubectl edl explain {job}{scope.job_flags}'
        )
    return Missing(
        f'"{name}" is a bare pod, which is neither queued nor resized: kubectl describe pod '
        f"{name}{scope.flags}; only Jobs are training jobs"
    )
