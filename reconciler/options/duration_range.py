"""A type of command-line options: durations within bounds."""

from typing import Any

import click

from edl.durations import parse_duration


class DurationRange(click.FloatRange):
    """A duration as users type one, converted to seconds, within bounds."""

    name = "DURATION"

    def convert(
        self,
        value: Any,  # noqa: ANN401 - click's signature
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> float:
        length = parse_duration(value) if isinstance(value, str) else None
        seconds = value if length is None else length.total_seconds()
        found: float = super().convert(seconds, param, ctx)
        return found
