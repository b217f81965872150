"""Best fit as Kueue publishes it, for the pods of one role: the measure that ours is held to.

It looks for one domain of the level that is preferred, then of each wider one, and takes the
fullest that holds all; else the roomiest ones of the widest level, and of those that hold the rest
the fullest. Of each narrower level it takes as many as hold the pods, in the same order.
"""

from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import TypeAlias

Path: TypeAlias = tuple[str, ...]
"""A host's domains, the widest first, and itself."""


def kueue(room: Mapping[Path, int], pods: int, preferred: int) -> tuple[int, ...]:
    """How many domains of each level the pods come to; `preferred` counts levels from 0."""
    sums = _sums(room)
    level = next((one for one in range(preferred, -1, -1) if _holds(sums, one, pods)), -1)
    there = [_fullest(_at(sums, level), sums, pods)] if level >= 0 else []
    level = max(level, 0)
    there = there or _roomiest(_at(sums, 0), sums, pods)
    for depth in range(level + 1, len(next(iter(room)))):
        inside = [one for one in _at(sums, depth) if one[:depth] in there]
        there = _roomiest(inside, sums, pods)
    return counts(there)


def fewest(room: Mapping[Path, int], pods: int) -> tuple[int, ...]:
    """The fewest domains of each level, those of the widest first: every choice of hosts is tried.

    Of few hosts: choices double with each.
    """
    choices = (
        hosts for number in range(len(room) + 1) for hosts in combinations(sorted(room), number)
    )
    return min(counts(hosts) for hosts in choices if sum(room[one] for one in hosts) >= pods)


def counts(hosts: Iterable[Path]) -> tuple[int, ...]:
    """How many domains of each level these hosts are in."""
    found = list(hosts)
    return tuple(len({one[:depth] for one in found}) for depth in range(1, len(found[0]) + 1))


def _sums(room: Mapping[Path, int]) -> dict[Path, int]:
    found: dict[Path, int] = {}
    for path, pods in room.items():
        for depth in range(1, len(path) + 1):
            found[path[:depth]] = found.get(path[:depth], 0) + pods
    return found


def _at(sums: Mapping[Path, int], level: int) -> list[Path]:
    """Domains of a level, the roomiest first."""
    found = (path for path in sums if len(path) == level + 1)
    return sorted(found, key=lambda path: (-sums[path], path))


def _holds(sums: Mapping[Path, int], level: int, pods: int) -> bool:
    return sums[_at(sums, level)[0]] >= pods


def _fullest(domains: list[Path], sums: Mapping[Path, int], pods: int) -> Path:
    return min((one for one in domains if sums[one] >= pods), key=sums.__getitem__)


def _roomiest(domains: list[Path], sums: Mapping[Path, int], pods: int) -> list[Path]:
    found: list[Path] = []
    while pods > 0:
        left = [one for one in domains if one not in found]
        last = sums[left[0]] >= pods
        found.append(_fullest(left, sums, pods) if last else left[0])
        pods -= sums[found[-1]]
    return found
