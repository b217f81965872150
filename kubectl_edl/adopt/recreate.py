"""Recreates a live Job with labels: delete, wait until it is gone, create.

From the request to delete until the creation, only this process may hold the manifest, so every
failure in between prints it, also one that leaves open whether the Job was deleted.
"""

from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

import click

from edl import contract
from edl.contract.manifest_parts import annotations, is_paused, with_metadata
from edl.contract.manifest_parts import labels as labels_of
from edl.durations import duration_text
from edl.errors import (
    AlreadyExists,
    ClusterError,
    Conflict,
    EdlError,
    Forbidden,
    Invalid,
    NotFound,
    WebhookRefused,
    findings_of,
)
from edl.inject.warnings import unknown_keys
from edl.kube.cluster import ListOptions
from edl.kube.option_group import option, option_group, shared_option
from edl.model import ObjectRef
from edl.writes import Json
from kubectl_edl.adopt.finished_work import completed, end_of, repeated, rerun_refused
from kubectl_edl.adopt.job_labels import LabelOptions, changes, labelled
from kubectl_edl.cli.command_errors import Refused, no_such_plain_job
from kubectl_edl.cli.completion_candidates import object_name, plain
from kubectl_edl.cli.context import CliContext, ClusterConnection
from kubectl_edl.cli.interaction import confirmed, waited
from kubectl_edl.cli.options import TIME_LIMIT, TIMEOUT, YES
from kubectl_edl.cli.suggested_commands import adopt_cron_job, with_flags
from kubectl_edl.client.patcher import with_fresh_state
from kubectl_edl.client.reconciler_lease import unattended
from kubectl_edl.create.create_jobs import check_completed, stored_as
from kubectl_edl.create.prerequisites import hints
from kubectl_edl.output.cell_quantities import counted
from kubectl_edl.output.yaml_writer import dump
from kubectl_edl.resources.source_manifest import as_applied, controller_of, source_of

_UNKNOWN: Final = "unknown"
"""No framework has this name."""


@option_group
class RecreateOptions:
    """Whether to recreate a live Job; `timeout` limits the wait for the deletion of the old one."""

    recreate: bool = option(help="Delete the Job and create it again.")
    rerun: bool = option(help="With --yes, also recreate a Job that has ended: it runs again.")
    yes: bool = shared_option(YES, fallback=False)
    timeout: timedelta = shared_option(TIMEOUT, TIME_LIMIT)
    dry_run: str = option(
        type=click.Choice(("none", "client")),
        default="none",
        help="client: only print what would be created.",
    )


@dataclass(frozen=True, slots=True)
class Replacement:
    """A live Job, and the manifest that replaces it."""

    target: ObjectRef
    live: Json
    fresh: Json


def adopt_job(
    cli: CliContext,
    connection: ClusterConnection,
    name: str,
    labels: LabelOptions,
    how: RecreateOptions,
) -> None:
    """Recreate a live Job if `--recreate` is given, or raise Refused with the command for it."""
    target = ObjectRef("Job", connection.namespace, plain(name))
    try:
        replacement = _plan(connection, target, labels)
    except NotFound:
        raise _no_job(connection, target, labels) from None
    if _is_adopted(replacement, labels):
        text = "adopted already with these labels, and left as it is: kubectl edl status"
        cli.say(f"{target.name}: {text} {_job_of(replacement.live)}{connection.scope.job_flags}")
        return
    if not how.recreate:
        flags = f"{labels.flags}{connection.scope.job_flags}".strip()
        raise Refused(
            f'Job "{target.name}" exists: its spec.template is immutable; delete it '
            f"and create it again with: kubectl edl adopt {target.name} {flags} --recreate"
        )
    if how.dry_run == "client":
        for warning in unknown_keys.warnings(replacement.fresh):  # else the webhook warns of them
            cli.warn(f"warning: {warning}; the new {target.name} would have it, too")
        cli.out.write(dump(replacement.fresh))
        return
    _check_accepted(connection, replacement)
    if not _is_agreed(cli, replacement.live, how):
        cli.warn(f"{target.name} stays as it is")
        return
    fresh = _recreate(cli, connection, replacement, labels, how)
    cli.warn(*_hints(cli, connection, fresh))
    _print_created(cli, target.name, fresh, connection.scope.job_flags)


def _is_agreed(cli: CliContext, job: Json, how: RecreateOptions) -> bool:
    """Ask, unless `--yes` is given. Raises Refused if it has ended and `--rerun` is not given."""
    name, again = job["metadata"]["name"], repeated(job)
    if end_of(job):
        if how.yes and not how.rerun:
            raise Refused(rerun_refused(job))
        question = f'Job "{name}" {again}: delete it and run all of it again?'
    else:
        active = counted((job.get("status") or {}).get("active") or 0, "active pod")
        work = completed(job)
        done = f" and {work}, which would run again" if work else ""
        question = f'Job "{name}" has {active}{done}: delete it and create it again?'
        if how.yes and work:
            cli.warn(f"warning: {name} had {work}, which run again")
    return how.yes or confirmed(cli, question)


def _is_adopted(replacement: Replacement, labels: LabelOptions) -> bool:
    """Whether the webhook has completed the Job with the labels and annotations of the options."""
    job = replacement.live
    return contract.INJECTED_MAX in annotations(job) and not changes(job, labels)


def _no_job(connection: ClusterConnection, target: ObjectRef, labels: LabelOptions) -> EdlError:
    """The error for an unknown Job; the name may be that of a CronJob."""
    cron_job = ObjectRef("CronJob", target.namespace, target.name.rpartition("/")[2])
    with suppress(ClusterError):
        manifest = connection.cluster.get(cron_job)
        command = adopt_cron_job(cron_job.namespace, cron_job.name, f"{labels.flags} ".lstrip())
        text = (
            f'"{cron_job.name}" is a CronJob: this command labels the Jobs that it creates: '
            f"{with_flags(command, connection.scope)}"
        )
        wrong = findings_of(labelled, manifest, labels)
        return Refused(
            f"{text}; change before that: {' | '.join(map(str, wrong))}" if wrong else text
        )
    listed = connection.cluster.list(ListOptions("Job", target.namespace)).manifests()
    return no_such_plain_job(target.name, list(map(object_name, listed)), connection)


def _hints(cli: CliContext, connection: ClusterConnection, fresh: Json) -> list[str]:
    """Why the new Job may not start."""
    now = cli.now()
    return [*unattended(connection, now), *hints(connection, [fresh], now)]


def _print_created(cli: CliContext, name: str, fresh: Json, flags: str) -> None:
    then = ", and paused: kubectl edl resume" if is_paused(fresh) else ": kubectl edl status"
    cli.say(f"{name}: created again with labels{then} {_job_of(fresh)}{flags}")


def _job_of(manifest: Json) -> str:
    return labels_of(manifest).get(contract.JOB) or str(manifest["metadata"]["name"])


def _plan(connection: ClusterConnection, target: ObjectRef, labels: LabelOptions) -> Replacement:
    """Read the Job and label its manifest.

    Raises NotFound, Denied with every finding, Refused for a Job that a controller creates.
    """
    job = connection.cluster.get(target)
    if controller := controller_of(job):
        raise Refused(
            f'Job "{target.name}" is created by {controller}, which does not set the labels: '
            + _adopt_controller(connection, target.namespace, controller, labels)
        )
    return Replacement(target, job, labelled(source_of(job), labels))


def _adopt_controller(
    connection: ClusterConnection, namespace: str, controller: str, labels: LabelOptions
) -> str:
    """How the Jobs of a controller are labelled."""
    kind, _, name = controller.partition("/")
    if kind != "CronJob":
        return f"set {contract.FRAMEWORK} where it takes the labels of its Jobs"
    command = adopt_cron_job(namespace, name, f"{labels.flags} ".lstrip())
    return with_flags(command, connection.scope)


def _check_accepted(connection: ClusterConnection, replacement: Replacement) -> None:
    """Create the new Job in a dry run, while the old Job exists.

    Raises the API server's error, or Refused if no webhook completes the Job. The API server
    enforces limits, such as those of the namespace, that the user may be unable to read. It looks
    for a Job of the same name last, so AlreadyExists means that all else accepts the new one.
    """
    target, fresh = replacement.target, replacement.fresh
    try:
        stored = connection.cluster.create(target, fresh, dry_run=True)
    except AlreadyExists:  # the answer has no Job
        if _is_reviewed(connection, target, fresh):
            return
        stored = fresh
    check_completed(connection, stored, f'Job "{target.name}" stays as it is')


def _is_reviewed(connection: ClusterConnection, target: ObjectRef, fresh: Json) -> bool:
    """Whether a webhook reviews the Job: then it refuses the same Job with an unknown framework.

    The Job keeps its name: policies may allow no other.
    """
    unknown = {**labels_of(fresh), contract.FRAMEWORK: _UNKNOWN}
    try:
        connection.cluster.without_warnings().create(
            target, with_metadata(fresh, labels=unknown), dry_run=True
        )
    except WebhookRefused:
        return True
    except (AlreadyExists, Invalid, Forbidden):
        pass
    return False


def _plan_again(
    connection: ClusterConnection, agreed: Replacement, labels: LabelOptions, how: RecreateOptions
) -> Replacement:
    """Raises Refused if the Job has ended since the user agreed, unless `--rerun` is given."""
    replacement = _plan(connection, agreed.target, labels)
    if end_of(replacement.live) and not (how.rerun or end_of(agreed.live)):
        raise Refused(rerun_refused(replacement.live))
    return replacement


def _recreate(
    cli: CliContext,
    connection: ClusterConnection,
    agreed: Replacement,
    labels: LabelOptions,
    how: RecreateOptions,
) -> Json:
    """Recreate the Job. Raises Refused if the old one stays or the new one is not accepted."""
    cluster, target = connection.cluster, agreed.target
    sent: list[Replacement] = []  # at most one: its deletion was requested and not refused

    def delete() -> Replacement:
        sent[:] = [_plan_again(connection, agreed, labels, how)]
        try:
            cluster.delete(target, version=sent[0].live["metadata"]["resourceVersion"])
        except (Conflict, Forbidden, Invalid, NotFound):
            sent.clear()
            raise
        return sent[0]

    fate = "may have been deleted"
    try:
        replacement = with_fresh_state(delete, cli.sleep)
        fate = "was deleted"
        _wait_until_gone(cli, connection, replacement, how.timeout)
        return cluster.create(target, as_applied(replacement.fresh, target.namespace))
    except (ClusterError, Refused, KeyboardInterrupt) as error:
        if not sent:
            raise
        with suppress(ClusterError):
            stored = stored_as(connection, sent[0].fresh)
            if stored and stored["metadata"]["uid"] != sent[0].live["metadata"]["uid"]:
                return stored  # only the answer was lost
        cli.out.write(dump(sent[0].fresh))
        why = str(error) or "interrupted"
        raise Refused(
            f'Job "{target.name}" {fate} and not created again: {why}; '
            "its manifest is on stdout, for kubectl apply -f -"
        ) from error


def _wait_until_gone(
    cli: CliContext, connection: ClusterConnection, replacement: Replacement, timeout: timedelta
) -> None:
    uid = replacement.live["metadata"]["uid"]

    def there() -> bool:
        try:
            now = connection.cluster.get(replacement.target)
        except NotFound:
            return False
        if now["metadata"]["uid"] != uid:
            raise Refused("another client created a Job of this name meanwhile")
        return True

    if waited(cli, there, timeout):
        after = duration_text(timeout)
        raise Refused(f"it is still there after {after} (a finalizer?); --timeout waits longer")
