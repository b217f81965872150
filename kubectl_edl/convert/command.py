"""`kubectl edl convert`: custom resources of other systems in, labelled Jobs and teams out."""

from collections.abc import Sequence
from typing import Final

import click

from edl import contract
from kubectl_edl.cli.command_errors import Exit, Refused, exit_codes
from kubectl_edl.cli.context import CliContext
from kubectl_edl.cli.options import FILENAMES, SYSTEM_NAMESPACE
from kubectl_edl.convert.document_stream import converted
from kubectl_edl.output.serialize import STREAMS
from kubectl_edl.resources.manifest_sources import sources

_HELP: Final = """Convert TFJobs and other custom resources to labelled Jobs, and queues to teams.

Converted are TFJob (with DRAGON's fields), PyTorchJob, MPIJob, PaddleJob, MXJob and MxJob, the
TrainingJobs of et-operator and of PaddlePaddle, KubeShare's SharePods and pods. Everything else is
printed unchanged, in its place. No cluster is read.

Kueue's ClusterQueues, Cohorts, LocalQueues and ResourceFlavors, and KAI Scheduler's Queues, become
one ConfigMap edl-teams after everything else. Convert all of them together: they refer to each
other. A WorkloadPriorityClass becomes a PriorityClass.

Each field is converted, or reported on stderr: "dropped" with what to do instead, "note" if nothing
is lost. ScaleIn and ScaleOut are operations: nothing is printed for them, the corresponding command
is reported on stderr, and they count as dropped. Training jobs of unsupported operators, such as
XGBoostJob and JobSet, are printed unchanged and count as dropped. Other custom resources are
printed unchanged, each with a note; they count as dropped if nothing is converted. An ordinary Job
of Kueue, KAI Scheduler or Volcano is printed unchanged, with a note on each of their settings.

A document that cannot be read or converted is left out, and its errors are printed on stderr with
its place. Such a queue, or a document that cannot be read, leaves out all teams.

\b
Examples:
  # Convert a file
  kubectl edl convert -f tfjob.yaml | kubectl apply -f -
  # Convert a directory; other manifests in it are printed unchanged
  kubectl edl convert -f jobs/ > converted.yaml
  # Convert what is in the cluster
  kubectl get tfjobs -o yaml | kubectl edl convert -f -
  # Convert Kueue's queues to teams
  kubectl get clusterqueues,cohorts,localqueues -A -o yaml | kubectl edl convert -f - > teams.yaml
"""
_EXIT_CODES: Final = exit_codes(
    {
        Exit.REFUSED: "documents with errors were left out",
        Exit.NOT_CONVERTED: "fields or objects were not converted",
    }
)


@click.command("convert", help=_HELP, epilog=_EXIT_CODES)
@FILENAMES
@click.option(
    "-o",
    "--output",
    type=click.Choice(("yaml", "json")),
    default="yaml",
    show_default=True,
    help="Output format.",
)
@SYSTEM_NAMESPACE
@click.pass_context
def convert(
    context: click.Context, filenames: Sequence[str], output: str, system_namespace: str | None
) -> None:
    cli = context.ensure_object(CliContext)
    installed = system_namespace or contract.SYSTEM_NAMESPACE
    given = sources(filenames, cli.stdin)
    stream = converted(given, installed)
    remarks = {"note": stream.notes, "dropped": stream.dropped, "error": stream.errors}
    for word, lines in remarks.items():
        cli.warn(*(f"{word}: {line}" for line in lines))
    if stream.empty:
        raise Refused(f"nothing to convert: no document in {', '.join(one.name for one in given)}")
    if stream.manifests or not stream.errors:
        cli.out.write(STREAMS[output](stream.manifests))
        cli.out.flush()
    lacking = Exit.NOT_CONVERTED if stream.dropped else Exit.DONE
    context.exit(Exit.REFUSED if stream.errors else lacking)
