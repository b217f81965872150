"""Objects that newly created Jobs need before they can start."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from edl.errors import ClusterError, NotFound
from edl.messages import message
from edl.model import Code, ObjectRef
from edl.quantities import MEMORY
from edl.writes import Json
from kubectl_edl.cli.context import ClusterConnection

_LEAST_MEMORY: Final = 2**20
"""Bytes; no program fits into less."""


def hints(connection: ClusterConnection, stored: Sequence[Json], now: datetime) -> Iterator[str]:
    """Hints why the new job will not start; what the API server warns of is printed already.

    The job is already created, so a failed read is not an error.
    """
    from kubectl_edl.client.cluster_view import survey_created

    yield from _claims(connection, stored)
    try:
        survey = survey_created(connection, stored, now)
    except ClusterError:
        return
    yield from survey.hints
    for job in survey.jobs:
        if job.problem:
            if job.problem.code is not Code.EXEC_NOT_ALLOWED:  # the webhook warns of it
                yield f"hint: nothing starts: {message(job.problem)}"
            return
        for role in job.live:
            amount = role.template.shape.requests.get(MEMORY)
            if 0 < amount < _LEAST_MEMORY:  # a quantity without a unit is bytes: `--memory 4`
                pods = f"pods of {role.name} request {amount} bytes of memory"
                yield f"hint: {pods}: is a unit missing?"


def _claims(connection: ClusterConnection, stored: Sequence[Json]) -> Iterator[str]:
    pods = (job["spec"]["template"]["spec"] for job in stored)
    volumes = (volume for pod in pods for volume in pod.get("volumes") or ())
    claims = (volume.get("persistentVolumeClaim") for volume in volumes)
    for name in dict.fromkeys(claim["claimName"] for claim in claims if claim):
        try:
            connection.cluster.get(ObjectRef("PersistentVolumeClaim", connection.namespace, name))
        except NotFound:
            yield (
                f'hint: there is no PersistentVolumeClaim "{name}" in namespace '
                f"{connection.namespace}: the job waits in the queue until it is created"
            )
        except ClusterError:
            continue
