"""Sums by key, of objects that come and go."""

from collections import Counter
from typing import TypeVar

K = TypeVar("K")


class Tally(Counter[K]):
    """A Counter without zeros: it does not grow with keys that are gone.

    Amounts are integers, so that subtracting what was added restores a sum exactly.
    """

    def add(self, key: K, amount: int) -> None:
        if total := self[key] + amount:
            self[key] = total
        else:
            self.pop(key, None)
