"""Command-line options that are the fields of a dataclass, which a command gets as one value.

The webhook, the reconciler and the plugin declare theirs with it, and the chart's values are made
of the reconciler's.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import MISSING, dataclass, field, fields
from functools import reduce, wraps
from typing import Any, Final, TypeVar, dataclass_transform

import click

Command = Callable[..., None]
Decorator = Callable[[Command], Command]

_DECLARED: Final = "declared"
_Kind = TypeVar("_Kind")


@dataclass(frozen=True, slots=True)
class _OptionField:
    """A field's click settings, except for those that follow from its name and type."""

    decorator: Callable[..., Decorator]
    names: tuple[str, ...]
    fallback: Any
    settings: dict[str, Any]

    def as_field(self, name: str, kind: str) -> Any:  # noqa: ANN401 - a field of any type
        """The field as click option `--name`; a bool with a default becomes `--name/--no-name`."""
        settings, names = dict(self.settings), self.names
        if self.decorator is click.option:
            long, is_pair = name.replace("_", "-"), kind[:4] == "bool" and "default" in settings
            if not any(text.startswith("--") for text in names):
                names = (*names, f"--{long}/--no-{long}" if is_pair else f"--{long}")
            settings |= {"is_flag": True} if kind == "bool" and not is_pair else {}
            settings |= {"multiple": True} if kind.startswith("tuple[") else {}
        declared, default = self.decorator(*names, name, **settings), self._default(kind)
        # A factory, because dataclasses take no mapping as a default.
        return field(default_factory=lambda: default, metadata={_DECLARED: declared})

    def _default(self, kind: str) -> Any:  # noqa: ANN401 - the same
        """The value if the option is absent: `fallback`, `default`, or the default of the type."""
        if self.fallback is not MISSING:
            return self.fallback
        usual = {"bool": False, "tuple": ()}.get(kind.partition("[")[0], "")
        return self.settings.get("default", None if kind.endswith("| None") else usual)


def option(*names: str, fallback: Any = MISSING, **settings: Any) -> Any:  # noqa: ANN401 - a field of any type
    """Declare a field of an option group as an option; `fallback` is its value if it is absent."""
    return _OptionField(click.option, names, fallback, settings)


def argument(**settings: Any) -> Any:  # noqa: ANN401 - the same
    """Declare a field of an option group as an argument."""
    return _OptionField(click.argument, (), MISSING, settings)


def shared_option(declared: Decorator, fallback: Any) -> Any:  # noqa: ANN401 - the same
    """Declare a field as an option that several groups share."""
    return _OptionField(lambda _: declared, (), fallback, {})


@dataclass_transform(frozen_default=True)
def option_group(kind: type[_Kind]) -> type[_Kind]:
    """A frozen dataclass whose fields `group` turns into options of their name and type."""
    for name, annotation in kind.__annotations__.items():
        if isinstance(declared := vars(kind).get(name), _OptionField):
            is_class = isinstance(annotation, type) and not hasattr(annotation, "__args__")
            spelled = annotation.__name__ if is_class else str(annotation)
            setattr(kind, name, declared.as_field(name, spelled))
    return dataclass(frozen=True, slots=True)(kind)


def group(kind: type, name: str, *extra: Decorator, without: Collection[str] = ()) -> Decorator:
    """The fields of `kind` as options, except `without`, passed to the command as `name`.

    `extra` declares options for further fields of `kind`.
    """
    options = [one for one in fields(kind) if _DECLARED in one.metadata and one.name not in without]
    return collect_options(kind, name, [*(entry.metadata[_DECLARED] for entry in options), *extra])


def collect_options(
    kind: Callable[..., object],
    name: str,
    options: Sequence[Decorator],
    names: Collection[str] = (),
) -> Decorator:
    """Declare the options, and pass their values to the command as one `kind`.

    Options that are not given keep the defaults of `kind`, a dataclass, or else a function of
    options with these `names`.
    """
    option_names = set(names) or {field.name for field in fields(kind)}  # type: ignore[arg-type]

    def decorate(function: Command) -> Command:
        @wraps(function)
        def call(*args: object, **given: object) -> None:
            values = {key: given.pop(key) for key in option_names & given.keys()}
            chosen = {key: value for key, value in values.items() if value is not None}
            function(*args, **given, **{name: kind(**chosen)})

        return _decorated(call, options)

    return decorate


def click_options(*groups: Decorator) -> list[click.Option]:
    """The options of these groups, as click knows them."""
    command = click.command(_decorated(lambda: None, groups))
    return [param for param in command.params if isinstance(param, click.Option)]


def _decorated(function: Command, decorators: Sequence[Decorator]) -> Command:
    return reduce(lambda made, decorator: decorator(made), reversed(decorators), function)
