"""Which training jobs have pods that selectors match, found by label."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from edl.model import JobKey, Selector, TrainingJob


class LabelledRole(NamedTuple):
    """The job of a role, and the labels of its pods."""

    job: JobKey
    labels: Mapping[str, str]

    def matches(self, selectors: Iterable[Selector]) -> bool:
        """Whether all of these selectors match its pods."""
        return all(one.matches(self.job.namespace, self.labels) for one in selectors)


class RoleLabels:
    """The labels of all roles, queued ones included. Each of thousands of selectors may differ."""

    def __init__(self, jobs: Iterable[TrainingJob]) -> None:
        self._roles = [
            LabelledRole(job.key, dict(role.template.labels)) for job in jobs for role in job.roles
        ]
        self._by_label: defaultdict[tuple[str, str], list[LabelledRole]] = defaultdict(list)
        for role in self._roles:
            for label in role.labels.items():
                self._by_label[label].append(role)

    def selected(self, selectors: Sequence[Selector]) -> Iterator[LabelledRole]:
        """The roles with pods that all of these selectors match."""
        return (role for role in self._candidates(selectors) if role.matches(selectors))

    def _candidates(self, selectors: Iterable[Selector]) -> Iterable[LabelledRole]:
        """All that may match, and few others: those with the rarest of the labels."""
        fewest: Sequence[Sequence[LabelledRole]] = [self._roles]
        for need in chain.from_iterable(selector.requirements for selector in selectors):
            if need.operator == "In":
                labels = ((need.key, value) for value in dict.fromkeys(need.values))
                having = [self._by_label.get(label, ()) for label in labels]
                fewest = min(fewest, having, key=_total)
        return chain.from_iterable(fewest)


def _total(groups: Iterable[Sequence[LabelledRole]]) -> int:
    return sum(map(len, groups))
