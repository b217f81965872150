"""The table of stalls that a run prints: how long training stood still at each resize."""

from collections.abc import Iterable
from typing import Final

_PROPERTY: Final = "stall"


class Stalls:
    """Rows of one test, kept among its properties: those find their way home from any process."""

    def __init__(self, properties: list[tuple[str, object]]) -> None:
        self._properties = properties

    def add(self, framework: str, event: str, seconds: float) -> None:
        """A framework, what happened, and the longest time without a step."""
        row = f"{framework:<12} {event:<32} {seconds:7.1f} s"
        self._properties.append((_PROPERTY, row))


def rows(properties: Iterable[tuple[str, object]]) -> list[str]:
    """The table's rows among the properties of tests."""
    return [str(value) for name, value in properties if name == _PROPERTY]
