"""Everything that one decision works on: the grid, the roles' seats, and the clock's reading."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from math import inf
from typing import Final, TypeAlias

import numpy as np

from edl.feasibility.eligibility import Eligibility
from edl.feasibility.gpu_shares import Horizon
from edl.model import (
    ClusterState,
    Demand,
    Domain,
    JobKey,
    ProvisionalPod,
    Shape,
    TrainingJob,
)
from edl.planner.limits import Autoscaler, Limits
from edl.planner.packing.domain_capacity import Domains, Ranking, domains
from edl.planner.packing.node_capacity import Grid, Ints
from edl.planner.packing.pod_class import Fit, Want
from edl.planner.policies import Policy
from edl.planner.snapshot.existing_placements import Rows, There
from edl.planner.snapshot.quota_balance import Budgets
from edl.planner.snapshot.role_allocation import Standing

_RANKED: Final = 2**20
"""Nodes that rankings remember together: some 50 MiB."""


@dataclass(slots=True)
class Board:
    """Mutable, and gone with the decision. `jobs` take part, in their total order."""

    state: ClusterState
    """What it was read from."""
    policy: Policy
    limits: Limits
    grid: Grid
    eligibility: Eligibility
    at: datetime = field(init=False)
    everyone: list[TrainingJob] = field(init=False)
    """Every training job, in the total order."""
    demands: list[Demand] = field(init=False)
    budgets: Budgets = field(init=False)
    there: There = field(init=False)
    jobs: list[TrainingJob] = field(default_factory=list)
    standings: list[Standing] = field(default_factory=list)
    restless: list[Standing] = field(default_factory=list)
    """Those of `standings` about which there is more to decide than who gets and who gives room."""
    rows: dict[Shape, Rows] = field(default_factory=dict)
    calm: float = inf
    """While replicas move for equal shares, only roles less satisfied than every giver grow.

    Others would have to give next; and the scheduler might put their pods where the giver's were.
    """
    finishing: bool = False
    """Whether anybody who runs is nearly finished."""
    wake: list[timedelta] = field(default_factory=list)
    """How long until time alone may change the plan."""
    totals: list[int] = field(init=False)
    """Of each resource of the grid, what all schedulable nodes have together."""
    bulks: dict[Fit, float] = field(default_factory=dict)
    _domains: dict[str, Domains] = field(default_factory=dict)
    _rankings: dict[tuple[str, tuple[Fit, ...], bool], Ranking] = field(default_factory=dict)
    _within: dict[tuple[Fit, str, int], Fit] = field(default_factory=dict)
    """Shapes that are kept to a domain: by label, and by the domain's number."""
    _ranked: int = 0
    """The nodes in all of `_rankings`."""
    _kept_to: dict[Fit, tuple[Domain, ...]] = field(default_factory=dict)
    _empty: Ints | None = None
    _jobs: dict[JobKey, TrainingJob] = field(default_factory=dict)
    _places: dict[JobKey, int] = field(default_factory=dict)
    _known: dict[int, Rows] = field(default_factory=dict)
    """`rows` by the identity of their shapes."""

    def __post_init__(self) -> None:
        self.at, self.demands = self.state.observed_at, list(self.state.demands)
        self.everyone = sorted(self.state.jobs, key=order)
        self.budgets, self.there = Budgets(self.state.budgets), There(self.grid.rows)
        self.totals = self.grid.allocatable[:, self.grid.open].sum(axis=1).tolist()

    @property
    def autoscaled(self) -> bool:
        """Whether something adds nodes for pods that find none."""
        told = self.limits.autoscaler
        return told is Autoscaler.PRESENT or (told is Autoscaler.DETECT and self.state.autoscaled)

    def free_provisional(self, pods: Iterable[ProvisionalPod], sign: int = 1) -> None:
        """The room that provisional pods hold is there for their training job; -1: no more."""
        for pod in pods:
            if (row := self.grid.rows.get(pod.node)) is not None:
                self.grid.add(row, self.grid.need(pod.requests), sign)

    def rows_of(self, shape: Shape) -> Rows:
        known = self._known.get(id(shape))
        if known is not None and known.fit.shape is shape:
            return known
        found = self.rows.get(shape)
        if found is None:
            found = Rows(Fit(self.grid, shape, self.eligibility.mask(shape)), self.there)
            self.rows[shape] = found
        if found.fit.shape is shape:
            self._known[id(shape)] = found
        return found

    def domains(self, label: str) -> Domains:
        """The nodes by the value of a label."""
        found = self._domains.get(label)
        if found is None:
            found = self._domains[label] = domains(label, self.eligibility.values(label))
        return found

    def ranking(self, label: str, wants: Sequence[Want], *, now: bool) -> Ranking:
        """The domains by the room that is idle now, or that will be soon, promised to no pod."""
        fits = tuple(want.fit for want in wants)
        found = self._rankings.get((label, fits, now))
        if found is None:
            room = self.grid.idle if now else self.grid.free_soon
            horizon = Horizon.IDLE if now else Horizon.FUTURE_IDLE
            found = Ranking(self.domains(label), fits, room, horizon, self.grid.touched)
            if all(fit.is_plain for fit in fits):  # else what fits depends on more than its node
                self._ranked += found.size
                if self._ranked > _RANKED:
                    self._rankings.clear()
                    self._ranked = found.size
                self._rankings[label, fits, now] = found
        return found

    def within(self, fit: Fit, label: str, number: int) -> Fit:
        """The same shape on the nodes of one domain."""
        key = (fit, label, number)
        found = self._within.get(key)
        if found is None:
            domains = self.domains(label)
            found = self._within[key] = fit.within(domains.mask(number))
            self._kept_to[found] = (*self.kept_to(fit), Domain(label, domains.values[number]))
        return found

    def kept_to(self, fit: Fit) -> tuple[Domain, ...]:
        """The domains on whose nodes a shape is, by `within`."""
        return self._kept_to.get(fit, ())

    def share(self, standing: Standing, more: int = 0) -> float:
        """How satisfied the policy finds this role, with `more` replicas."""
        return self.policy.share(standing, len(standing.seats) + more)

    def bulk(self, fit: Fit) -> float:
        """The part of the schedulable nodes' room that one pod takes, averaged over resources."""
        found = self.bulks.get(fit)
        if found is None:
            parts = ((amount, self.totals[line]) for line, amount in fit.need)
            found = sum(amount / total for amount, total in parts if total) / len(self.totals)
            self.bulks[fit] = found
        return found

    def past(self, since: datetime | None, wait: timedelta) -> bool:
        """Whether `wait` is over. If it is not, the plan is looked at again when it is."""
        if since is None:
            return False
        left = wait - (self.at - since)
        if left <= timedelta():
            return True
        self.wake.append(left)
        return False

    def place_of(self, key: JobKey) -> int:
        """A job's place in the total order."""
        if not self._places:
            self._places = {job.key: place for place, job in enumerate(self.everyone)}
        return self._places[key]

    def job_of(self, key: JobKey) -> TrainingJob | None:
        if not self._jobs:
            self._jobs = {job.key: job for job in self.everyone}
        return self._jobs.get(key)

    def ours_gone(self) -> Ints:
        """The room if none of our training jobs ran; int64[resources, nodes]."""
        if self._empty is None:
            self._empty = self.grid.before + self._held()
        return self._empty

    def _held(self) -> Ints:
        """What the pods of our training jobs hold; int64[resources, nodes]."""
        rows: defaultdict[Fit, list[int]] = defaultdict(list)
        for job in self.everyone:
            for role, home in zip(job.roles, job.homes, strict=True):
                names = home or (pod.node for pod in role.pods if pod.node and not pod.ended)
                found = rows[self.rows_of(role.shape).fit]
                found.extend(self.there[name].row for name in names)
        return self._summed(rows)

    def free_surplus(self) -> None:
        """Pods that are on their way out free their room soon."""
        leaving = {rows.fit: rows.surplus for rows in self.rows.values() if rows.surplus}
        if leaving:
            self.grid.soon += self._summed(leaving)
            self._rankings.clear()
        self.grid.count_idle()
        for fit, rows in leaving.items():
            fit.leave(rows)

    def _summed(self, rows: Mapping[Fit, Sequence[int]]) -> Ints:
        """What pods of these shapes take on these nodes; int64[resources, nodes]."""
        room = np.zeros_like(self.grid.before)
        for fit, found in rows.items():
            there = np.array(found, dtype=np.int64)
            counts = np.bincount(there[there >= 0], minlength=len(self.grid.rows))
            for line, amount in fit.need:
                room[line] += counts * amount
        return room


Order: TypeAlias = tuple[int, datetime, JobKey]


def order(job: TrainingJob) -> Order:
    """The total order: priority, then first come first served."""
    return (-job.priority, job.queued_at, job.key)
