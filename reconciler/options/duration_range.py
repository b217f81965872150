"""A type of command-line options: durations within bounds."""

from typing import Any

import click

from edl.durations import EXAMPLES, parse_duration


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
        number = value if length is None else length.total_seconds()
        seconds: float = super().convert(number, param, ctx)
        if length is None and isinstance(value, str):
            text = f"{value!r} is not a duration, 0 or at least 0.001 s: write {EXAMPLES}."
            self.fail(text, param, ctx)
        return seconds
