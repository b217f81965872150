"""`kubectl edl release`."""

from typing import Final

import click

from edl.kube.option_group import collect_options
from kubectl_edl.cli.completion_candidates import job_names
from kubectl_edl.cli.context import CliContext, Scope
from kubectl_edl.cli.options import FILENAMES_IF_ANY, Writing, one_namespace, writing
from kubectl_edl.resources.manifest_sources import Named

_HELP: Final = """Stop managing a training job; its Jobs keep running as ordinary Jobs.

With JOB, removes the labels and annotations of kubectl-edl from every Job of the training job.
Running pods keep running; a queued job stays suspended until you start it. The job is no longer
queued, resized or ended; its pods keep their environment and addresses. If pods of the job are
created with a scheduling gate, a hint shows how to remove it. kubectl edl adopt --recreate makes
the Job elastic again.

With -f, prints the manifests without the labels, for kubectl apply; with JOB only those of that
name are changed.

\b
Examples:
  # Stop managing a training job
  kubectl edl release mnist
  # Only let the API server check it
  kubectl edl release mnist -n team-a --dry-run server
  # Remove the labels in a file
  kubectl edl release -f mnist.yaml > plain.yaml
"""
_SOURCE: Final = (
    click.argument("name", metavar="[JOB]", required=False, shell_complete=job_names),
    FILENAMES_IF_ANY,
)


@click.command("release", help=_HELP)
@collect_options(Named, "named", _SOURCE)
@one_namespace
@writing
@click.pass_obj
def release(cli: CliContext, named: Named, scope: Scope, writing: Writing) -> None:
    from kubectl_edl.adopt.manifest_files import print_documents, release_files
    from kubectl_edl.adopt.release_job import release_job

    if named.filenames and writing.output == "name":
        raise click.UsageError("-o name is for a Job of the cluster; with -f it is yaml or json.")
    if named.filenames and writing.dry_run == "server":
        raise click.UsageError("--dry-run server is for a Job of the cluster: -f sends nothing.")
    if named.filenames:
        print_documents(cli, release_files(cli.stdin, named), writing.output)
    elif named.name:
        release_job(cli, cli.connect(scope), named.name, writing)
    else:
        raise click.UsageError("Specify a Job name or -f FILENAME.")
