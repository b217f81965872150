"""`kubectl edl adopt`: labels manifests in files, or recreates a live Job with labels."""

from typing import Final

import click

from edl.kube.option_group import collect_options, group
from kubectl_edl.adopt.job_labels import LabelOptions
from kubectl_edl.adopt.manifest_files import adopt_files, print_documents
from kubectl_edl.adopt.recreate import Recreation, adopt_job
from kubectl_edl.cli.completion_candidates import plain_job_names
from kubectl_edl.cli.context import CliContext, Scope
from kubectl_edl.cli.options import FILENAMES_IF_ANY, one_namespace
from kubectl_edl.resources.manifest_sources import Named

_HELP: Final = """Make an ordinary Job elastic.

With -f, prints the manifests with labels, for kubectl apply. Jobs, CronJobs and bare pods are
labelled, with JOB only the one of that name; everything else is printed unchanged.

Without -f, JOB is a Job in the cluster. Its spec.template is immutable, so --recreate deletes the
Job and creates it again with labels: its pods end, and it starts from the beginning or from its
checkpoint. You are asked for confirmation, unless --yes is given.

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


_SOURCE: Final = (
    click.argument("name", metavar="[JOB]", required=False, shell_complete=plain_job_names),
    FILENAMES_IF_ANY,
)


@click.command("adopt", help=_HELP)
@collect_options(Named, "source", _SOURCE)
@group(LabelOptions, "labels")
@group(Recreation, "recreation")
@one_namespace
@click.pass_obj
def adopt(
    cli: CliContext, source: Named, labels: LabelOptions, recreation: Recreation, scope: Scope
) -> None:
    if source.filenames and (recreation.recreate or recreation.yes):
        raise click.UsageError(
            "--recreate and --yes are for a Job that exists: leave them out, or -f."
        )
    if source.filenames:
        print_documents(cli, adopt_files(cli.stdin, source, labels))
    elif source.name:
        adopt_job(cli, cli.connect(scope), source.name, labels, recreation)
    else:
        raise click.UsageError("Specify a Job name or -f FILENAME.")
