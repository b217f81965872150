"""The reconciler's settings of planning as values of an installation."""

from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from edl.planner.decision_limits import IMAGE_NAME
from edl.planner.published_settings import OPTIONS, Setting, in_json

ImageReference: TypeAlias = Annotated[str, Meta(pattern=rf"^{IMAGE_NAME}\Z")]
r"""Ends in `\Z`: Python's `$` also matches before a final line break, JSON Schema's does not."""
OptionalImage: TypeAlias = Annotated[str, Meta(pattern=rf"^({IMAGE_NAME})?\Z")]
_SPELLED: Final = {"priority_weight": "An object: --set reconciler.planning.priorityWeight.1000=2."}
"""The notation of values that are objects although the option takes a text, by its name."""


def says(description: str, **limits: Any) -> Meta:  # noqa: ANN401 - msgspec's own
    """The description of a value and its limits, as in the chart's schema."""
    return Meta(description=description, **limits)


class Part(Struct, frozen=True, forbid_unknown_fields=True, rename="camel", kw_only=True):
    """Values of one section; those that are not set have their defaults."""


def _field(setting: Setting) -> tuple[str, Any, Any]:
    """(name, type, UNSET) of a setting; if it is not set, the reconciler's default holds."""
    name, example = setting.name, in_json(setting.default)
    notes = [_SPELLED[name]] if name in _SPELLED else ["In seconds."] * setting.is_duration
    if isinstance(example, float) and example.is_integer():
        example = int(example)
    examples = setting.bounds.examples or [example]
    meta = says(" ".join([setting.description, *notes]), examples=examples)
    return name, Annotated[setting.json_type, meta] | UnsetType, UNSET


if TYPE_CHECKING:

    class Planning(Part, frozen=True):
        """The reconciler's options about how it decides; what is not set is its own default."""

        autoscaler: str | UnsetType = UNSET

else:
    Planning = msgspec.defstruct(
        "Planning", list(map(_field, OPTIONS)), bases=(Part,), module=__name__
    )


NAMES: Final = {field.name: field.encode_name for field in msgspec.structs.fields(Planning)}
"""The value of each option, by its name."""
DURATIONS: Final = {one.name: NAMES[one.name] for one in OPTIONS if one.is_duration}
"""The values that are durations, 0 or at least `edl.durations.SHORTEST`, by option's name."""
CHOICES: Final = {one.name: one.choices for one in OPTIONS if one.choices}
"""The allowed values of each option that has a fixed set of them, by its name."""
