"""Values in the order of their keys, for a state that is rebuilt after each small change."""

from typing import Any, Generic, Protocol, TypeVar


class _Comparable(Protocol):
    def __lt__(self, other: Any, /) -> bool: ...  # noqa: ANN401 - as typeshed has it


K = TypeVar("K", bound=_Comparable)
V = TypeVar("V")


class SortedMap(Generic[K, V]):
    """A mapping whose values come as one tuple: the same object until a value differs."""

    def __init__(self) -> None:
        self._values: dict[K, V] = {}
        self._keys: list[K] = []
        self._sorted = True
        self._tuple: tuple[V, ...] | None = ()

    def put(self, key: K, value: V) -> None:
        """Sets a value. An equal value changes nothing: the old object stays."""
        last = self._values.get(key)
        if last is None:
            self._keys.append(key)
            self._sorted = False
        elif last == value:
            return
        self._values[key] = value
        self._tuple = None

    def drop(self, key: K) -> None:
        """Removes a value.

        Its key is removed at the next `values`, as many may be dropped at once.
        """
        if self._values.pop(key, None) is not None:
            self._sorted = False
            self._tuple = None

    def values(self) -> tuple[V, ...]:
        if not self._sorted:
            # The keys are nearly sorted, so sorting takes linear time.
            self._keys = sorted(key for key in dict.fromkeys(self._keys) if key in self._values)
            self._sorted = True
        if self._tuple is None:
            self._tuple = tuple(map(self._values.__getitem__, self._keys))
        return self._tuple
