"""Objects in groups, such as the pods of each Job, updated object by object."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Generic, TypeVar

from edl.kube.cluster import Delta, ObjectKey

K = TypeVar("K")
F = TypeVar("F")


class ObjectGroups(Generic[K, F]):
    """A mapping of groups to their objects' facts by name; a group without objects is removed."""

    def __init__(self, groups_of: Callable[[F], Iterable[K]]) -> None:
        """`groups_of` returns the groups to which an object belongs."""
        self._groups_of = groups_of
        self._groups: dict[K, dict[ObjectKey, F]] = {}

    def apply(self, change: Delta[F]) -> None:
        if change.before is not None:
            for key in self._groups_of(change.before):
                group = self._groups[key]
                del group[change.key]
                if not group:
                    del self._groups[key]
        if change.after is not None:
            for key in self._groups_of(change.after):
                self._groups.setdefault(key, {})[change.key] = change.after

    def of(self, key: K) -> Mapping[ObjectKey, F]:
        """The objects of a group; empty if there is none."""
        return self._groups.get(key, {})

    def items(self) -> Iterable[tuple[K, Mapping[ObjectKey, F]]]:
        return self._groups.items()

    def __iter__(self) -> Iterator[K]:
        return iter(self._groups)

    def __contains__(self, key: K) -> bool:
        return key in self._groups
