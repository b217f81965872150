"""`kubectl edl completion`."""

from typing import Final

import click

from kubectl_edl.cli.command_errors import EXIT_CODES_HELP
from kubectl_edl.cli.context import CliContext
from kubectl_edl.completion.shell_scripts import SCRIPTS

_HELP: Final = """Print the script that completes kubectl edl in your shell.

Commands, flags, their values, and what only the cluster knows: training jobs, roles, namespaces.
kubectl asks kubectl_complete-edl for them, which is installed on PATH with kubectl-edl; the script
loads kubectl's own completion where it is missing, and completes kubectl-edl by its own name, too.
In bash, kubectl's completion needs the package bash-completion.

\b
Examples:
  # bash, in ~/.bashrc
  source <(kubectl edl completion bash)
  # zsh, in ~/.zshrc
  source <(kubectl edl completion zsh)
  # fish, once
  kubectl edl completion fish > ~/.config/fish/completions/kubectl-edl.fish
"""


@click.command("completion", help=_HELP, epilog=EXIT_CODES_HELP)
@click.argument("shell", type=click.Choice(tuple(SCRIPTS)))
@click.pass_obj
def completion(world: CliContext, shell: str) -> None:
    world.out.write(SCRIPTS[shell])
