"""From the name that a user typed to a training job, or to the error that helps."""

from edl.errors import NotFound
from edl.model import JobKey, Target, TrainingJob
from kubectl_edl.refusals import Refused, no_such_job, not_elastic
from kubectl_edl.survey import Survey
from kubectl_edl.world import Connection


def training_job(name: str, survey: Survey, connection: Connection) -> TrainingJob:
    """The training job of this name, or the one that a Job of this name belongs to.

    Raises Missing with the nearest names, Refused for a Job without our label or when several
    namespaces have one.
    """
    plain = name.removeprefix("job/").removeprefix("jobs/").removeprefix("trainingjob.edl.dev/")
    found = [job for job in survey.jobs if job.key.name == plain] or [
        job for job in survey.jobs if any(role.job == plain for role in job.roles)
    ]
    if len(found) == 1:
        return found[0]
    if found:
        places = ", ".join(job.key.namespace for job in found)
        raise Refused(f'"{plain}" is in several namespaces ({places}): choose one with -n')
    if _exists(plain, connection):
        raise not_elastic(plain, connection)
    raise no_such_job(plain, sorted({job.key.name for job in survey.jobs}), connection)


def only(key: JobKey, survey: Survey) -> TrainingJob | None:
    """The same training job in a later survey; None when it is gone."""
    return next((job for job in survey.jobs if job.key == key), None)


def _exists(name: str, connection: Connection) -> bool:
    if not connection.namespace:
        return False
    try:
        connection.cluster.get(Target("Job", connection.namespace, name))
    except NotFound:
        return False
    return True
