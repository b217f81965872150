from typing import Final

import click

from kubectl_edl.cli.context import CliContext
from kubectl_edl.completion.shell_scripts import SCRIPTS

_HELP: Final = """Print a shell completion script for kubectl edl.

It completes commands, flags, their values, and names from the cluster: training jobs, roles and
namespaces. kubectl calls kubectl_complete-edl, which is installed on PATH with kubectl-edl; the
script loads kubectl's own completion if it is missing, and also completes kubectl-edl itself.
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


@click.command("completion", help=_HELP)
@click.argument("shell", type=click.Choice(tuple(SCRIPTS)))
@click.pass_obj
def completion(cli: CliContext, shell: str) -> None:
    cli.out.write(SCRIPTS[shell])
