"""The table of stalls that a run prints: how long training stood still at each resize."""

from typing import Final

from benchmarks.stalls import append
from tests.figures import titled

_TITLE: Final = "seconds without a step at each resize"


class Stalls:
    """Rows of one test, kept among its properties: those find their way home from any process."""

    def __init__(self, properties: list[tuple[str, object]]) -> None:
        self._properties = properties

    def add(self, framework: str, event: str, seconds: float) -> None:
        """A framework, what happened, and the longest time without a step."""
        row = f"{framework:<12} {event:<32} {seconds:7.1f} s"
        self._properties.append((titled(_TITLE), row))
        append(framework, event, seconds)
