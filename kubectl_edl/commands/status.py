"""`kubectl edl status`."""

from typing import Final

import click

from edl import contract
from edl.errors import Forbidden
from edl.kube.cluster import Selection
from kubectl_edl.changes import Change, last_changes
from kubectl_edl.completions import job_names
from kubectl_edl.find import training_job
from kubectl_edl.options import Reading, everywhere, reading
from kubectl_edl.printers.report import Report
from kubectl_edl.refusals import EXIT_CODES_HELP
from kubectl_edl.screens.status import Detail, detail_report, list_report
from kubectl_edl.show import follow, show
from kubectl_edl.survey import survey_training
from kubectl_edl.views import view
from kubectl_edl.world import Connection, Scope, World

_CHANGES_SHOWN: Final = 10
_HELP: Final = """Show training jobs: sizes, bounds, what they wait for and why.

ROLES reads role=NOW/MIN..MAX: worker=4/1..12 has 4 workers and may have 1 to 12; chief=1/1 never
changes. PENDING counts pods that are asked for and do not run; for a queued job, its minimum.
With JOB (a training job, or one of its Jobs): its roles, pods and last changes.

\b
Examples:
  # The training jobs of this namespace
  kubectl edl status
  # One of them, with its pods and last changes
  kubectl edl status mnist
  # Everybody's, as they change
  kubectl edl status -A -w
  # For a script: who is queued
  kubectl edl status -o json | jq -r '.items[] | select(.phase=="Queued") | .metadata.name'

\b
-o json: {"kind": "TrainingJobList", "items": [ITEM]}, with JOB one ITEM:
  {"apiVersion": "edl.dev/v1", "kind": "TrainingJob",
   "metadata": {"name", "namespace", "creationTimestamp"},
   "framework", "phase", "reason", "pending", "priority", "paused", "startedAt", "missingRoles",
   "roles": [{"name", "job", "size", "min", "max", "running", "pending", "resizing", "wanted",
              "ending", "resizedAt", "reason",
              "pods": [{"name", "index", "node", "status", "creationTimestamp"}]}],
   "changes": [{"at", "job", "type", "reason", "message", "count"}]}       (with JOB only)
  phase: Incomplete, Queued, Starting, Running, Scaling, Paused, Finishing, Succeeded or Failed.
  Scaling: pods of a new size come or leave, or it restarts for it; see kubectl edl history.
  et-operator's Created is Incomplete, Queued or Starting here, and its Suspended is Paused.
"""


@click.command("status", help=_HELP, epilog=EXIT_CODES_HELP)
@click.argument("job", required=False, shell_complete=job_names)
@everywhere
@reading
@click.pass_obj
def status(world: World, job: str | None, scope: Scope, reading: Reading) -> None:
    connection = world.connect(scope)

    def read() -> Report:
        if job is None:
            return _list(world, connection, reading)
        return _detail(world, connection, job)

    if reading.watch:
        selection = Selection("Job", connection.namespace, contract.FRAMEWORK)
        follow(world, reading, read, world.changes(connection.cluster, selection))
    else:
        show(world, reading, read)


COMMAND: Final = status


def _list(world: World, connection: Connection, reading: Reading) -> Report:
    now = world.now()
    survey = survey_training(connection, reading.selector, now)
    views = [view(job) for job in survey.jobs]
    return list_report(views, now, connection.namespace).hinting(survey.hints)


def _detail(world: World, connection: Connection, name: str) -> Report:
    now = world.now()
    survey = survey_training(connection, "", now)
    found = training_job(name, survey, connection)
    changes, hints = _changes(connection, found.key.namespace, [role.job for role in found.roles])
    detail = Detail(view(found), changes)
    return detail_report(detail, now).hinting((*survey.hints, *hints))


def _changes(
    connection: Connection, namespace: str, jobs: list[str]
) -> tuple[tuple[Change, ...], tuple[str, ...]]:
    try:
        return last_changes(connection.cluster, namespace, jobs, _CHANGES_SHOWN), ()
    except Forbidden as error:
        return (), (f"hint: the last changes are missing: {error}",)
