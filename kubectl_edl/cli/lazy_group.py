"""Commands listed by name and summary, and imported only when they run."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final

import click
from click.shell_completion import CompletionItem

_FEW: Final = 12
"""The most names that an error lists; `--help` lists more of them better."""


class Listed(click.Group):
    """A group of subcommands, built from a table of names and summaries for help and completion.

    `load` imports a subcommand; `order` moves its name to the front of the arguments.
    """

    renamed: ClassVar[Mapping[str, str]] = {}
    """New names by old names; an old name still works, with a warning."""

    def __init__(
        self,
        lines: Mapping[str, str],
        *,
        title: str,
        noun: str = "command",
        load: Callable[[str], click.Command],
        order: Callable[[list[str]], list[str]],
        **settings: Any,  # noqa: ANN401 (click's own)
    ) -> None:
        super().__init__(**settings)
        self._lines = lines
        self._title = title
        self._noun = noun
        self._load = load
        self._order = order

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click's signature)
        return list(self._lines)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        return self._load(cmd_name) if cmd_name in self._lines else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and (name := self.renamed.get(args[0])):
            click.echo(f'warning: "{args[0]}" is now "{name}"; 0.2 drops the old name', err=True)
            args = [name, *args[1:]]
        if args and args[0] not in self._lines:
            from difflib import get_close_matches  # noqa: PLC0415 (only for mistakes)

            close = get_close_matches(args[0], self._lines, n=1)
            few = f"; one of {', '.join(self._lines)}" if len(self._lines) <= _FEW else ""
            meant = f"; did you mean {close[0]}?" if close else few
            ctx.fail(f'unknown {self._noun} "{args[0]}" for "{ctx.command_path}"{meant}')
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 (click's signature)
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
