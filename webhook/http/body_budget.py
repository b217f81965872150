"""Memory that requests share, from a body's first large byte until its response is sent."""

from typing import Final

SMALL: Final = 64 * 1024
"""Bytes that every request may use. Memory beyond that is shared by all requests, so it is bounded
however many clients send, wait or read at once; few reviews need any."""
SHARED: Final = 64 * 1024 * 1024
MAX_VALUES: Final = 400_000
"""Values (objects, lists, members) in one body; two Jobs of etcd's 1.5 MiB have fewer."""
_BYTES_A_VALUE: Final = 100
"""Bytes of a decoded object, list or member of one; the largest that was measured is 77."""
_MARKS: Final = (b"{", b"[", b",", b":")


class BudgetExceeded(Exception):
    """The shared memory is used up at the moment; the text is for the client."""


class BodyBudget:
    """The bytes left of the memory that all requests share beyond their small allowances."""

    def __init__(self, left: int = SHARED) -> None:
        self.left = left


class BodyShare:
    """The memory that one request uses; `size` is in bytes and includes the small allowance."""

    def __init__(self, budget: BodyBudget) -> None:
        self.size = 0
        self._budget = budget

    def grow(self, size: int) -> None:
        """Reserves this many bytes in total.

        Raises BudgetExceeded; the previous amount stays reserved.
        """
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
    """An upper bound of the objects, lists and members of a JSON body, without decoding it."""
    return sum(map(body.count, _MARKS))


def weight(body: bytes | bytearray) -> int:
    """Bytes of a body and of the values decoded from it."""
    return len(body) + _BYTES_A_VALUE * values(body)
