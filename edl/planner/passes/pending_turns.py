"""Ungated pods wait a moment while they might take room that the plan has for others.

kube-scheduler puts ungated pods wherever there is room. It knows neither of claims, whose pods do
not exist, nor of the nodes that gated pods are about to be given; and of several shapes, small pods
may take the nodes that a large one needs. What starts goes before what grows.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from edl import reasons
from edl.feasibility.gpu_shares import Horizon
from edl.model import JobKey
from edl.planner.packing.pod_class import Fit, Want
from edl.planner.passes.admission.precedence import Precedence, most_kept_off
from edl.planner.passes.quiet_period import moments
from edl.planner.snapshot import last_resizes
from edl.planner.snapshot.board import Board
from edl.planner.snapshot.decisions import Ledger, Promise
from edl.planner.snapshot.role_allocation import NOWHERE, Standing


@dataclass(slots=True)
class Turns:
    """Goes through a plan's starts and growth, after every replica has its seat."""

    board: Board
    ledger: Ledger
    _ahead: Counter[Fit] = field(default_factory=Counter)
    """Ungated pods that kube-scheduler places meanwhile."""
    _capacity: dict[Fit, int] = field(default_factory=dict)
    _costs: dict[tuple[Fit, Fit], int] = field(default_factory=dict)
    _postponed: list[Promise] = field(default_factory=list)
    """Starts that wait, with the room that stays taken for them."""

    def run(self) -> None:
        growing = _growing(self.board)
        starts = [
            (number, key, standings)
            for number, (key, (_, standings)) in enumerate(self.ledger.admitted.items())
            if not all(one.role.gated for one in standings)
        ]
        if not (growing or starts):
            return
        self._ahead, gated = on_their_way(self.board), without_nodes(self.board)
        self._start(starts, gated)
        self._grow(growing, gated)

    def _start(
        self, starts: Sequence[tuple[int, JobKey, list[Standing]]], gated: Counter[Fit]
    ) -> None:
        # Without preemption it costs a claim time, but nobody what was done already.
        claims = self.ledger.promises if self.board.limits.preempt else []
        kept = Precedence(self.board, [*claims], gated, self._cost)
        for number, key, standings in starts:
            pods: Counter[Fit] = Counter()
            for one in standings:
                pods[one.fit] += one.lasting
            if kept.hinders(number, pods, self._ahead) or (self._ahead and self._collides(pods)):
                self._postpone(key, standings, number)
            else:
                self._ahead += pods

    def _grow(self, growing: Sequence[Standing], gated: Counter[Fit]) -> None:
        if not growing:
            return
        claims = self.ledger.promises if _is_on_its_way(self.board, self.ledger) else []
        promises = [one._replace(number=0) for one in (*claims, *self._postponed)]
        kept = Precedence(self.board, promises, gated, self._cost)
        refused: dict[Fit, int] = {}
        """The fewest pods of a shape that wait: pods only come, so as many more will wait, too."""
        for one in self._in_turn(growing):
            pods = Counter({one.fit: one.coming})
            waits = one.coming >= refused.get(one.fit, one.coming + 1)
            if waits or kept.hinders(0, pods, self._ahead) or self._collides(pods):
                refused[one.fit] = min(one.coming, refused.get(one.fit, one.coming))
                hold_back(self.board, one)
            else:
                self._ahead += pods

    def _in_turn(self, growing: Sequence[Standing]) -> list[Standing]:
        """Pods that find room beside all others wait for those that may not.

        Of these the least satisfied role comes first, to which others would give replicas in the
        next plan. A role that gave a replica a moment ago comes after the roles for which it gave.
        """
        policy, together = self.board.policy, self._ahead.copy()
        for one in growing:
            together[one.fit] += one.coming
        scarce = {fit for fit in together if self._may_stay_pending(fit, together)}

        def turn(one: Standing) -> tuple[bool, bool, float, float, int]:
            gave = last_resizes.balanced(policy.gives, one.role)
            share = policy.share(one, one.lasting - one.beyond)
            return gave, one.fit not in scarce, share, -one.bulk, one.rank

        return sorted(growing, key=turn)

    def _collides(self, pods: Counter[Fit]) -> bool:
        """Whether these, or pods ahead of them, may find no node if all come together."""
        after = self._ahead + pods
        met = (fit for fit in after if any(self._cost(fit, other) for other in pods))
        return any(self._may_stay_pending(fit, after) for fit in met)

    def _may_stay_pending(self, fit: Fit, coming: Counter[Fit]) -> bool:
        others = ((other, pods) for other, pods in coming.items() if other is not fit)
        harm = sum(pods * self._cost(fit, other) for other, pods in others)
        return harm > 0 and self._room(fit) - harm < coming[fit]

    def _room(self, fit: Fit) -> int:
        """How many pods of a shape find a node, if no others come."""
        if fit not in self._capacity:
            room = fit.by_room(self.board.grid.before, Horizon.OBSERVED)
            self._capacity[fit] = int(room.sum())
        return self._capacity[fit]

    def _cost(self, fit: Fit, other: Fit) -> int:
        """How many pods of a shape one pod of another may keep from a node at most."""
        pair = (fit, other)
        if pair not in self._costs:
            meet = fit is other or bool((fit.eligible & other.eligible).any())
            self._costs[pair] = most_kept_off(fit, other) if meet else 0
        return self._costs[pair]

    def _postpone(self, key: JobKey, standings: Sequence[Standing], number: int) -> None:
        """Its room stays taken: what this plan gave of it to others would be in its way."""
        del self.ledger.admitted[key]
        rows = [[seat.row for seat in one.seats if seat.now] for one in standings]
        wants = [Want(one.fit, one.lasting) for one in standings]
        self._postponed.append(Promise(wants, rows, number))
        self.board.standings = [one for one in self.board.standings if one not in standings]
        self.board.wake.append(self.board.limits.pending_limit)
        self.ledger.wait(key, reasons.PLACED_FIRST)
        self.ledger.queue.sort(key=self.board.place_of)


def _growing(board: Board) -> list[Standing]:
    """Ungated roles that run, and get more than their minimum now."""
    return [
        one
        for one in board.standings
        if one.moved
        and one.grows
        and not (one.starts or one.role.gated)
        # One restart for all of a growth, once its room is free: until then no pod comes.
        and one.after > one.role.size
    ]


def hold_back(board: Board, standing: Standing) -> None:
    """Keep the room of its extras for it, until those have their nodes who come first."""
    standing.held = standing.held or reasons.PLACED_FIRST
    standing.postpone(board.grid, standing.beyond)


def on_their_way(board: Board) -> Counter[Fit]:
    """Pods that kube-scheduler has yet to place; those that wait for long wait for room."""
    limit = board.limits.pending_limit
    coming: Counter[Fit] = Counter()
    for one in board.restless:
        if not one.role.gated:
            waiting = (found.since for found in one.unbound)
            coming[one.fit] += sum(1 for since in waiting if since and not board.past(since, limit))
    return +coming


def without_nodes(board: Board) -> Counter[Fit]:
    """Gated pods that come, or have yet to be bound."""
    found: Counter[Fit] = Counter()
    for one in board.standings:
        if one.role.gated and (one.starts or one.unbound):
            found[one.fit] += sum(seat.now and seat.row != NOWHERE for seat in one.seats)
    return +found


def _is_on_its_way(board: Board, ledger: Ledger) -> bool:
    """Whether some role makes room, or did so a while ago: some pods never leave."""
    if ledger.suspended or any(one.reason for one in board.standings):
        return True
    last = max(moments(board), default=None)
    return last is not None and not board.past(last, board.limits.queue_patience)
