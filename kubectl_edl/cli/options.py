"""Options that several commands share, spelled as in kubectl; each group becomes one value."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import MISSING, dataclass, field, fields
from datetime import timedelta
from functools import partial, wraps
from typing import Any, Final, TypeVar, dataclass_transform

import click
from click.shell_completion import CompletionItem

from edl import contract
from kubectl_edl.cli.completion_candidates import namespaces
from kubectl_edl.cli.context import Scope
from kubectl_edl.cli.param_types import Duration

Command = Callable[..., None]
Decorator = Callable[[Command], Command]

COLOURS: Final = ("auto", "always", "never")
DRY_RUNS: Final = ("none", "client", "server")

_DECLARED: Final = "declared"
_Kind = TypeVar("_Kind")


@dataclass(frozen=True, slots=True)
class _Declared:
    """A field's click settings, except for those that follow from its name and type."""

    decorator: Callable[..., Decorator]
    names: tuple[str, ...]
    unsaid: Any
    settings: dict[str, Any]

    def as_field(self, name: str, kind: str) -> Any:  # noqa: ANN401 (a field of any type)
        """The field as click option `--name`; a bool with a default becomes `--name/--no-name`."""
        settings, names = dict(self.settings), self.names
        if self.decorator is click.option:
            long, is_pair = (
                name.replace("_", "-"),
                kind.startswith("bool") and "default" in settings,
            )
            if not any(one.startswith("--") for one in names):
                names = (*names, f"--{long}/--no-{long}" if is_pair else f"--{long}")
            settings |= {"is_flag": True} if kind == "bool" and not is_pair else {}
            settings |= {"multiple": True} if kind.startswith("tuple[") else {}
        declared = partial(self.decorator, *names, **settings)
        default = self._default(kind)
        # A factory, because dataclasses take no mapping as a default.
        return field(default_factory=lambda: default, metadata={_DECLARED: declared})

    def _default(self, kind: str) -> Any:  # noqa: ANN401 (the same)
        """The value if the option is not given: `unsaid`, `default`, or the default of the type."""
        if self.unsaid is not MISSING:
            return self.unsaid
        if kind.startswith("tuple["):
            return ()
        usual = None if kind.endswith("| None") else {"bool": False}.get(kind, "")
        return self.settings.get("default", usual)


def option(*names: str, unsaid: Any = MISSING, **settings: Any) -> Any:  # noqa: ANN401 (a field of any type)
    """Declare a field of an option group as an option; `unsaid` is its value if it is not given."""
    return _Declared(click.option, names, unsaid, settings)


def argument(**settings: Any) -> Any:  # noqa: ANN401 (the same)
    """Declare a field of an option group as an argument."""
    return _Declared(click.argument, (), MISSING, settings)


def given(declared: Decorator, unsaid: Any) -> Any:  # noqa: ANN401 (the same)
    """Declare a field as one of the shared options below."""
    return _Declared(lambda _: declared, (), unsaid, {})


@dataclass_transform(frozen_default=True)
def option_group(kind: type[_Kind]) -> type[_Kind]:
    """A frozen dataclass whose fields `group` turns into options of their name and type."""
    for name, annotation in kind.__annotations__.items():
        if isinstance(found := vars(kind).get(name), _Declared):
            is_class = isinstance(annotation, type) and not hasattr(annotation, "__args__")
            spelled = annotation.__name__ if is_class else str(annotation)
            setattr(kind, name, found.as_field(name, spelled))
    return dataclass(frozen=True, slots=True)(kind)


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
        from kubectl_edl.output.printer import InvalidOutput, form  # noqa: PLC0415 (not for --help)

        try:
            form(value)
        except InvalidOutput as error:
            self.fail(f"{error}", param, ctx)
        return value

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:  # noqa: ARG002
        return _SPELLED

    def shell_complete(
        self,
        ctx: click.Context,  # noqa: ARG002 (click's signature)
        param: click.Parameter,  # noqa: ARG002 (the same)
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
    from edl.kube.cache.label_selector import is_selector  # noqa: PLC0415 (not for a command without one)

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

    selector: str = given(SELECTOR, "")
    output: str = option("-o", unsaid="table", type=FORM, help="Output format.")
    watch: bool = option("-w", help="Watch for changes.")
    color: str = option(
        unsaid="auto",
        type=click.Choice(COLOURS),
        help="Colorize the output; auto: on a terminal, unless NO_COLOR is set.",
    )
    no_headers: bool = option(help="Do not print headers.")


@option_group
class Writing:
    """How a change is made and reported; an empty `output` prints a sentence."""

    dry_run: str = given(DRY_RUN, "none")
    output: str = option(
        "-o",
        type=click.Choice(("name", "json", "yaml")),
        help="Print the changed objects instead of a message.",
    )


@option_group
class Deleting:
    """How a deletion is confirmed, and how long it is awaited."""

    yes: bool = given(YES, unsaid=False)
    dry_run: str = given(DRY_RUN, "none")
    wait: bool = option(default=True, help="Wait until the objects are gone; the default.")
    timeout: timedelta = given(TIMEOUT, TIME_LIMIT)


def not_both(name: str | None, reading: OutputOptions) -> None:
    """Raise click.UsageError if both a name and a selector are given, as kubectl does."""
    if name and reading.selector:
        raise click.UsageError("A name and a selector (-l) exclude each other: leave out one.")


def group(kind: type, name: str, *extra: Decorator, without: Collection[str] = ()) -> Decorator:
    """The fields of `kind` as options, except `without`, passed to the command as `name`.

    `extra` declares options for further fields of `kind`.
    """
    declared = [one for one in fields(kind) if _DECLARED in one.metadata]
    options = [one.metadata[_DECLARED](one.name) for one in declared if one.name not in without]
    return bundled(kind, name, [*options, *extra])


def bundled(kind: Callable[..., object], name: str, options: Sequence[Decorator]) -> Decorator:
    """Declare the options, and pass their values to the command as one `kind`.

    Options that are not given keep the defaults of `kind`.
    """
    known = {field.name for field in fields(kind)}  # type: ignore[arg-type]

    def decorate(function: Command) -> Command:
        @wraps(function)
        def call(*args: object, **given: object) -> None:
            own = {key: given.pop(key) for key in known & given.keys()}
            chosen = {key: value for key, value in own.items() if value is not None}
            function(*args, **given, **{name: kind(**chosen)})

        decorated: Command = call
        for option in reversed(options):
            decorated = option(decorated)
        return decorated

    return decorate


a_cluster: Final = bundled(Scope, "scope", _SCOPE[2:])
"""`--context --kubeconfig`, as `scope`: for commands that do not depend on a namespace."""
everywhere: Final = bundled(Scope, "scope", _SCOPE)
"""`-n -A --context --kubeconfig`, as `scope`."""
one_namespace: Final = bundled(Scope, "scope", (_SCOPE[0], *_SCOPE[2:]))
"""`-n --context --kubeconfig`, as `scope`."""
reading: Final = group(OutputOptions, "reading")
"""`-l -o -w --color --no-headers`, as `reading`."""
watching: Final = group(OutputOptions, "reading", without={"selector"})
printing: Final = group(OutputOptions, "reading", without={"selector", "watch"})
writing: Final = group(Writing, "writing")
"""`--dry-run -o`, as `writing`."""
