"""A type of command-line options: durations within bounds."""

from datetime import timedelta

import click

from edl.durations import EXAMPLES, SHORTEST, duration_text, parse_duration


class DurationRange(click.ParamType[float]):
    """A duration as users type one, to the millisecond, converted to seconds, within bounds.

    Help does not print the bounds: they only keep dates within the calendar.
    """

    name = "DURATION"

    def __init__(self, longest: float, *, above_zero: bool = False) -> None:
        self._longest = longest
        self._above_zero = above_zero

    def convert(
        self, value: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        seconds = _seconds(value)
        if seconds == 0 and not self._above_zero:
            return seconds
        if seconds is None or not SHORTEST.total_seconds() <= seconds <= self._longest:
            least, most = map(duration_text, (SHORTEST, timedelta(seconds=self._longest)))
            allowed = f"{'' if self._above_zero else '0 or '}a duration from {least} to {most}"
            self.fail(f"{value!r} is not {allowed}: write {EXAMPLES}.", param, ctx)
        return seconds


def _seconds(text: str) -> float | None:
    """A bare number as it is, as in the chart's schema: a timedelta would round it."""
    length = parse_duration(text)
    if length is None:
        return None
    return length.total_seconds() if text[-1].isalpha() else float(text)
