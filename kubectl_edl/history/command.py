"""`kubectl edl history`."""

from collections.abc import Iterable, Iterator
from typing import Final

import click

from edl.kube.event_facts import EventFacts
from edl.model import TrainingJob
from kubectl_edl.cli.command_errors import EXIT_CODES_NAMED_HELP
from kubectl_edl.cli.completion_candidates import job_names
from kubectl_edl.cli.context import CliContext, Scope
from kubectl_edl.cli.options import OutputOptions, namespace_options, print_options
from kubectl_edl.cli.watch_report import show
from kubectl_edl.client.cluster_view import read_survey
from kubectl_edl.client.event_reader import events_of, jobs_of
from kubectl_edl.client.job_lookup import training_job
from kubectl_edl.client.optional_reads import read_if_allowed
from kubectl_edl.history.view import history_report
from kubectl_edl.job_views.role_history import forgotten, past
from kubectl_edl.output.report import Report

_WARNINGS: Final = 10
_EVICTIONS: Final = 3
_EVICTED: Final = frozenset({"TaintManagerEviction", "Preempted"})
"""The reasons of Normal Events about an eviction: by a NoExecute taint, or its cancellation, or by
kube-scheduler for a pod of higher priority."""
_HELP: Final = """List the operations of a training job: starts, resizes, pauses, its end.

The history is stored on the Jobs themselves (edl.dev/history) and outlives their Events: the last
operations of each role, at most 50 and 4 KiB, until its Job is deleted. It is followed by the last
ten Warning Events about its Jobs and pods, and the last three evictions by taints, as from a lost
node, or by kube-scheduler for pods of higher priority; kubectl edl events shows the others.
Earlier training jobs of the same name are not shown.

\b
PHASE is the outcome:
  Running         started, resumed after a pause, or restarted with a new size
  Starting        being started
  Scaling         being resized
  ScaleSucceeded  the new size was reached
  ScaleFailed     its pods were not ready in time, unschedulable, or given up before
                  they ran: reverted
  Suspended       paused, or queued again
  Succeeded, Failed

\b
Examples:
  # List the operations of a training job
  kubectl edl history mnist
  # Print when it was last scaled up
  kubectl edl history mnist -o json |
    jq -r 'last(.operations[]|select(.operation=="ScaledUp")).time'

-o json prints a TrainingJobHistory; its fields: docs/reference/outputs.md
"""


@click.command("history", help=_HELP, epilog=EXIT_CODES_NAMED_HELP)
@click.argument("job", shell_complete=job_names)
@namespace_options
@print_options
@click.pass_obj
def history(cli: CliContext, job: str, scope: Scope, output: OutputOptions) -> None:
    connection = cli.connect(scope)

    def read() -> Report:
        now = cli.now()
        survey = read_survey(connection, now)
        training = training_job(job, survey, connection)
        seen, hints = read_if_allowed(
            lambda: events_of(
                connection.cluster, training.key.namespace, jobs_of([training]), ours=False
            ),
            "what Kubernetes warned of is missing",
        )
        report = history_report(training, past(training), now, _shown(seen))
        return report.with_hints((*survey.hints_but_priorities, *hints, *_gaps(training)))

    show(cli, output, read)


def _gaps(job: TrainingJob) -> Iterator[str]:
    if names := ", ".join(forgotten(job)):
        yield f"hint: operations of {names} from before its Job was deleted are gone with that Job"


def _shown(seen: Iterable[EventFacts]) -> list[EventFacts]:
    """The last Warning Events and evictions: a lost node may evict hundreds of pods at once."""
    chosen = _distinct(event for event in seen if event.warning or event.reason in _EVICTED)
    warnings = [event for event in chosen if event.warning]
    evictions = [event for event in chosen if not event.warning]
    return sorted([*warnings[-_WARNINGS:], *evictions[-_EVICTIONS:]], key=lambda one: one.order)


def _distinct(events: Iterable[EventFacts]) -> list[EventFacts]:
    """The last of the Events with one text about one object; `events` are in order of time."""
    latest: dict[tuple[str, str, str, str], EventFacts] = {}
    for event in events:
        key = event.kind, event.name, event.reason, event.message
        latest.pop(key, None)
        latest[key] = event
    return list(latest.values())
