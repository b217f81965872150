"""Objects that newly created Jobs need before they can start."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from edl.errors import ClusterError, NotFound
from edl.inject.warnings import request_warnings
from edl.model import ObjectRef
from edl.writes import Json
from kubectl_edl.cli.context import ClusterConnection


def hints(
    connection: ClusterConnection, stored: Sequence[Json], now: datetime, remedy: str
) -> Iterator[str]:
    """Hints why the new job will not start, or why its pods would all start at once.

    The job is already created, so a failed read is not an error. `remedy`: the remedy for pods
    without requests.
    """
    from kubectl_edl.client.cluster_view import survey_created

    yield from _claims(connection, stored)
    try:
        found = survey_created(connection, stored, now)
    except ClusterError:
        return
    yield from found.hints
    for job in found.jobs:
        if job.problem:
            yield f"hint: nothing starts: {job.problem}"
            return
        for role in request_warnings.roles(job):
            yield f"hint: {request_warnings.no_requests(role.name, role.spec.max)}; {remedy}"


def _claims(connection: ClusterConnection, stored: Sequence[Json]) -> Iterator[str]:
    pods = (one["spec"]["template"]["spec"] for one in stored)
    volumes = (volume for pod in pods for volume in pod.get("volumes") or ())
    claims = (volume.get("persistentVolumeClaim") for volume in volumes)
    for name in dict.fromkeys(claim["claimName"] for claim in claims if claim):
        try:
            connection.cluster.get(ObjectRef("PersistentVolumeClaim", connection.namespace, name))
        except NotFound:
            yield (
                f'hint: there is no PersistentVolumeClaim "{name}" in namespace '
                f"{connection.namespace}: its pods stay Pending until it is created"
            )
        except ClusterError:
            continue
