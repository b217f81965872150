"""Types of option values: durations and images."""

from collections import Counter
from collections.abc import Iterable
from datetime import timedelta
from typing import Final

import click

from edl.kube.duration_range import DurationRange

_LONGEST_DURATION: Final = timedelta(days=365)
"""A limit, because a deadline beyond the calendar's last year cannot be computed."""


class Duration(click.ParamType["timedelta"]):
    """As DurationRange, for options whose value is a timedelta."""

    name = DurationRange.name

    def __init__(self, *, above_zero: bool = False, longest: timedelta = _LONGEST_DURATION) -> None:
        self._range = DurationRange(longest.total_seconds(), above_zero=above_zero)

    def convert(
        self, value: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> timedelta:
        return timedelta(seconds=self._range.convert(value, param, ctx))


def repeated(names: Iterable[str]) -> str:
    """The first name that occurs more than once; empty if there is none."""
    return next((name for name, times in Counter(names).items() if times > 1), "")


EXAMPLE: Final = "registry.example/kubectl-edl:0.1.0"


def is_image(text: str) -> bool:
    """Whether `text` can be an image reference; only the registry can check more."""
    return bool(text) and not any(letter.isspace() for letter in text)


class Image(click.ParamType[str]):
    """The value of `--image`; an empty one is an error, because it would be ignored silently."""

    name = "IMAGE"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not is_image(value):
            self.fail(
                f'"{value}" is not an image; name one that the cluster can pull: {EXAMPLE}',
                param,
                ctx,
            )
        return value
