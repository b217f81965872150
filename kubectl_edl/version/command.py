"""`kubectl edl version`."""

import platform
from importlib.metadata import version as installed
from typing import Final

import click

from kubectl_edl.cli.command_errors import EXIT_CODES_HELP
from kubectl_edl.cli.context import CliContext
from kubectl_edl.output.serialize import json_text, yaml_text

_HELP: Final = """The plugin's version.

\b
Examples:
  kubectl edl version
  kubectl edl version -o json
"""


@click.command("version", help=_HELP, epilog=EXIT_CODES_HELP)
@click.option("-o", "--output", type=click.Choice(("json", "yaml")), default=None, help="Form.")
@click.pass_obj
def version(world: CliContext, output: str | None) -> None:
    number = installed("kubectl-edl")
    if output is None:
        world.say(f"kubectl-edl {number}")
        return
    printed = yaml_text if output == "yaml" else json_text
    document = {"clientVersion": number, "pythonVersion": platform.python_version()}
    world.out.write(printed(document))


COMMAND: Final = version
