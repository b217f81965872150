"""The team of each namespace, and the usage of pods that belong to no training job, by team."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from edl.kube.dra.claim_resolution import DeviceView, resolve
from edl.model import JobKey
from edl.model.teams import DEFAULT_TEAM, Teams
from edl.quantities import Resources

if TYPE_CHECKING:
    from edl.kube.cluster import Delta
    from edl.kube.decode.object_facts import NamespaceFacts, PodFacts
    from edl.model import Shape


class NamespaceTeams:
    """The team of each namespace, recomputed only if its labels or the teams change."""

    def __init__(self) -> None:
        self._teams = Teams()
        self._known: dict[tuple[str, tuple[tuple[str, str], ...]], str] = {}
        self._found: dict[str, str] = {}

    def of(self, teams: Teams, namespaces: Iterable["NamespaceFacts"]) -> Mapping[str, str] | None:
        """Teams by namespace; None if none are configured. Equal results are the same object."""
        if not teams:
            return None
        known = self._known if teams == self._teams else {}
        self._teams = teams
        keys = [(one.name, one.labels) for one in namespaces]
        self._known = {
            (name, labels): known.get((name, labels)) or teams.team_of(name, dict(labels))
            for name, labels in keys
        }
        found = {name: team for (name, _), team in self._known.items()}
        if found != self._found:
            self._found = found
        return self._found


@dataclass(slots=True)
class _Held:
    """Usage of one owner's pods in one namespace; integers, so that removals are exact."""

    namespace: str
    pods: int = 0
    amounts: Counter[str] = field(default_factory=Counter)
    claiming: Counter["Shape"] = field(default_factory=Counter)
    """By shape, the number of pods with ResourceClaims."""

    def add(self, pod: "PodFacts", sign: int) -> None:
        self.pods += sign
        if pod.shape.claims:
            self.claiming[pod.shape] += sign
        else:
            for name, amount in pod.shape.requests.items:
                self.amounts[name] += sign * amount

    def into(self, total: dict[str, int], view: DeviceView | None) -> None:
        for name, amount in self.amounts.items():
            total[name] += amount
        for shape, pods in self.claiming.items():
            for name, amount in resolve(shape, view, 1).shape.requests.items if pods else ():
                total[name] += amount * pods


class TeamUsageIndex:
    """Usage by owner, updated pod by pod. Terminating pods do not count."""

    def __init__(self) -> None:
        self._held: dict[tuple[str, str], _Held] = {}
        """By namespace and the uid of the owning Job, "" without one."""

    def pod(self, change: "Delta[PodFacts]") -> None:
        for pod, sign in change.signed():
            if pod.holds_room and not pod.leaving:
                self._add(pod, sign)

    def _add(self, pod: "PodFacts", sign: int) -> None:
        key = (pod.namespace, pod.job)
        held = self._held.get(key)
        if held is None:
            held = self._held[key] = _Held(pod.namespace)
        held.add(pod, sign)
        if not held.pods:
            del self._held[key]

    def by_team(
        self, teams: Mapping[str, str] | None, ours: Mapping[str, JobKey], view: DeviceView | None
    ) -> Mapping[str, Resources]:
        """Usage by team of pods that no Job of `ours` owns; `teams` by namespace, `ours` by uid.

        An owner counts only in the pod's own namespace, since a pod may carry any owner's uid.
        """
        if teams is None:
            return {}
        found: defaultdict[str, defaultdict[str, int]] = defaultdict(lambda: defaultdict(int))
        for (namespace, uid), held in self._held.items():
            owner = ours.get(uid)
            if owner is None or owner.namespace != namespace:
                held.into(found[teams.get(namespace, DEFAULT_TEAM)], view)
        return {name: Resources.of(total) for name, total in sorted(found.items())}
