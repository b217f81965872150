from collections.abc import Sequence
from typing import Final

import click

from edl.kube.cluster import ListOptions
from edl.kube.event_facts import EventFacts
from kubectl_edl.cli.command_errors import EXIT_CODES_NAMED_HELP
from kubectl_edl.cli.completion_candidates import job_names
from kubectl_edl.cli.context import CliContext, ClusterConnection, Scope
from kubectl_edl.cli.options import OutputOptions, all_namespaces_options, not_both, output_options
from kubectl_edl.cli.watch_report import continued, show
from kubectl_edl.client.cluster_view import read_survey
from kubectl_edl.client.event_reader import events_of, jobs_of
from kubectl_edl.client.job_lookup import training_job
from kubectl_edl.events.view import events_report
from kubectl_edl.output.report import Report

_TYPES: Final = ("Normal", "Warning")
_HELP: Final = """List the Events of training jobs, their Jobs and their pods, oldest first.

Events of kubectl-edl (Admitted, Reclaimed, …) and of Kubernetes (Scheduled, Pulled,
FailedScheduling, …) are listed in one order, as by kubectl events: by the time at which each was
last seen, within a second in the order in which they were stored. Kubernetes deletes Events after
an hour; kubectl edl history keeps the operations of a training job. Events of deleted pods are
included, those of an earlier training job of the same name are not.

\b
Examples:
  # List the Events of a training job and its pods
  kubectl edl events mnist
  # Watch warnings in all namespaces
  kubectl edl events -A --types Warning -w
  # Print why pods were not scheduled
  kubectl edl events mnist -o json | jq -r '.items[]|select(.reason=="FailedScheduling").message'

-o json prints Kubernetes' own EventList. -o wide adds SOURCE, the component that reports it, and
COUNT.
"""


@click.command("events", help=_HELP, epilog=EXIT_CODES_NAMED_HELP)
@click.argument("job", required=False, shell_complete=job_names)
@all_namespaces_options
@output_options
@click.option(
    "--types",
    multiple=True,
    type=click.Choice(_TYPES, case_sensitive=False),
    help="Only show Events of this type; may be repeated.",
)
@click.pass_obj
def events(
    cli: CliContext, job: str | None, scope: Scope, output: OutputOptions, types: tuple[str, ...]
) -> None:
    not_both(job, output)
    connection = cli.connect(scope)

    def read() -> Report:
        facts = _read_events(cli, connection, job, output.selector)
        chosen = [event for event in facts if not types or event.body.get("type") in types]
        whose = job or "training jobs"
        return events_report(chosen, cli.now(), connection.namespace, whose)

    if output.watch:
        changes = cli.changes(connection.cluster, ListOptions("Event", connection.namespace))
        continued(cli, output, read, changes)
    else:
        show(cli, output, read)


def _read_events(
    cli: CliContext, connection: ClusterConnection, job: str | None, selector: str
) -> Sequence[EventFacts]:
    survey = read_survey(connection, cli.now(), selector=selector)
    if job is None:
        jobs = jobs_of(survey.jobs)
        return events_of(connection.cluster, connection.namespace, jobs, ours=not selector)
    training = training_job(job, survey, connection)
    return events_of(connection.cluster, training.key.namespace, jobs_of([training]), ours=False)
