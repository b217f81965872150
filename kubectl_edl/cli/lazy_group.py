"""Groups of commands, listed by name and summary; a command may be imported only when it runs."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Final

import click
from click.shell_completion import CompletionItem

from edl.kube.option_group import Decorator, click_options
from edl.similar_names import nearest
from kubectl_edl.cli.command_errors import EXIT_CODES_HELP

_MAX_NAMES: Final = 12
"""The most names that an error lists; `--help` lists more of them better."""


def command_first(args: list[str], *further: Decorator) -> list[str]:
    """`-n team status` → `status -n team`: kubectl accepts options before the command, too.

    `--version` becomes `version`. `further` are options beside those that most commands have.
    Raises click.BadOptionUsage for an option without its value, which click would not detect.
    """
    flags: list[str] = []
    rest = ["version", *args[1:]] if args[:1] == ["--version"] else list(args)
    while rest and rest[0].startswith("-") and rest[0] not in ("-h", "--help"):
        flag = rest.pop(0)
        flags.append(flag)
        if _takes_value(flag, further):
            if not rest:
                raise click.BadOptionUsage(flag, f"Option '{flag}' requires an argument.")
            flags.append(rest.pop(0))
    return [*rest[:1], *flags, *rest[1:]]


def _takes_value(flag: str, further: Sequence[Decorator]) -> bool:
    from kubectl_edl.cli.options import all_namespaces_options, output_options

    options = click_options(all_namespaces_options, output_options, *further)
    return any(flag in option.opts and not option.is_flag for option in options)


class Listed(click.Group):
    """A group of subcommands with their summaries for help and completion.

    They are click's `commands` with their `short_help`, or the names and summaries in `lines`, of
    which `load` imports one. `order` moves a subcommand's name to the front of the arguments. The
    help of a command ends with the usual exit codes, unless it has an epilog of its own.
    """

    renamed: ClassVar[Mapping[str, str]] = {}
    """New names by old names; an old name still works, with a warning."""
    meant: ClassVar[Mapping[str, str]] = {}
    """What other programs' commands are called here, for the error: `pause or delete` for stop."""

    def __init__(
        self,
        *,
        lines: Mapping[str, str] | None = None,
        title: str = "Commands",
        noun: str = "command",
        load: Callable[[str], click.Command] | None = None,
        order: Callable[[list[str]], list[str]] = command_first,
        **settings: Any,  # noqa: ANN401 - click's own
    ) -> None:
        super().__init__(**settings)
        commands = self.commands
        self._lines = lines or {name: entry.short_help or "" for name, entry in commands.items()}
        self._title = title
        self._noun = noun
        self._load = load or commands.__getitem__
        self._order = order

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(self._lines)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in self._lines:
            return None
        command = self._load(cmd_name)
        command.epilog = command.epilog or EXIT_CODES_HELP
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and (name := self.renamed.get(args[0])):
            click.echo(f'warning: "{args[0]}" is now "{name}"; 0.2 drops the old name', err=True)
            args = [name, *args[1:]]
        if args and args[0] not in self._lines:
            close = self.meant.get(args[0]) or nearest(args[0], self._lines)
            few = f"; one of {', '.join(self._lines)}" if len(self._lines) <= _MAX_NAMES else ""
            meant = f"; did you mean {close}?" if close else few
            ctx.fail(f'unknown {self._noun} "{args[0]}" for "{ctx.command_path}"{meant}')
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - click's signature
        """Report an option without a value as an error of the subcommand, which click does not."""
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            name = ctx.invoked_subcommand
            if error.ctx is None and name is not None:
                error.ctx = click.Context(self._load(name), info_name=name, parent=ctx)
            raise

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Treat `help COMMAND` as `COMMAND --help`, as kubectl does."""
        helped = [*args[1:], "--help"] if args[:1] == ["help"] else args
        return super().parse_args(ctx, self._order(helped))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        return [
            CompletionItem(name, help=line)
            for name, line in self._lines.items()
            if name.startswith(incomplete)
        ]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section(self._title):
            formatter.write_dl(list(self._lines.items()))
