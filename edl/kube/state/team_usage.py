"""The team of each namespace, and the usage of pods that belong to no training job, by team."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from edl.kube.dra.claim_resolution import DeviceView, resolve
from edl.kube.tally import Tally
from edl.model import JobKey
from edl.model.teams import DEFAULT_TEAM, Teams
from edl.quantities import Resources

if TYPE_CHECKING:
    from edl.kube.cluster import Delta
    from edl.kube.decode.job_facts import JobFacts
    from edl.kube.decode.object_facts import NamespaceFacts, PodFacts
    from edl.model import Labels, Shape

_Owner: TypeAlias = tuple[str, str]
"""A namespace, and the uid of the Job that owns its pods there; "" without one."""


class NamespaceTeams:
    """The team of each namespace, recomputed only if its labels or the teams change."""

    def __init__(self) -> None:
        self._teams = Teams()
        self._labels: dict[str, Labels] = {}
        self._stale: set[str] = set()
        self._found: dict[str, str] = {}

    def apply_namespace(self, change: "Delta[NamespaceFacts]") -> None:
        name = change.key.name
        if change.after:
            self._labels[name] = change.after.labels
        else:
            self._labels.pop(name, None)
        self._stale.add(name)

    def of(self, teams: Teams) -> Mapping[str, str] | None:
        """Teams by namespace; None if none are configured. Equal results are the same object."""
        if not teams:
            self._teams, self._stale = teams, set()
            return None
        stale = self._stale if teams == self._teams else self._labels.keys() | self._found.keys()
        self._teams, self._stale = teams, set()
        changed = {
            name: teams.team_of(name, dict(self._labels[name])) if name in self._labels else None
            for name in stale
        }
        if any(self._found.get(name) != team for name, team in changed.items()):
            entries = (self._found | changed).items()
            self._found = {name: team for name, team in entries if team is not None}
        return self._found


@dataclass(slots=True)
class _Held:
    """Usage of one owner's pods in one namespace; integers, so that removals are exact."""

    pods: int = 0
    amounts: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    claiming: Tally["Shape"] = field(default_factory=Tally)
    """By shape, the number of pods with ResourceClaims."""

    def add(self, pod: "PodFacts", sign: int) -> None:
        self.pods += sign
        if pod.shape.claims:
            self.claiming.add(pod.shape, sign)
        else:
            for name, amount in pod.shape.requests.items:
                self.amounts[name] += sign * amount

    def total(self, view: DeviceView | None) -> Mapping[str, int]:
        total = Counter(self.amounts)
        for shape, pods in self.claiming.items():
            for name, amount in resolve(shape, view, 1).shape.counted.items:
                total[name] += amount * pods
        return total


@dataclass(slots=True)
class _TeamTotal:
    owners: int = 0
    amounts: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))

    def add(self, amounts: Mapping[str, int], sign: int) -> None:
        self.owners += sign
        for name, amount in amounts.items():
            self.amounts[name] += sign * amount


class TeamUsageIndex:
    """Usage by owner and by team, updated pod by pod. Terminating pods do not count."""

    def __init__(self) -> None:
        self._held: dict[_Owner, _Held] = {}
        self._claiming: set[_Owner] = set()
        """Owners whose usage depends on devices."""
        self._stale: set[_Owner] = set()
        """Owners whose usage differs from the one that their team's total includes."""
        self._teams: Mapping[str, str] | None = None
        self._view: DeviceView | None = None
        self._counted: dict[_Owner, tuple[str, Mapping[str, int]]] = {}
        """The team and usage of each owner in the totals."""
        self._totals: defaultdict[str, _TeamTotal] = defaultdict(_TeamTotal)
        self._made: dict[str, Resources] = {}

    def apply_job(self, change: "Delta[JobFacts]") -> None:
        for job in (change.before, change.after):
            if job:
                self._stale.add((job.key.namespace, job.uid))

    def count_pod(self, pod: "PodFacts", sign: int) -> None:
        """Adds a pod that holds room, or subtracts it if `sign` is -1."""
        if pod.leaving:
            return
        key = (pod.namespace, pod.job)
        held = self._held.get(key)
        if held is None:
            held = self._held[key] = _Held()
        held.add(pod, sign)
        if pod.shape.claims:
            self._claiming.add(key)
        if not held.pods:
            del self._held[key]
            self._claiming.discard(key)
        self._stale.add(key)

    def by_team(
        self, teams: Mapping[str, str] | None, ours: Mapping[str, JobKey], view: DeviceView | None
    ) -> Mapping[str, Resources]:
        """Usage by team of pods that no Job of `ours` owns; `teams` by namespace, `ours` by uid.

        Empty while no teams are configured. An owner counts only in the pod's own namespace, since
        a pod may carry any owner's uid.
        """
        if teams is not self._teams:
            self._teams = teams
            self._counted, self._made = {}, {}
            self._totals.clear()
            self._stale = {*self._held}
        if view is not self._view:
            self._view = view
            self._stale |= self._claiming
        if teams is not None:
            self._count(teams, ours)
        self._stale = set()
        return self._made

    def _count(self, teams: Mapping[str, str], ours: Mapping[str, JobKey]) -> None:
        touched = set()
        for key in self._stale:
            if key in self._counted:
                team, amounts = self._counted.pop(key)
                self._totals[team].add(amounts, -1)
                touched.add(team)
            namespace, uid = key
            if key in self._held and not (uid in ours and ours[uid].namespace == namespace):
                team = teams.get(namespace, DEFAULT_TEAM)
                amounts = self._held[key].total(self._view)
                self._totals[team].add(amounts, 1)
                self._counted[key] = team, amounts
                touched.add(team)
        usage = {team: Resources.of(self._totals[team].amounts) for team in touched}
        if any(
            self._totals[team].owners == 0 or usage[team] != self._made.get(team)
            for team in touched
        ):
            usages = sorted((self._made | usage).items())
            self._made = {team: used for team, used in usages if self._totals[team].owners}
