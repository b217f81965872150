"""Labels, the requirements of node affinity, and label selectors of pods."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property
from itertools import chain, islice, zip_longest
from typing import Final, NamedTuple, TypeAlias

import msgspec

from edl.contract import pod_limits

Labels: TypeAlias = tuple[tuple[str, str], ...]
"""A pod's labels, sorted by name, without those that differ between pods of one template."""

_INTEGER: Final = re.compile(r"([+-]?)0*([0-9]{1,19})")
"""The bound on digits limits the work: int() raises for more than 4,300 of them."""
_INT64: Final = 2**63
_FEW: Final = 8


class Requirement(msgspec.Struct, frozen=True, dict=True):
    """`key operator values` of a label (In, NotIn, Exists, …), in node affinity or a selector."""

    key: str
    operator: str
    values: tuple[str, ...]

    def holds(self, value: str | None) -> bool:
        """Whether it matches a label's value: None is a missing label, which NotIn matches.

        Source: Kubernetes, labels.Requirement.
        """
        match self.operator:
            case "In":
                return value in self._compared
            case "NotIn":
                return value not in self._compared
            case "Exists":
                return value is not None
            case "DoesNotExist":
                return value is None
            case "Gt" | "Lt":
                bound = self.values[0] if len(self.values) == 1 else ""
                return compares(self.operator, value, bound)
        return False

    @cached_property
    def _compared(self) -> Collection[str]:
        """The values: a set of many, as they are compared with those of each node or pod."""
        return self.values if len(self.values) <= _FEW else frozenset(self.values)


def compares(operator: str, value: str | None, bound: str) -> bool:
    """Gt and Lt between 64-bit integers; False for anything else.

    Source: Kubernetes, labels.Requirement (strconv.ParseInt).
    """
    number, limit = _whole(value or ""), _whole(bound)
    if number is None or limit is None:
        return False
    return number > limit if operator == "Gt" else number < limit


def _whole(text: str) -> int | None:
    digits = _INTEGER.fullmatch(text)
    if digits is None:
        return None
    number = int("".join(digits.groups()))
    return number if -_INT64 <= number < _INT64 else None


class Selector(msgspec.Struct, frozen=True, cache_hash=True):
    """Pods of these namespaces (None: of each one) whose labels meet every requirement."""

    namespaces: tuple[str, ...] | None
    requirements: tuple[Requirement, ...] = ()

    def matches(self, namespace: str, labels: Mapping[str, str]) -> bool:
        if self.namespaces is not None and namespace not in self.namespaces:
            return False
        return all(one.holds(labels.get(one.key)) for one in self.requirements)


class OwnedSelector(NamedTuple):
    """A selector that a pod of this namespace has."""

    namespace: str
    selector: Selector


class Selectors:
    """An index of many selectors by the namespace and a label that a matching pod must have.

    So selectors about pods of one namespace cost the others nothing. Those beyond
    MAX_COMPARED_SELECTORS in one place match nothing: other namespaces leave the selectors of this
    one in, and share what is left in turn, each beginning with those of pods that are `planned`.
    """

    def __init__(
        self, planned: Iterable[OwnedSelector], others: Iterable[OwnedSelector] = ()
    ) -> None:
        self._by_label: dict[str | None, defaultdict[tuple[str, str], list[Selector]]] = {}
        self._others: defaultdict[str | None, list[Selector]] = defaultdict(list)
        first = dict.fromkeys(planned)
        owned = dict.fromkeys(chain(first, others))
        for selector in dict.fromkeys(one.selector for one in owned):
            named = next((one for one in selector.requirements if one.operator == "In"), None)
            for place in _places(selector):
                if named is None:
                    self._others[place].append(selector)
                    continue
                for value in dict.fromkeys(named.values):
                    by_label = self._by_label.setdefault(place, defaultdict(list))
                    by_label[named.key, value].append(selector)
        large = [*filter(_is_large, self._groups())]
        self.crowded: Final = bool(large)
        """Whether any were left out, so that it matters which of them are planned."""
        order = [*sorted(first, key=_text), *sorted(owned, key=_text)] if large else ()
        for place, group in large:
            group[:] = islice(_in_turn(place, group, order), pod_limits.MAX_COMPARED_SELECTORS)

    def _groups(self) -> Iterator[tuple[str | None, list[Selector]]]:
        yield from self._others.items()
        for place, by_label in self._by_label.items():
            yield from ((place, group) for group in by_label.values())

    def __bool__(self) -> bool:
        return bool(self._by_label or self._others)

    def match(self, namespace: str, labels: Labels) -> bool:
        """Whether any selector matches a pod with these labels."""
        return bool(self) and next(self.matching(namespace, labels), None) is not None

    def matching(self, namespace: str, labels: Labels) -> Iterator[Selector]:
        """The selectors that match a pod with these labels."""
        by_name = dict(labels)
        for place in (namespace, None):
            if by_label := self._by_label.get(place):
                for label in labels:
                    for selector in by_label.get(label, ()):
                        if selector.matches(namespace, by_name):
                            yield selector
            for selector in self._others.get(place, ()):
                if selector.matches(namespace, by_name):
                    yield selector


def _is_large(entry: tuple[str | None, list[Selector]]) -> bool:
    return len(entry[1]) > pod_limits.MAX_COMPARED_SELECTORS


def _text(owned: OwnedSelector) -> str:
    return repr(owned.selector)


def _in_turn(
    place: str | None, group: Iterable[Selector], order: Iterable[OwnedSelector]
) -> Iterable[Selector]:
    """The selectors of a group: its namespace's own ones, then one of each other namespace."""
    present, by_owner = {*group}, defaultdict[str | None, list[Selector]](list)
    for owner, selector in order:
        if selector in present:
            by_owner[owner].append(selector)
    of_place = by_owner.pop(place, [])
    turns = chain.from_iterable(
        zip_longest(*(by_owner[name] for name in sorted(by_owner, key=str)))
    )
    return dict.fromkeys(selector for selector in chain(of_place, turns) if selector is not None)


def _places(selector: Selector) -> Iterable[str | None]:
    """The namespaces under which a selector is indexed; None: under each."""
    if selector.namespaces is None or len(selector.namespaces) > _FEW:
        return (None,)
    return dict.fromkeys(selector.namespaces)
