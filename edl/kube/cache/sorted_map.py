"""Values in the order of their keys, for a state that is rebuilt after each small change."""

from bisect import bisect_left
from typing import Any, Generic, Protocol, TypeVar


class _Comparable(Protocol):
    def __lt__(self, other: Any, /) -> bool: ...  # noqa: ANN401 - as typeshed has it


K = TypeVar("K", bound=_Comparable)
V = TypeVar("V")


class SortedMap(Generic[K, V]):
    """A mapping whose values come as one tuple: the same object until a value differs."""

    def __init__(self) -> None:
        self._keys: list[K] = []
        self._values: list[V] = []
        self._tuple: tuple[V, ...] | None = ()

    def get(self, key: K) -> V | None:
        index = bisect_left(self._keys, key)
        return self._values[index] if self._has(key, index) else None

    def put(self, key: K, value: V | None) -> bool:
        """Sets a value, None removes it; returns whether it differs from the one before.

        An equal value changes nothing: the old object stays.
        """
        index = bisect_left(self._keys, key)
        present = self._has(key, index)
        if (value == self._values[index]) if present else value is None:
            return False
        if value is None:
            del self._keys[index], self._values[index]
        elif present:
            self._values[index] = value
        else:
            self._keys.insert(index, key)
            self._values.insert(index, value)
        self._tuple = None
        return True

    def values(self) -> tuple[V, ...]:
        if self._tuple is None:
            self._tuple = tuple(self._values)
        return self._tuple

    def _has(self, key: K, index: int) -> bool:
        return index < len(self._keys) and self._keys[index] == key
