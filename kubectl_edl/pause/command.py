from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

import click

from edl import contract
from edl.job_state.lost_pods import pods_delayed_until
from edl.job_state.phases import ending
from edl.kube.option_group import group, option_group, shared_option
from edl.messages import QUEUE_ENDS
from edl.model import ObjectRef, Role, TrainingJob
from edl.writes import Json, Patch
from kubectl_edl.cli.command_errors import EXIT_CODES_NAMED_HELP, Exit, Missing, Refused
from kubectl_edl.cli.context import CliContext, ClusterConnection, Scope
from kubectl_edl.cli.interaction import print_changed
from kubectl_edl.cli.job_selection import (
    JobSelection,
    agreed,
    check,
    each,
    flags,
    none_found,
    partly_matched,
    selection_options,
    shown,
)
from kubectl_edl.cli.options import YES, WriteOptions, all_namespaces_options
from kubectl_edl.client.cluster_view import Survey, matching_jobs, read_survey
from kubectl_edl.client.job_lookup import training_job
from kubectl_edl.client.patcher import Patcher
from kubectl_edl.client.reconciler_lease import unattended
from kubectl_edl.job_views.job_reasons import problem_text


@dataclass(frozen=True, slots=True)
class Switch:
    """The value to set, and messages for each outcome; `{job}` is replaced."""

    paused: bool
    done: str
    unattended: str
    """Instead of `done` if no reconciler leads."""
    already: str
    delayed: str
    """What it means for the job during the Job controller's back-off after lost pods."""
    queued: str = ""
    """Instead of `done` for a job without pods; empty to use `done`."""
    running: str = ""
    """Instead of `done` for a job with pods; empty to use `done`."""


@option_group
class PauseOptions(WriteOptions):
    """`WriteOptions`, and the confirmation, for which `resume` does not ask."""

    yes: bool = shared_option(YES, fallback=False)


def flip(
    cli: CliContext, choice: JobSelection, scope: Scope, writing: PauseOptions, switch: Switch
) -> None:
    """Set the annotation on each Job where it differs, and print one message per training job.

    A pause by selector or of all asks for confirmation. Raises Missing before anything is written.
    """
    connection = cli.connect(scope)
    survey = read_survey(connection, cli.now())
    chosen, refused = _chosen(choice, survey, connection)
    for refusal in refused:
        cli.warn(f"error: {refusal}")
    if not refused and none_found(cli, connection.namespace, chosen):
        return
    confirms = switch.paused and not (choice.names or writing.yes) and writing.dry_run == "none"
    if confirms and not _agreed(cli, scope, chosen):
        chosen = []
    patcher = Patcher(connection.cluster, writing.dry_run)
    hints = unattended(connection, cli.now(), writing.dry_run)
    if hints:
        switch = replace(switch, done=switch.unattended)
    unseen = survey.hints_but_priorities
    readable = [] if unseen else chosen  # pods that may not be listed count as lost
    warnings = [text for job in readable for text in _warnings(job, switch, scope, cli.now())]
    done: list[tuple[str, list[Json]]] = []
    try:
        each(cli, chosen, lambda job: done.append(_flip(job, switch, patcher, scope)))
    finally:
        if done:
            sentences = [sentence for sentence, _ in done]
            manifests = [manifest for _, jobs in done for manifest in jobs]
            print_changed(cli, writing.output, sentences, manifests, (*hints, *warnings))
    if refused:
        raise click.exceptions.Exit(Exit.REFUSED)


def _chosen(
    choice: JobSelection, survey: Survey, connection: ClusterConnection
) -> tuple[list[TrainingJob], Sequence[Refused]]:
    """The selected jobs, and the errors for those that a selector matches in part.

    A selector and `--all` skip jobs that have ended.
    """
    if choice.names:
        return _named(choice.names, survey, connection), ()
    jobs = [job for job in survey.jobs if job.roles and (ending(job) is None or job.live)]
    if not choice.selector:
        return jobs, ()
    matching = matching_jobs(jobs, connection, choice.selector)
    matched = [job for job in jobs if job.key in {key for key, _ in matching}]
    others = {
        job.key: {role.job for role in job.live if (job.key, role.job) not in matching}
        for job in matched
    }
    refused = [partly_matched(key, names) for key, names in others.items() if names]
    return [job for job in matched if not others[job.key]], refused


def _named(
    names: Sequence[str], survey: Survey, connection: ClusterConnection
) -> list[TrainingJob]:
    try:
        named = [training_job(name, survey, connection) for name in names]
    except Missing as error:
        spared = "; nothing was changed" if len(names) > 1 else ""
        raise Missing(f"{error}{spared}", error.name) from None
    return list({job.key: job for job in named}.values())


def _agreed(cli: CliContext, scope: Scope, chosen: Sequence[TrainingJob]) -> bool:
    """Ask before jobs that are not paused yet, and can be; without such a job nothing changes."""
    jobs = [job for job in chosen if not (job.paused or job.ends_if_stopped)]
    roles = [role for job in jobs for role in job.live]
    pods = {
        job.key: sum(pod.active for role in job.live for pod in role.status.pods) for job in jobs
    }
    return not jobs or agreed(cli, scope, "Pause", pods, len(roles))


def _flip(
    job: TrainingJob, switch: Switch, patcher: Patcher, scope: Scope
) -> tuple[str, list[Json]]:
    end, name = ending(job), shown(job.key, scope)
    if end is not None and not job.live:
        raise Refused(f"{name} has ended ({end.value}): there is nothing to pause or resume")
    if not job.roles:
        raise Refused(f"{name} cannot be paused or resumed as it is: {problem_text(job)}")
    named = f"{job.key.name}{flags(job.key, scope)}"
    if switch.paused and job.ends_if_stopped:
        ways = f"kubectl edl status {named} --for Succeeded waits for them, or to end it: "
        raise Refused(
            f"{name} is not paused, as that would end it: {QUEUE_ENDS}; "
            f"{ways}kubectl edl delete {named}"
        )
    if job.paused is switch.paused:
        return f"{name}: {switch.already.format(job=named)}", []
    manifests = [patcher.patch(_patch(job, role, switch)) for role in job.live]
    done = (switch.queued if job.suspended else switch.running) or switch.done
    return f"{name}: {done.format(job=named)}{patcher.remark}", manifests


def _warnings(job: TrainingJob, switch: Switch, scope: Scope, now: datetime) -> Iterator[str]:
    """What delays the job's next start, or may pause it again."""
    if ending(job) or job.paused is switch.paused:
        return
    name = shown(job.key, scope)
    if job.paused_by and not switch.paused:
        yield (
            f"warning: {job.paused_by} paused {name} by spec.suspend: true, and may do so again: "
            "remove that from the manifest that it applies, or exclude namespace "
            f"{job.key.namespace} from it"
        )
    if job.problem and not switch.paused:
        yield f"warning: {name} does not start before its problem is fixed: {problem_text(job)}"
    elif until := pods_delayed_until(job, now):
        delay = f"the Job controller creates no pod until {until:%H:%M:%S} UTC at the latest"
        yield f"warning: {name} lost pods, and {delay}: {switch.delayed}"


def _patch(job: TrainingJob, role: Role, switch: Switch) -> Patch:
    """The patch of one Job, for the Job that was selected and none that took its name since."""
    value = contract.TRUE if switch.paused else None
    target = ObjectRef("Job", job.key.namespace, role.job)
    body = {"metadata": {"annotations": {contract.PAUSED: value}}}
    return Patch(target, role.version, body, unless_changed={"metadata": {"uid": role.uid}})


_PAUSE_HELP: Final = """Suspend training jobs until they are resumed.

All of their pods are terminated now, with their grace period; unsaved work is lost. The Jobs are
kept. With -l or --all you are asked for confirmation, unless --yes is given. A training job of
which -l matches some Jobs only is refused: its name pauses it.

A work queue of which a pod has succeeded is not paused, as Kubernetes would take it as complete.

\b
Examples:
  # Free the nodes of a training job
  kubectl edl pause mnist
  # Pause all jobs of an experiment
  kubectl edl pause -l experiment=lr-sweep
  # Pause them in all namespaces
  kubectl edl pause -l experiment=lr-sweep -A
  # Pause all jobs of the namespace without confirmation
  kubectl edl pause --all --yes
  # Only let the API server check it
  kubectl edl pause mnist -n team-a --dry-run server
"""
_PAUSE: Final = Switch(
    paused=True,
    done="paused, its pods end; it starts again after: kubectl edl resume {job}",
    unattended="paused, its pods end once a reconciler runs; it starts again after: "
    "kubectl edl resume {job}",
    queued="paused, it leaves the queue; it returns after: kubectl edl resume {job}",
    already="is paused already; it starts again after: kubectl edl resume {job}",
    delayed="once resumed, it waits in the queue until then",
)
_RESUME_HELP: Final = """Resume paused training jobs: they queue again.

A job starts when the minimum of every role fits at once, after the jobs that were queued before it.
A training job of which -l matches some Jobs only is refused: its name resumes it.

\b
Examples:
  # Resume a training job
  kubectl edl resume mnist
  # Resume all paused jobs of the namespace
  kubectl edl resume --all
  # Resume a job and show its position
  kubectl edl resume mnist && kubectl edl queue
"""
_RESUME: Final = Switch(
    paused=False,
    done="resumed, it starts when its minimum fits: kubectl edl status {job}",
    unattended="resumed: once a reconciler runs, it starts when its minimum fits: "
    "kubectl edl status {job}",
    already="is not paused; what it does now: kubectl edl status {job}",
    delayed="it waits in the queue until then",
    running="resumed before its pods were stopped: kubectl edl status {job}",
)


@click.command("pause", help=_PAUSE_HELP, epilog=EXIT_CODES_NAMED_HELP)
@selection_options
@all_namespaces_options
@group(PauseOptions, "how")
@click.pass_obj
def pause(cli: CliContext, choice: JobSelection, scope: Scope, how: PauseOptions) -> None:
    """Raises Refused without confirmation."""
    check(choice, scope)
    flip(cli, choice, scope, how, _PAUSE)


@click.command("resume", help=_RESUME_HELP, epilog=EXIT_CODES_NAMED_HELP)
@selection_options
@all_namespaces_options
@group(PauseOptions, "how")
@click.pass_obj
def resume(cli: CliContext, choice: JobSelection, scope: Scope, how: PauseOptions) -> None:
    check(choice, scope)
    flip(cli, choice, scope, how, _RESUME)
