"""`kubectl edl inject`: mutates manifests as the webhook would, without a cluster."""

from importlib.metadata import version
from typing import Final

import click

from edl.errors import refuse
from edl.kube.option_group import group, option, option_group, shared_option
from kubectl_edl.cli.command_errors import Exit, exit_codes
from kubectl_edl.cli.context import CliContext
from kubectl_edl.cli.options import FILENAMES
from kubectl_edl.cli.param_types import Image

_HELP: Final = """Preview what the webhook changes in Jobs and pods of some manifests.

No cluster is read. Manifests with edl.dev/framework are completed by the webhook's own function;
everything else, including comments, is unchanged. A directory stands for all .yaml, .yml and .json
files in it and below it. A completed manifest can be applied: the webhook then changes nothing.

A refused manifest is left out, and its errors are printed on stderr.
Nothing is printed if a file is not YAML or JSON.

\b
Examples:
  # Show the Jobs as they will be stored
  kubectl edl inject -f job.yaml -n team-a
  # Only show what is added
  kubectl edl inject -f examples/tensorflow --diff
  # Show the reason of each change
  kubectl edl inject -f job.yaml --explain
  # Check every manifest of a folder, in CI
  kubectl edl inject -f manifests/ > /dev/null

\b
Unlike kubectl diff, --diff exits with 0 if there are differences. To test
for differences: kubectl edl inject -f FILE --diff | grep -q .
"""


_YAML: Final = "yaml"
_NOTHING: Final = (
    "hint: no Job or pod here carries edl.dev/framework, or all of them are complete already"
)


@option_group
class InjectOptions:
    """The manifests, their namespace, and the output format."""

    filenames: tuple[str, ...] = shared_option(FILENAMES, ())
    output: str = option(
        "-o",
        fallback=_YAML,
        type=click.Choice((_YAML, "json")),
        help="Output format; defaults to yaml.",
    )
    diff: bool = option(help="Show the changes as a diff.")
    explain: bool = option(help="Show each change with its reason.")
    namespace: str = option(
        "-n",
        default="default",
        show_default=True,
        help="Namespace of manifests without one; pod addresses contain it.",
    )
    image: str = option(
        type=Image(),
        envvar="EDL_IMAGE",
        default=f"kubectl-edl:{version('kubectl-edl')}",
        show_default=True,
        help="Image from which launchers get kubectl: that of your installation.",
    )

    @property
    def form(self) -> str:
        """The output format, which `--diff` and `--explain` replace."""
        return "diff" if self.diff else "explain" if self.explain else self.output


@click.command("inject", help=_HELP, epilog=exit_codes({Exit.REFUSED: "refused manifest or error"}))
@group(InjectOptions, "asked")
@click.pass_obj
def inject(cli: CliContext, asked: InjectOptions) -> None:
    if [asked.diff, asked.explain, asked.output != _YAML].count(True) > 1:
        raise click.UsageError("--diff, --explain and -o are three forms: choose one.")
    from kubectl_edl.inject import injector, view
    from kubectl_edl.output.table import Layout
    from kubectl_edl.resources.manifest_sources import sources
    from kubectl_edl.resources.yaml_rewriter import hints

    files = sources(asked.filenames, cli.stdin)
    stream = injector.inject(files, asked.namespace, asked.image)
    cli.warn(*(f"warning: {warning}" for warning in stream.warnings))
    if not (stream.injections or stream.warnings or stream.findings):
        cli.warn(_NOTHING)
    if asked.form == _YAML:
        cli.warn(*hints(stream.documents))
    for name in stream.cron_jobs if asked.form == asked.output else ():
        cli.warn(
            f"hint: {name} is unchanged: its Jobs are completed when they are created; "
            "--explain shows how"
        )
    cli.out.write(view.FORMS[asked.form](stream, Layout(width=cli.width)))
    refuse(stream.findings)
