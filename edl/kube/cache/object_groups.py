"""Objects in groups, such as the pods of each Job, updated object by object."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Generic, TypeVar

from edl.kube.cluster import Delta, ObjectKey

K = TypeVar("K")
F = TypeVar("F")


class ObjectGroups(Generic[K, F]):
    """A mapping of groups to their objects' facts by name; a group without objects is removed."""

    def __init__(self, groups_of: Callable[[F], tuple[K, ...]]) -> None:
        """`groups_of` returns the groups to which an object belongs."""
        self._groups_of = groups_of
        self._groups: dict[K, dict[ObjectKey, F]] = {}

    def apply(self, change: Delta[F]) -> tuple[K, ...]:
        """Returns the groups that the object leaves, stays in or joins, some of them twice."""
        name, before, after = change
        left = () if before is None else self._groups_of(before)
        for key in left:
            group = self._groups[key]
            del group[name]
            if not group:
                del self._groups[key]
        if after is None:
            return left
        joined = self._groups_of(after)
        for key in joined:
            self._groups.setdefault(key, {})[name] = after
        return left + joined if left else joined

    def of(self, key: K) -> Mapping[ObjectKey, F]:
        """The objects of a group; empty if there is none."""
        return self._groups.get(key, {})

    def items(self) -> Iterable[tuple[K, Mapping[ObjectKey, F]]]:
        return self._groups.items()

    def __iter__(self) -> Iterator[K]:
        return iter(self._groups)

    def __contains__(self, key: K) -> bool:
        return key in self._groups
