"""The reconciler's options about planning as values of an installation."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeAlias

import click
import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from edl.kube.option_group import click_options
from edl.planner.decision_limits import (
    CLASS_NAME,
    IMAGE_NAME,
    LONGEST_CLASS_NAME,
    LONGEST_PARAMETERS,
    PARAMETERS,
    SCHEDULERS,
)
from edl.planner.published_settings import LONGEST
from reconciler.options.decision_options import MOST_WEIGHT, planning_options
from reconciler.options.duration_range import DurationRange

Priority: TypeAlias = Annotated[str, Meta(pattern=r"^-?[0-9]{1,10}\Z")]
ImageReference: TypeAlias = Annotated[str, Meta(pattern=rf"^{IMAGE_NAME}\Z")]
r"""Ends in `\Z`: Python's `$` also matches before a final line break, JSON Schema's does not."""
OptionalImage: TypeAlias = Annotated[str, Meta(pattern=rf"^({IMAGE_NAME})?\Z")]
_OPTIONS: Final = click_options(planning_options)
_TEXTS: Final[Mapping[str, Any]] = {
    "provisioning_class": Annotated[
        str, Meta(pattern=rf"^{CLASS_NAME}\Z", max_length=LONGEST_CLASS_NAME)
    ],
    "queueing_schedulers": Annotated[
        str, Meta(pattern=rf"^{SCHEDULERS}\Z", max_length=LONGEST_PARAMETERS)
    ],
    "provisioning_parameters": Annotated[
        str, Meta(pattern=rf"^{PARAMETERS}\Z", max_length=LONGEST_PARAMETERS)
    ],
}
"""The types of text options other than images, by the option's name."""
_EXAMPLES: Final[Mapping[str, object]] = {
    "policy": "throughput",
    "priority_weight": {"1000": 2},
    "patience": 30,
    "idle": 60,
    "drain_patience": 600,
    "provisioning_parameters": "maxRunDurationSeconds=86400",
}
"""Examples of options whose own default would not be a helpful example."""
_SPELLED: Final = {"priority_weight": "An object: --set reconciler.planning.priorityWeight.1000=2."}
"""The notation of values that are objects although the option takes a text, by its name."""


def says(description: str, **limits: Any) -> Meta:  # noqa: ANN401 - msgspec's own
    """The description of a value and its limits, as in the chart's schema."""
    return Meta(description=description, **limits)


class Part(Struct, frozen=True, forbid_unknown_fields=True, rename="camel", kw_only=True):
    """Values of one section; those that are not set have their defaults."""


def _field(option: click.Option) -> tuple[str, Any, Any]:
    """(name, type, UNSET) of an option's value; if it is not set, the option's default holds."""
    name = str(option.name)
    kind = _kind(option)
    text = str(option.help)
    if isinstance(option.type, DurationRange):
        text = f"{text} In seconds."
    if said := _SPELLED.get(name):
        text = f"{text} {said}"
    example = _EXAMPLES.get(name, option.default)
    if isinstance(example, float) and example.is_integer():
        example = int(example)
    return name, Annotated[kind, says(text, examples=[example])] | UnsetType, UNSET


def _kind(option: click.Option) -> Any:  # noqa: ANN401 - a type
    """The type of the option's value, with its limits."""
    kind = option.type
    if option.multiple:
        return dict[Priority, Annotated[float, Meta(gt=0, le=MOST_WEIGHT)]]
    if isinstance(kind, click.Choice):
        return Literal[tuple(kind.choices)]
    if isinstance(kind, DurationRange):
        return Annotated[float, Meta(ge=0, le=LONGEST)]
    if isinstance(kind, click.IntRange):
        return Annotated[int, Meta(ge=kind.min, le=kind.max)]
    if isinstance(kind, click.FloatRange):
        return Annotated[float, Meta(gt=0, le=kind.max)]
    return bool if option.is_bool_flag else _TEXTS.get(str(option.name), ImageReference)


if TYPE_CHECKING:

    class Planning(Part, frozen=True):
        """The reconciler's options about how it decides; what is not set is its own default."""

        autoscaler: str | UnsetType = UNSET

else:
    Planning = msgspec.defstruct(
        "Planning", list(map(_field, _OPTIONS)), bases=(Part,), module=__name__
    )


_DURATIONS: Final = {option.name for option in _OPTIONS if isinstance(option.type, DurationRange)}
DURATIONS: Final[Mapping[str, str]] = {
    field.name: field.encode_name
    for field in msgspec.structs.fields(Planning)
    if field.name in _DURATIONS
}
"""The values that are durations, 0 or at least `edl.durations.SHORTEST`, by option's name."""
CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    str(option.name): tuple(option.type.choices)
    for option in _OPTIONS
    if isinstance(option.type, click.Choice)
}
"""The allowed values of each option that has a fixed set of them, by its name."""
