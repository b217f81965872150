"""Labels, the requirements of node affinity, and label selectors of pods."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, TypeAlias

import msgspec

Labels: TypeAlias = tuple[tuple[str, str], ...]
"""A pod's labels, sorted by name, without those that differ between pods of one template."""

_INTEGER: Final = re.compile(r"([+-]?)0*([0-9]{1,19})")
"""The bound on digits limits the work: int() raises for more than 4,300 of them."""
_INT64: Final = 2**63


class Requirement(msgspec.Struct, frozen=True):
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
                return value in self.values
            case "NotIn":
                return value not in self.values
            case "Exists":
                return value is not None
            case "DoesNotExist":
                return value is None
            case "Gt" | "Lt":
                bound = self.values[0] if len(self.values) == 1 else ""
                return compares(self.operator, value, bound)
        return False


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


class Selector(msgspec.Struct, frozen=True):
    """Pods of these namespaces (None: of each one) whose labels meet every requirement."""

    namespaces: tuple[str, ...] | None
    requirements: tuple[Requirement, ...] = ()

    def matches(self, namespace: str, labels: Mapping[str, str]) -> bool:
        if self.namespaces is not None and namespace not in self.namespaces:
            return False
        return all(one.holds(labels.get(one.key)) for one in self.requirements)


class Selectors:
    """An index of many selectors by a label that a matching pod must have."""

    def __init__(self, selectors: Iterable[Selector]) -> None:
        self._by_label: defaultdict[tuple[str, str], list[Selector]] = defaultdict(list)
        self._others: list[Selector] = []
        for selector in dict.fromkeys(selectors):
            named = next((one for one in selector.requirements if one.operator == "In"), None)
            if named is None:
                self._others.append(selector)
            else:
                for value in dict.fromkeys(named.values):
                    self._by_label[named.key, value].append(selector)

    def __bool__(self) -> bool:
        return bool(self._by_label or self._others)

    def matching(self, namespace: str, labels: Labels) -> Iterator[Selector]:
        """The selectors that match a pod with these labels."""
        by_name = dict(labels)
        for label in labels:
            yield from (
                selector
                for selector in self._by_label.get(label, ())
                if selector.matches(namespace, by_name)
            )
        yield from (selector for selector in self._others if selector.matches(namespace, by_name))
