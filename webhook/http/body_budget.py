"""Memory that requests share, from a body's first large byte until its answer has been sent."""

from typing import Final

SMALL: Final = 64 * 1024
"""Bytes that every request may have. What is above them all requests share, so that memory is
bounded however many clients send, wait or read at once; a review seldom needs any."""
SHARED: Final = 64 * 1024 * 1024
MOST_VALUES: Final = 400_000
"""Values (objects, lists, members) in one body; two Jobs of etcd's 1.5 MiB have fewer."""
_BYTES_A_VALUE: Final = 100
"""Bytes of an object, a list or a member of one, once decoded; the worst measured is 77."""
_MARKS: Final = (b"{", b"[", b",", b":")


class BudgetExceeded(Exception):
    """The limit is reached at the moment; the text is for the client."""


class BodyBudget:
    """Remaining bytes that all requests share, beyond each request's small allowance."""

    def __init__(self, left: int = SHARED) -> None:
        self.left = left


class BodyShare:
    """What one request holds of the budget; `size` in bytes, its small allowance included."""

    def __init__(self, budget: BodyBudget) -> None:
        self.size = 0
        self._budget = budget

    def grow(self, size: int) -> None:
        """Hold this many bytes. Raises BudgetExceeded, with the amount before still held."""
        more = max(0, size - SMALL) - max(0, self.size - SMALL)
        if more > self._budget.left:
            raise BudgetExceeded("too many large requests are being answered; try again")
        if more > 0:
            self._budget.left -= more
        self.size = max(self.size, size)

    def release(self) -> None:
        self._budget.left += max(0, self.size - SMALL)
        self.size = 0


def values(body: bytes | bytearray) -> int:
    """At least as many as its JSON has objects, lists and members: counted before it is decoded."""
    return sum(map(body.count, _MARKS))


def weight(body: bytes | bytearray) -> int:
    """Bytes of a body and of what is decoded from it."""
    return len(body) + _BYTES_A_VALUE * values(body)
