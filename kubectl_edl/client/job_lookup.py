"""Resolves the name that a user typed to a training job, or raises an error with a suggestion."""

from edl.kube.cluster import find
from edl.model import JobKey, ObjectRef, TrainingJob
from edl.writes import Json
from kubectl_edl.cli.command_errors import Refused, no_such_job, not_elastic
from kubectl_edl.cli.completion_candidates import plain
from kubectl_edl.cli.context import ClusterConnection
from kubectl_edl.client.cluster_view import Survey


def training_job(name: str, survey: Survey, connection: ClusterConnection) -> TrainingJob:
    """The training job of this name, or the one to which a Job of this name belongs.

    Raises Missing with the closest names, Refused for a Job without our label or when several
    namespaces have one.
    """
    name = plain(name)
    found = [job for job in survey.jobs if job.key.name == name] or [
        job for job in survey.jobs if any(role.job == name for role in job.roles)
    ]
    if len(found) == 1:
        return found[0]
    if found:
        places = ", ".join(job.key.namespace for job in found)
        raise Refused(f'"{name}" is in several namespaces ({places}): choose one with -n')
    if (plain_job := _found(name, connection)) is not None:
        from edl.inject.warnings.unknown_keys import on_stored

        raise not_elastic(name, connection, on_stored(plain_job))
    raise no_such_job(name, sorted({job.key.name for job in survey.jobs}), connection)


def named_role(name: str, job: TrainingJob) -> str:
    """The role whose Job has this name; empty if the name is the training job's."""
    name = plain(name)
    return next((role.name for role in job.roles if role.job == name != job.key.name), "")


def only(key: JobKey, survey: Survey) -> TrainingJob | None:
    """The same training job in a later survey; None if it no longer exists."""
    return next((job for job in survey.jobs if job.key == key), None)


def _found(name: str, connection: ClusterConnection) -> Json | None:
    if not connection.namespace:
        return None
    return find(connection.cluster, ObjectRef("Job", connection.namespace, name))
