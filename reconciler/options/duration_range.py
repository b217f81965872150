"""A type of command-line options: durations within bounds."""

from typing import Any

import click

from edl.durations import EXAMPLES, SHORTEST, parse_duration


class DurationRange(click.FloatRange):
    """A duration as users type one, to the millisecond, converted to seconds, within bounds."""

    name = "DURATION"

    def convert(
        self,
        value: Any,  # noqa: ANN401 - click's signature
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> float:
        length = parse_duration(value) if isinstance(value, str) else None
        # A bare number is compared as it is, and as in the chart's schema: a timedelta is rounded.
        number = length.total_seconds() if length is not None and value[-1].isalpha() else value
        seconds: float = super().convert(number, param, ctx)
        is_short = 0 < seconds < SHORTEST.total_seconds()
        if isinstance(value, str) and (length is None or is_short):
            text = f"{value!r} is not a duration, 0 or at least 0.001 s: write {EXAMPLES}."
            self.fail(text, param, ctx)
        return seconds
