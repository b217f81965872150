"""Options that several commands share, spelled as in kubectl; each group becomes one value."""

from datetime import timedelta
from typing import Final

import click
from click.shell_completion import CompletionItem

from edl import contract
from edl.kube.option_group import (
    Decorator,
    collect_options,
    group,
    option,
    option_group,
    shared_option,
)
from kubectl_edl.cli.completion_candidates import namespaces
from kubectl_edl.cli.context import Scope
from kubectl_edl.cli.param_types import Duration

COLOURS: Final = ("auto", "always", "never")
DRY_RUNS: Final = ("none", "client", "server")

DRY_RUN: Final = click.option(
    "--dry-run",
    type=click.Choice(DRY_RUNS),
    default="none",
    help="client: only print what would be sent. server: send it without persisting it.",
)
YES: Final = click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
TIMEOUT: Final = click.option(
    "--timeout",
    type=Duration(),
    default="120s",
    show_default=True,
    help="How long to wait before giving up.",
)
TIME_LIMIT: Final = timedelta(seconds=120)
"""The default of TIMEOUT."""
_SPELLED: Final = "table|wide|json|yaml|name|custom-columns=…|jsonpath=…"
_OFFERED: Final = (
    *("table", "wide", "json", "yaml", "name"),
    *("custom-columns=", "custom-columns-file="),
    *("jsonpath=", "jsonpath-as-json=", "jsonpath-file="),
)


class _Form(click.ParamType[str]):
    """The value of `-o`, checked while options are parsed, before any request."""

    name = _SPELLED

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from kubectl_edl.output.printer import InvalidOutput, form

        try:
            form(value)
        except InvalidOutput as error:
            self.fail(f"{error}", param, ctx)
        return value

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:  # noqa: ARG002
        return _SPELLED

    def shell_complete(
        self,
        ctx: click.Context,  # noqa: ARG002 - click's signature
        param: click.Parameter,  # noqa: ARG002 - the same
        incomplete: str,
    ) -> list[CompletionItem]:
        return [CompletionItem(form) for form in _OFFERED if form.startswith(incomplete)]


FORM: Final = _Form()

SYSTEM_NAMESPACE: Final = click.option(
    "--system-namespace",
    envvar=contract.SYSTEM_NAMESPACE_ENV,
    hidden=True,
    help="Namespace in which kubectl-edl is installed.",
)
_SCOPE: Final = (
    click.option(
        "-n",
        "--namespace",
        shell_complete=namespaces,
        help="Namespace; defaults to that of the context.",
    ),
    click.option("-A", "--all-namespaces", is_flag=True, help="Use all namespaces."),
    click.option("--context", help="Kubeconfig context to use."),
    click.option("--kubeconfig", help="Path to the kubeconfig file."),
    # kubectl hides these options too; `kubectl edl --help` lists them once.
    click.option("--cluster", hidden=True, help="Kubeconfig cluster to use."),
    click.option("--user", hidden=True, help="Kubeconfig user to use."),
    click.option("--as", "as_user", hidden=True, help="User to impersonate."),
    click.option("--as-uid", hidden=True, help="UID to impersonate."),
    click.option(
        "--as-group", "as_groups", multiple=True, hidden=True, help="Group to impersonate."
    ),
    click.option("--request-timeout", type=Duration(), hidden=True, help="Timeout of one request."),
    SYSTEM_NAMESPACE,
)


def _selector(_ctx: click.Context, _param: click.Parameter, text: str | None) -> str | None:
    """The selector, unchanged; raises click.BadParameter if it is malformed, before any request."""
    from kubectl_edl.cli.label_selector import is_selector

    if text and not is_selector(text):
        example = "write team=vision, team!=vision, team in (a,b), team or !team, with commas"
        raise click.BadParameter(f'"{text}" is not a label selector; {example} between them')
    return text


SELECTOR: Final = click.option(
    "-l", "--selector", callback=_selector, help="Label selector to filter on, e.g. team=vision."
)


def _filenames(*, required: bool) -> Decorator:
    """The option `-f`. `sources` reports unreadable files, because those are not usage errors."""
    return click.option(
        "-f",
        "--filename",
        "filenames",
        multiple=True,
        required=required,
        type=click.Path(allow_dash=True),
        help="Manifest file or directory (read recursively), or - for stdin; may be repeated.",
    )


FILENAMES: Final[Decorator] = _filenames(required=True)
FILENAMES_IF_ANY: Final[Decorator] = _filenames(required=False)


@option_group
class OutputOptions:
    """How a list is filtered and printed; `output.printer` parses `output`."""

    selector: str = shared_option(SELECTOR, "")
    format: str = option("-o", "--output", fallback="table", type=FORM, help="Output format.")
    watch: bool = option("-w", help="Watch for changes.")
    color: str = option(
        fallback="auto",
        type=click.Choice(COLOURS),
        help="Colorize the output; auto: on a terminal, unless NO_COLOR is set.",
    )
    no_headers: bool = option(help="Do not print headers.")


@option_group
class WriteOptions:
    """How a change is made and reported; an empty `output` prints a sentence."""

    dry_run: str = shared_option(DRY_RUN, "none")
    output: str = option(
        "-o",
        type=click.Choice(("name", "json", "yaml")),
        help="Print the changed objects instead of a message.",
    )


@option_group
class ConfirmOptions:
    """How a change is confirmed, or only tried."""

    yes: bool = shared_option(YES, fallback=False)
    dry_run: str = shared_option(DRY_RUN, "none")


@option_group
class DeletionOptions(ConfirmOptions):
    """How a deletion is confirmed, and how long it is awaited."""

    wait: bool = option(default=True, show_default=True, help="Wait until the objects are gone.")
    timeout: timedelta = shared_option(TIMEOUT, TIME_LIMIT)


def not_both(name: str | None, output: OutputOptions) -> None:
    """Raise click.UsageError if both a name and a selector are given, as kubectl does."""
    if name and output.selector:
        raise click.UsageError("A name and a selector (-l) exclude each other: leave out one.")


cluster_options: Final = collect_options(Scope, "scope", _SCOPE[2:])
"""`--context --kubeconfig`, as `scope`: for commands that do not depend on a namespace."""
all_namespaces_options: Final = collect_options(Scope, "scope", _SCOPE)
"""`-n -A --context --kubeconfig`, as `scope`."""
namespace_options: Final = collect_options(Scope, "scope", (_SCOPE[0], *_SCOPE[2:]))
"""`-n --context --kubeconfig`, as `scope`."""
output_options: Final = group(OutputOptions, "output")
"""`-l -o -w --color --no-headers`, as `output`."""
watch_options: Final = group(OutputOptions, "output", without={"selector"})
print_options: Final = group(OutputOptions, "output", without={"selector", "watch"})
write_options: Final = group(WriteOptions, "writing")
"""`--dry-run -o`, as `writing`."""
