from __future__ import annotations

import platform
from importlib.metadata import version as installed
from typing import TYPE_CHECKING, Final

import click

from kubectl_edl.output.documents import API_VERSION
from kubectl_edl.output.serialize import json_text, yaml_text

if TYPE_CHECKING:
    from kubectl_edl.cli.context import CliContext
    from kubectl_edl.output.documents.cluster_documents import VersionDocument

_HELP: Final = """Print the plugin's version.

\b
Examples:
  kubectl edl version
  kubectl edl version -o json
"""


@click.command("version", help=_HELP)
@click.option(
    "-o", "--output", type=click.Choice(("json", "yaml")), default=None, help="Output format."
)
@click.pass_obj
def version(cli: CliContext, output: str | None) -> None:
    number = installed("kubectl-edl")
    if output is None:
        cli.say(f"kubectl-edl {number}")
        return
    printed = yaml_text if output == "yaml" else json_text
    body: VersionDocument = {"clientVersion": number, "pythonVersion": platform.python_version()}
    cli.out.write(printed({"apiVersion": API_VERSION, "kind": "Version", **body}))
