"""`kubectl edl`: the commands, each loaded only when it is used."""

from collections.abc import Mapping
from difflib import get_close_matches
from importlib import import_module
from typing import Final

import click
from click.shell_completion import CompletionItem

from kubectl_edl.refusals import EXIT_CODES_HELP

COMMANDS: Final[Mapping[str, str]] = {
    "create": "Write or create the Jobs of a training job.",
    "status": "Training jobs: sizes, bounds, what they wait for.",
    "queue": "Who waits for room, for how much, and who is ahead.",
    "scale": "Hold a size, give it back, or change the bounds.",
    "history": "What a training job went through.",
    "pause": "Take a training job off the nodes until it is resumed.",
    "resume": "Let a paused training job queue again.",
    "logs": "What the pods of a training job print.",
    "label": "Make an ordinary Job elastic.",
    "convert": "Turn TFJobs, MXJobs and other custom resources into labelled Jobs.",
    "inject": "What the webhook would do to manifests, and why.",
    "version": "The plugin's version.",
}
"""Each command and its line in the overview, which must not load the command's module."""

_WITH_VALUE: Final = frozenset(
    {"-n", "--namespace", "--context", "--kubeconfig", "-l", "--selector", "-o", "--output"}
)


class Commands(click.Group):
    """A group that imports a command's module when the command runs."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click's signature)
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"kubectl_edl.commands.{cmd_name}").COMMAND
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS:
            close = get_close_matches(args[0], COMMANDS, n=1)
            way_out = f"did you mean {close[0]}?" if close else f"one of {', '.join(COMMANDS)}"
            ctx.fail(f'there is no command "{args[0]}"; {way_out}')
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, command_first(args))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        """From the table: the commands themselves stay unloaded."""
        return [
            CompletionItem(name, help=line)
            for name, line in COMMANDS.items()
            if name.startswith(incomplete)
        ]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def command_first(args: list[str]) -> list[str]:
    """`-n team status` → `status -n team`: kubectl takes its flags on either side."""
    flags: list[str] = []
    rest = list(args)
    while rest and rest[0].startswith("-") and rest[0] not in ("-h", "--help", "--version"):
        flag = rest.pop(0)
        flags.append(flag)
        if flag in _WITH_VALUE and rest:
            flags.append(rest.pop(0))
    return [*rest[:1], *flags, *rest[1:]]


CLI: Final = Commands(
    name="edl",
    help="Elastic training on ordinary Kubernetes Jobs: a few labels, no CRD.",
    epilog=EXIT_CODES_HELP,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    no_args_is_help=True,
)
