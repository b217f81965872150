"""Values that a few drawn strings of bytes decide.

hypothesis keeps a record of each of its own draws, which takes longer than the laws of a small
cluster do with the hundreds of them that it needs. The bytes shrink as any others do.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Concatenate, Final, ParamSpec, TypeVar

from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Iterator

Value = TypeVar("Value")
Fields = ParamSpec("Fields")

_BYTES: Final = st.binary(min_size=64, max_size=64)
_LIKELY: Final = 32
"""One byte makes so many values about as likely as each other; more of them take two bytes."""


class Draw:
    """What a generator asks."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.of = draw
        self._bytes: Iterator[int] = (found for _ in iter(int, 1) for found in draw(_BYTES))

    def one_of(self, *values: Value) -> Value:
        return values[self.between(0, len(values) - 1)]

    def between(self, low: int, high: int) -> int:
        """Both included."""
        count, drawn = high - low + 1, next(self._bytes)
        if count > _LIKELY:
            drawn = drawn << 8 | next(self._bytes)
        return low + drawn % count

    def yes(self) -> bool:
        return self.between(0, 1) == 1


def packed(
    make: Callable[Concatenate[Draw, Fields], Value],
) -> Callable[Fields, st.SearchStrategy[Value]]:
    """A strategy as `st.composite` makes one, of a function that asks a `Draw`."""

    def asked(draw: st.DrawFn, /, *args: Fields.args, **fields: Fields.kwargs) -> Value:
        return make(Draw(draw), *args, **fields)

    asked.__name__ = make.__name__
    return st.composite(asked)
