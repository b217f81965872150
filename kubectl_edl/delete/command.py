from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import Final

import click

from edl import contract
from edl.durations import duration_text
from edl.errors import NotFound
from edl.kube.cluster import ListOptions
from edl.kube.option_group import group, option, option_group
from edl.model import JobKey, ObjectRef
from edl.writes import Json
from kubectl_edl.cli.command_errors import (
    Exit,
    Missing,
    Refused,
    TimedOut,
    exit_codes,
)
from kubectl_edl.cli.completion_candidates import plain, training_job_name
from kubectl_edl.cli.context import CliContext, ClusterConnection, Scope
from kubectl_edl.cli.interaction import print_changed, waited_gone
from kubectl_edl.cli.job_selection import (
    JobSelection,
    agreed,
    check,
    each,
    none_found,
    partly_matched,
    selection_options,
    shown,
)
from kubectl_edl.cli.options import DeletionOptions, all_namespaces_options
from kubectl_edl.client.job_lookup import left_out, missing
from kubectl_edl.client.patcher import REMARKS, delete_job, is_there


@option_group
class DeleteOptions(DeletionOptions):
    """`output` is `name` or empty."""

    ignore_not_found: bool = option(help="Do not fail when a job does not exist.")
    output: str = option(
        "-o", type=click.Choice(("name",)), help="Only print the names of the Jobs."
    )


_GRACE: Final = 30
"""Kubernetes' default of `terminationGracePeriodSeconds`."""
_Jobs = Mapping[JobKey, Sequence[Json]]
"""Jobs by training job."""


def _selected(
    cli: CliContext, connection: ClusterConnection, choice: JobSelection, how: DeleteOptions
) -> tuple[_Jobs, Sequence[Refused]]:
    """The selected training jobs, and the errors for those that are selected in part."""
    listed: dict[JobKey, list[Json]] = {}
    for key, manifest in _list(connection, contract.FRAMEWORK):
        listed.setdefault(key, []).append(manifest)
    if choice.everything:
        return listed, ()
    if choice.selector:
        matching = _list(connection, f"{contract.FRAMEWORK},{choice.selector}")
        uids = {job["metadata"]["uid"] for _, job in matching}
        for whole, job in matching:
            if whole in listed and job["metadata"]["name"] in left_out(listed[whole]):
                flags = connection.scope.within(whole.namespace).flags
                cli.warn(f"hint: {_alone(job['metadata']['name'], whole.name, flags)}")
        return _matched(listed, uids)
    there = {key.name: jobs for key, jobs in listed.items()}
    names = _whole(dict.fromkeys(map(plain, choice.names)), there)
    every = {job["metadata"]["name"] for jobs in there.values() for job in jobs}
    unknown = [
        name for name in names if name not in there and (name in every or not how.ignore_not_found)
    ]
    if unknown:
        _refuse(unknown[0], there, connection, "; nothing was deleted" if len(names) > 1 else "")
    return {JobKey(connection.namespace, name): there[name] for name in names if name in there}, ()


def _matched(listed: _Jobs, uids: Collection[str]) -> tuple[_Jobs, Sequence[Refused]]:
    """By the uids of matching Jobs. A Job that is left out or being deleted does not count."""
    matched, refused = {}, []
    for key, jobs in listed.items():
        others = left_out(jobs)
        staying = [job for job in jobs if "deletionTimestamp" not in job["metadata"]] or jobs
        members = [job["metadata"] for job in staying if job["metadata"]["name"] not in others]
        unmatched = [member["name"] for member in members if member["uid"] not in uids]
        if members and not unmatched:
            matched[key] = jobs
        elif len(unmatched) < len(members):
            refused.append(partly_matched(key, unmatched))
    return matched, refused


_ByName = Mapping[str, Sequence[Json]]
"""Jobs by the training job's name, in one namespace."""


def _whole(names: Iterable[str], listed: _ByName) -> dict[str, None]:
    """Replace the names of all Jobs of a training job, as `-o name` prints them, by its name."""
    named = dict.fromkeys(names)
    for whole, jobs in listed.items():
        every = {job["metadata"]["name"] for job in jobs}
        if whole not in named and every <= named.keys():
            named = dict.fromkeys((*(name for name in named if name not in every), whole))
    return named


def _list(connection: ClusterConnection, labels: str) -> list[tuple[JobKey, Json]]:
    listing = connection.cluster.list(ListOptions("Job", connection.namespace, labels))
    return [
        (JobKey(job["metadata"]["namespace"], training_job_name(job)), job)
        for job in listing.manifests()
    ]


def _refuse(name: str, listed: _ByName, connection: ClusterConnection, spared: str) -> None:
    """Raise Refused or Missing for a name other than a training job's, such as one of its Jobs'.

    A Job's name never stands for its whole training job. `spared` ends the sentence: it reports on
    the other names.
    """
    flags, edl_flags = connection.scope.flags, connection.scope.job_flags
    for whole, jobs in listed.items():
        if any(name == job["metadata"]["name"] for job in jobs):
            if name in left_out(jobs):
                raise Refused(f"{_alone(name, whole, flags)}{spared}")
            raise Refused(
                f'"{name}" is one Job of the training job {whole}: kubectl edl delete '
                f"{whole}{edl_flags} deletes all of them, kubectl delete job {name}{flags} this one"
                f"{spared}"
            )
    try:
        connection.cluster.get(ObjectRef("Job", connection.namespace, name))
    except NotFound:
        raise Missing(f"{missing(name, sorted(listed), connection)}{spared}") from None
    raise Refused(f'Job "{name}" is not elastic: kubectl delete job {name}{flags}{spared}')


def _alone(name: str, whole: str, flags: str) -> str:
    return (
        f'Job "{name}" is left out of the training job {whole}: '
        f"kubectl delete job {name}{flags} deletes it alone"
    )


def _delete(
    cli: CliContext,
    connection: ClusterConnection,
    how: DeleteOptions,
    target: tuple[JobKey, Sequence[Json]],
) -> None:
    key, jobs = target
    for job in jobs if how.dry_run != "client" else ():
        delete_job(connection.cluster, job, dry_run=how.dry_run == "server")
    names = [job["metadata"]["name"] for job in jobs]
    which = "" if names == [key.name] else f" with its {'Job' if len(names) == 1 else 'Jobs'} "
    remark = REMARKS[how.dry_run] or _ending_pods(jobs)
    name = shown(key, connection.scope)
    sentence = f"{name}: deleted{which}{', '.join(names) if which else ''}{remark}"
    print_changed(cli, how.output, [sentence], [job | {"kind": "Job"} for job in jobs])


def _ending_pods(jobs: Sequence[Json]) -> str:
    """`; its 4 pods end within 30s`: they run on for their grace period; empty without pods."""
    # Those of a job that was paused just now still end.
    terminating = ((job.get("status") or {}).get("terminating") or 0 for job in jobs)
    there = [
        (_active(job) + more, job["spec"]["template"]["spec"])
        for job, more in zip(jobs, terminating, strict=True)
    ]
    pods = sum(count for count, _ in there)
    if not pods:
        return ""
    grace = max(spec.get("terminationGracePeriodSeconds", _GRACE) for count, spec in there if count)
    within = duration_text(timedelta(seconds=grace))
    return f"; its {'pod ends' if pods == 1 else f'{pods} pods end'} within {within}"


def _active(job: Json) -> int:
    return (job.get("status") or {}).get("active") or 0


def _wait_until_gone(
    cli: CliContext, connection: ClusterConnection, jobs: Sequence[Json], how: DeleteOptions
) -> None:
    left = waited_gone(cli, jobs, partial(is_there, connection.cluster), how.timeout)
    if not left:
        return
    keys = [JobKey(job["metadata"]["namespace"], job["metadata"]["name"]) for job in left]
    names = ", ".join(shown(key, connection.scope) for key in keys)
    raise TimedOut(
        f"deleted, and after {duration_text(how.timeout)} still there (a finalizer?): {names}"
    )


_HELP: Final = """Delete training jobs with all of their Jobs and pods.

Their Service, PodDisruptionBudgets and a launcher's RBAC are deleted with the Jobs. You are asked
for confirmation, unless --yes is given. Like kubectl delete, the command waits until the Jobs are
gone; pods get their grace period. It needs the right to list and delete Jobs. A training job of
which -l matches some Jobs only is refused: its name deletes it.

\b
Examples:
  # Delete a training job with all of its Jobs
  kubectl edl delete mnist
  # Delete several without confirmation
  kubectl edl delete mnist bert --yes
  # Delete all jobs of an experiment
  kubectl edl delete -l experiment=lr-sweep
  # Delete them in all namespaces
  kubectl edl delete -l experiment=lr-sweep -A
  # Show which Jobs would be deleted
  kubectl edl delete --all --dry-run client -o name
"""
_EXIT_CODES: Final = exit_codes(
    {Exit.NOT_FOUND: "not found", Exit.TIMED_OUT: "deleted but not gone in time"}
)


@click.command("delete", help=_HELP, epilog=_EXIT_CODES)
@selection_options
@group(DeleteOptions, "how")
@all_namespaces_options
@click.pass_obj
def delete(cli: CliContext, choice: JobSelection, how: DeleteOptions, scope: Scope) -> None:
    """Raises Missing before anything is deleted, Refused, TimedOut."""
    check(choice, scope)
    connection = cli.connect(scope)
    selected, refused = _selected(cli, connection, choice, how)
    for refusal in refused:
        cli.warn(f"error: {refusal}")
    if not refused and none_found(cli, connection.namespace, selected):
        return
    pods = {key: sum(map(_active, jobs)) for key, jobs in selected.items()}
    confirms = selected and not how.yes and how.dry_run == "none"
    if confirms and not agreed(cli, scope, "Delete", pods, sum(map(len, selected.values()))):
        selected = {}
    each(cli, selected.items(), partial(_delete, cli, connection, how))
    if how.wait and how.dry_run == "none":
        _wait_until_gone(cli, connection, [job for jobs in selected.values() for job in jobs], how)
    if refused:
        raise click.exceptions.Exit(Exit.REFUSED)
