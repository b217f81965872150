"""Pending pods of other owners, grouped by their requests and updated pod by pod.

A pod counts only once its PersistentVolumeClaims exist: before, no capacity would help it.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from edl.contract.pod_limits import PodCount
from edl.kube.cluster import Delta, ObjectKey
from edl.kube.decode.object_facts import PodFacts
from edl.kube.dra.claim_resolution import DeviceView, resolve
from edl.kube.state.jobs.rule_limit import UNREAD, within_limit
from edl.model import DEFAULT_TEAM, CaveatCode, Demand, PodConstraints, Selectors, Shape


class _DemandKey(NamedTuple):
    shape: Shape
    priority: int
    preempts: bool
    scheduler: str
    namespace: str
    excess: PodCount | None = None

    @classmethod
    def of(cls, pod: PodFacts, repelling: Selectors) -> "_DemandKey":
        """Pods with too many rules are only named: nothing is compared with what they request."""
        shape = UNREAD if pod.excess else _labelled(pod, repelling)
        return cls(shape, pod.priority, pod.preempts, pod.scheduler, pod.namespace, pod.excess)


def _labelled(pod: PodFacts, repelling: Selectors) -> Shape:
    """The pod's shape, with its labels if a selector matches them."""
    if pod.shape.constraints or not repelling.match(pod.namespace, pod.labels):
        return pod.shape
    return replace(pod.shape, constraints=PodConstraints(pod.namespace, pod.labels))


class PendingDemands:
    """Demands by `_DemandKey`; adding a pod twice has no effect."""

    def __init__(self) -> None:
        self._groups: dict[_DemandKey, set[str]] = {}
        """The names of pods with equal requests."""
        self._pods: dict[str, PodFacts] = {}
        """The pods of the groups, by name."""
        self._repelling = Selectors(())
        """The selectors of anti-affinity: the groups of pods that they match have labels."""
        self._made: tuple[Demand, ...] | None = ()
        self._claims: set[ObjectKey] = set()
        self._claims_read = False
        """Whether claims have been listed, so that a missing one is known to be missing."""
        self._devices: DeviceView | None = None
        self._teams: Mapping[str, str] | None = None
        self._naming: dict[ObjectKey, dict[str, PodFacts]] = {}
        """By claim, the pods that name it."""

    def apply_claims(self, changes: Sequence[Delta[ObjectKey]], *, read: bool) -> bool:
        """Add and remove PersistentVolumeClaims; `read`: all have been listed.

        Returns whether `read` has changed.
        """
        touched = {change.key for change in changes}
        for change in changes:
            (self._claims.add if change.after else self._claims.discard)(change.key)
        before, self._claims_read = self._claims_read, read
        if read != before:
            touched = set(self._naming)
        for claim in touched:
            for pod in self._naming.get(claim, {}).values():
                self._judge(pod)
        return read != before

    def missing(self, claims: Iterable[ObjectKey]) -> list[ObjectKey]:
        """Those of these claims with which no pod can be placed, sorted; none before a listing."""
        return sorted(set(claims) - self._claims) if self._claims_read else []

    def set_devices(self, view: DeviceView | None) -> None:
        """Set the devices by which ResourceClaims of pods are resolved."""
        self._devices = view
        self._made = None

    def set_teams(self, teams: Mapping[str, str] | None) -> None:
        """Set the teams by namespace; None if no teams are configured."""
        if teams is not self._teams:
            self._teams = teams
            self._made = None

    def set_repelling(self, selectors: Selectors) -> None:
        """Set the selectors of all anti-affinity, and group the pods by them."""
        if selectors is self._repelling:
            return
        pods = [*self._pods.values()] if selectors or self._repelling else []
        for pod in pods:
            self._leave(pod)
        self._repelling = selectors
        for pod in pods:
            self._add(pod)

    def add(self, pod: PodFacts) -> None:
        for claim in pod.claims:
            self._naming.setdefault(claim, {})[_example(pod)] = pod
        self._judge(pod)

    def drop(self, pod: PodFacts) -> None:
        for claim in pod.claims:
            pods = self._naming.get(claim, {})
            pods.pop(_example(pod), None)
            if not pods:
                self._naming.pop(claim, None)
        self._leave(pod)

    def _judge(self, pod: PodFacts) -> None:
        if self._claims_read and not self._claims.issuperset(pod.claims):
            self._leave(pod)
        else:
            self._add(pod)

    def _add(self, pod: PodFacts) -> None:
        key, name = _DemandKey.of(pod, self._repelling), _example(pod)
        self._groups.setdefault(key, set()).add(name)
        self._pods[name] = pod
        self._made = None

    def _leave(self, pod: PodFacts) -> None:
        key, name = _DemandKey.of(pod, self._repelling), _example(pod)
        self._pods.pop(name, None)
        if names := self._groups.get(key):
            names.discard(name)
            self._made = None
            if not names:
                del self._groups[key]

    def values(self) -> tuple[Demand, ...]:
        if self._made is None:
            demands = sorted(self._demands(), key=lambda demand: (-demand.priority, demand.example))
            self._made = within_limit(demands)
        return self._made

    def _demands(self) -> Iterator[Demand]:
        groups_of: defaultdict[_DemandKey, list[set[str]]] = defaultdict(list)
        for key, pods in self._groups.items():
            team = "" if self._teams is None else self._teams.get(key.namespace, DEFAULT_TEAM)
            groups_of[key._replace(namespace=team)].append(pods)
        for (shape, priority, preempts, scheduler, team, excess), groups in groups_of.items():
            count = sum(map(len, groups))
            first, *others = sorted(map(min, groups))
            names = (first, team, tuple(others))
            demand = Demand(shape, priority, count, *names, preempts, scheduler, excess)
            yield from _asked(demand, self._devices)


def _asked(demand: Demand, devices: DeviceView | None) -> Iterator[Demand]:
    """The demand with its claims resolved to devices; nothing if no node can satisfy them.

    Pods that share a claim share its devices, so only one of them requests these.
    """
    resolved = resolve(demand.shape, devices, demand.count)
    if resolved.problems:
        return
    shared = any(caveat.code is CaveatCode.SHARED for caveat in resolved.caveats)
    if not shared:
        yield replace(demand, shape=resolved.shape)
        return
    first = resolve(demand.shape, devices, 1)
    yield replace(demand, shape=first.shape, count=1)
    yield replace(demand, shape=resolved.shape, count=demand.count - 1)


def _example(pod: PodFacts) -> str:
    """The name under which a pending pod is shown to users."""
    return f"{pod.namespace}/{pod.name}"
