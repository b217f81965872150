"""`kubectl edl adopt` and `release`: add or remove labels, in files or of Jobs in the cluster."""

from collections.abc import Callable
from typing import Final

import click
from click.shell_completion import CompletionItem

from edl.kube.option_group import Decorator, collect_options, group
from kubectl_edl.adopt.job_labels import LabelOptions
from kubectl_edl.adopt.manifest_files import adopt_files, print_documents, release_files
from kubectl_edl.adopt.recreate import RecreateOptions, adopt_job
from kubectl_edl.adopt.release_job import release_job
from kubectl_edl.cli.command_errors import EXIT_CODES_NAMED_HELP
from kubectl_edl.cli.completion_candidates import job_names, plain_job_names
from kubectl_edl.cli.context import CliContext, Scope
from kubectl_edl.cli.options import FILENAMES_IF_ANY, WriteOptions, namespace_options, write_options
from kubectl_edl.resources.manifest_sources import Named

_ADOPT_HELP: Final = """Make an ordinary Job elastic.

With -f, prints the manifests with labels, for kubectl apply. Jobs, CronJobs and bare pods are
labelled, with JOB only the one of that name; everything else is printed unchanged.

Without -f, JOB is a Job in the cluster. Its spec.template is immutable, so --recreate deletes the
Job and creates it again with labels: its pods end, and it starts from the beginning or from its
checkpoint. You are asked for confirmation, unless --yes is given. For a Job that has ended, --yes
needs --rerun: all of it would run again.

\b
Examples:
  # Label a Job: 1 to 12 workers
  kubectl edl adopt -f job.yaml --framework tensorflow --min 1 --max 12 | kubectl apply -f -
  # Label three Jobs, mnist-chief, mnist-ps and mnist-worker, as one training job
  kubectl edl adopt -f mnist.yaml --framework tensorflow --job mnist \\
    --roles chief=1,ps=2,worker=1..12 | kubectl apply -f -
  # Recreate a Job of the cluster with labels
  kubectl edl adopt resnet --framework none --min 1 --max 8 --recreate
  # Only show what would be created
  kubectl edl adopt resnet --framework none --min 1 --max 8 --recreate --dry-run client
"""
_RELEASE_HELP: Final = """Stop managing a training job; its Jobs keep running as ordinary Jobs.

With JOB, removes the labels and annotations of kubectl-edl from every Job of the training job.
Running pods keep running; a queued job stays suspended until you start it. The job is no longer
queued, resized or ended; its pods keep their environment and addresses. If pods of the job are
created with a scheduling gate, a hint shows how to remove it. This makes the Job elastic again:
kubectl edl adopt -f FILE … | kubectl replace --force -f -

Does not ask for confirmation: no pod is ended.

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


def _named(candidates: Callable[..., list[CompletionItem]]) -> Decorator:
    """The argument JOB and `-f`, as `named`."""
    job = click.argument("name", metavar="[JOB]", required=False, shell_complete=candidates)
    return collect_options(Named, "named", (job, FILENAMES_IF_ANY))


@click.command("adopt", help=_ADOPT_HELP, epilog=EXIT_CODES_NAMED_HELP)
@_named(plain_job_names)
@group(LabelOptions, "labels")
@group(RecreateOptions, "recreation")
@namespace_options
@click.pass_obj
def adopt(
    cli: CliContext, named: Named, labels: LabelOptions, recreation: RecreateOptions, scope: Scope
) -> None:
    if named.filenames and (recreation.recreate or recreation.yes):
        raise click.UsageError(
            "--recreate and --yes are for a Job that exists: leave them out, or -f."
        )
    if named.filenames:
        print_documents(cli, adopt_files(cli, named, labels))
    elif named.name:
        adopt_job(cli, cli.connect(scope), named.name, labels, recreation)
    else:
        raise click.UsageError("Specify a Job name or -f FILENAME.")


@click.command("release", help=_RELEASE_HELP, epilog=EXIT_CODES_NAMED_HELP)
@_named(job_names)
@namespace_options
@write_options
@click.pass_obj
def release(cli: CliContext, named: Named, scope: Scope, writing: WriteOptions) -> None:
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
