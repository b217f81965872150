"""Other owners' pods that constraints of training jobs count."""

from collections.abc import Iterable
from typing import TypeAlias

from edl.kube.cache.sorted_map import SortedMap
from edl.kube.cluster import Delta
from edl.kube.decode.object_facts import PodFacts
from edl.kube.tally import Tally
from edl.model import ForeignPods, PodConstraints, Selectors

_Alike: TypeAlias = tuple[str, int, int]
"""A pod's namespace, and the identities of its labels and shape, which pods of a template share."""
_Group: TypeAlias = tuple[str, PodConstraints]
"""A node, and the part of its pods that constraints count."""


class ForeignPodIndex:
    """Other owners' pods by node and constraints that selectors match, updated pod by pod."""

    def __init__(self, selectors: Selectors, ours: Iterable[str]) -> None:
        self._selectors = selectors
        self._ours = {*ours}
        """The uids of Jobs whose pods do not count."""
        self._pods: Tally[_Group] = Tally()
        self._leaving: Tally[_Group] = Tally()
        self._stale: set[_Group] = set()
        self._made: SortedMap[tuple[str, str], ForeignPods] = SortedMap()

    def add_pods(self, additions: Iterable[Delta[PodFacts]]) -> None:
        """Adds many pods; those of one template are matched once."""
        alike: dict[_Alike, PodConstraints | None] = {}
        for _, _, pod in additions:
            if pod and pod.holds_room and pod.job not in self._ours:
                key = (pod.namespace, id(pod.labels), id(pod.shape))
                if key not in alike:
                    alike[key] = _counted(pod, self._selectors)
                self._add(pod, alike[key], 1)

    def apply_pod(self, change: Delta[PodFacts]) -> None:
        for pod, sign in change.signed():
            if pod.holds_room and pod.job not in self._ours:
                self._add(pod, _counted(pod, self._selectors), sign)

    def set_owner(self, uid: str, pods: Iterable[PodFacts], *, ours: bool) -> None:
        """Sets whether a Job with these pods is ours."""
        if ours == (uid in self._ours):
            return
        self._ours ^= {uid}
        for pod in pods:
            if pod.holds_room:
                self._add(pod, _counted(pod, self._selectors), -1 if ours else 1)

    def _add(self, pod: PodFacts, constraints: PodConstraints | None, sign: int) -> None:
        if constraints is not None:
            group = (pod.node, constraints)
            self._pods.add(group, sign)
            self._leaving.add(group, sign * pod.leaving)
            self._stale.add(group)

    def values(self) -> tuple[ForeignPods, ...]:
        for group in self._stale:
            count, leaving = self._pods[group], self._leaving[group]
            pods = ForeignPods(*group, count, leaving) if count else None
            self._made.put((group[0], repr(group[1])), pods)
        self._stale.clear()
        return self._made.values()


def _counted(pod: PodFacts, asked: Selectors) -> PodConstraints | None:
    """The part of a pod that constraints can count; None if none counts it."""
    rules = pod.shape.constraints
    if rules and (rules.anti_affinity or rules.ports):
        return PodConstraints(
            pod.namespace, pod.labels, anti_affinity=rules.anti_affinity, ports=rules.ports
        )
    seen = asked.match(pod.namespace, pod.labels)
    return PodConstraints(pod.namespace, pod.labels) if seen else None
