"""What kube-scheduler will make of a plan's starts: it looks at pod after pod, not at gangs.

Pods of one shape find their places in whatever order they come. Of several shapes, small ones may
take the nodes that a large one needs. So starts are rehearsed, in several orders and with several
preferences of a scheduler: spread over the emptiest nodes, or packed on the fullest. A gang whose
minimum might be left half placed starts without extras; or a moment later, when the pods that come
before it have their nodes; or, where nobody comes before it, kept to the nodes of the plan.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import islice, permutations, product
from typing import Final

import numpy as np

from edl import reasons
from edl.feasibility.devices import Horizon
from edl.feasibility.eligibility import Mask
from edl.model import JobKey
from edl.planner import last_reasons
from edl.planner.board import Board
from edl.planner.fit import Fit, Want
from edl.planner.holding import (
    growing,
    hold_back,
    leave_clear,
    let_claims_go_first,
    let_larger_pods_go_first,
    let_restarts_go_first,
)
from edl.planner.ledger import Ledger, Promise
from edl.planner.precedence import Precedence
from edl.planner.stages import TASTES, Party, Stage, avoid_each_other, most_kept_off
from edl.planner.standing import Standing

_MOST: Final = 400
"""More pods than that are not rehearsed one by one."""
_ORDERS: Final = 6
"""In which a gang's shapes may come."""


@dataclass(slots=True)
class Rehearsal:
    """Goes through the starts of a plan, after everybody has his seats."""

    board: Board
    ledger: Ledger
    _ahead: Counter[Fit] = field(default_factory=Counter)
    """Pods that come before."""
    _hurt: dict[Fit, int] = field(default_factory=dict)
    """How many pods of a shape those may cost at most, wherever they are placed."""
    _capacity: dict[Fit, int] = field(default_factory=dict)
    _costs: dict[tuple[Fit, Fit], int] = field(default_factory=dict)
    _stages: list[Stage] = field(default_factory=list)
    _postponed: set[Standing] = field(default_factory=set)
    _growing: list[Standing] = field(default_factory=list)
    """Roles that run and get more than their minimum now."""
    _waiting: list[Promise] = field(default_factory=list)
    """Starts that wait a moment, with the room that stays taken for them."""

    def run(self) -> None:
        let_restarts_go_first(self.board, self.ledger)
        let_claims_go_first(self.board, self.ledger, self._cost)
        let_larger_pods_go_first(self.board, self._cost)
        if not self.ledger.admitted:
            return
        self._growing = growing(self.board)
        for standing in self.board.standings:
            if not standing.starts and (coming := self._coming(standing)):
                self._come(standing.fit, coming)
        # Elsewhere it costs a claim time, but nobody what he has done.
        preempts = self.board.limits.preempt
        precedence = Precedence(self.board, self.ledger.promises, self._cost) if preempts else None
        for number, (key, (_, standings)) in enumerate(list(self.ledger.admitted.items())):
            late = precedence and precedence.hinders(number, _pods(standings), self._ahead)
            if late or not (self._start(standings) or self._starts_before_growth(standings)):
                self._postpone(key, standings, number)
        self._leave_out(self._postponed)
        leave_clear(self.board, self._waiting, self._cost)
        self.ledger.queue.sort(key=self.board.place_of)

    def _starts_before_growth(self, standings: Sequence[Standing]) -> bool:
        """Whether it starts when some wait for it who would only grow; the last ones first."""
        again = any(last_reasons.gang_pending(found.role) for found in standings)
        back: list[Standing] = []
        for one in reversed(self._growing):
            if any(self._cost(found.fit, one.fit) for found in standings):
                self._come(one.fit, -one.beyond)
                back.append(one)
            if back and not again and self._roomy(_parties(standings)):
                break
        if back and self._start(standings):
            for one in back:
                hold_back(self.board, one)
            self._growing = [one for one in self._growing if one.grows]
            return True
        for one in back:
            self._come(one.fit, one.beyond)
        return False

    def _coming(self, standing: Standing) -> int:
        """Pods of a running job that have no node yet, or that this plan adds.

        Those that have waited for long wait for room, not for their turn.
        """
        limit = self.board.limits.pending_limit
        waiting = sum(
            since is not None and not self.board.past(since, limit) for _, since in standing.unbound
        )
        # One restart for all of a growth, once its room is free: until then nobody comes.
        waits = standing.restarts and standing.after <= standing.role.size
        return waiting if waits else waiting + standing.coming

    def _start(self, standings: Sequence[Standing]) -> bool:
        """Whether it starts in this plan."""
        for found in standings:
            self._know(found.fit)
        again = any(last_reasons.gang_pending(found.role) for found in standings)
        avoid = avoid_each_other([found.fit for found in standings])
        if again or avoid or not self._roomy(_parties(standings)):
            if any(self._hurt[found.fit] > 0 for found in standings):
                self.board.wake.append(self.board.limits.pending_limit)
                return False
            self._settle(standings, again=again, avoid=avoid)
        for found in standings:
            self._come(found.fit, found.lasting)
        return True

    def _settle(self, standings: Sequence[Standing], *, again: bool, avoid: bool) -> None:
        """Start it so that all of its minimum finds a place; `again`: it did not the last time.

        `avoid`: its roles avoid each other, which no stage knows.
        """
        if not (again or avoid) and self._goes_well(_parties(standings)):
            return
        if not again:
            self._without_extras(standings)
            if not avoid and self._goes_well(_parties(standings)):
                return
        if not self._pin(standings, _choices(standings, again=again)):
            self._leader(standings).leads = True

    def _leader(self, standings: Sequence[Standing]) -> Standing:
        """Pods of one role find places in whatever order they come; then the next role starts."""
        for first in standings:
            parties = _parties([first, *(one for one in standings if one is not first)])
            stages = (begun.copy() for begun in self._begun())
            if all(stage.takes(party) for stage in stages for party in parties):
                return first
        return standings[0]

    def _pin(self, standings: Sequence[Standing], choices: Iterable[list[Standing]]) -> bool:
        """Keep some of its roles to nodes, the first of the choices that is enough, if any is."""
        ways = ((kept, one) for kept in choices if kept for one in self._seatings(standings))
        for kept, seating in ways:
            masks = [self._mask(seating[found]) if found in kept else None for found in standings]
            parties = [
                Party(found.fit, found.lasting, mask)
                for found, mask in zip(standings, masks, strict=True)
            ]
            if self._goes_well(parties):
                self._move(standings, seating)
                for found in kept:
                    found.pinned = True
                return True
        return False

    def _seatings(self, standings: Sequence[Standing]) -> Iterator[dict[Standing, list[int]]]:
        """Ways to place a gang: as planned, then no two roles on one node, then as they come."""
        yield {found: _rows_now(found) for found in standings}
        if any(found.fit.packing or found.fit.binding for found in standings):
            return  # a stage knows sums only: neither devices nor who may be beside whom
        ways = product((True, False), islice(permutations(standings), _ORDERS), self._begun())
        for apart, order, begun in ways:
            stage, free, seating = begun.copy(), np.ones(len(self.board.grid.rows), np.bool_), {}
            for found in order:
                seating[found] = stage.rows(Party(found.fit, found.lasting, free.copy()))
                if apart:
                    free[seating[found]] = False
            if all(len(seating[found]) == found.lasting for found in standings):
                yield seating

    def _mask(self, rows: Sequence[int]) -> Mask:
        found: Mask = np.zeros(len(self.board.grid.rows), dtype=np.bool_)
        found[rows] = True
        return found

    def _move(self, standings: Sequence[Standing], seating: Mapping[Standing, list[int]]) -> None:
        grid = self.board.grid
        moved = [found for found in standings if _rows_now(found) != seating[found]]
        for found in moved:
            while found.seats:
                found.rise(grid)
        for found in moved:
            for row in seating[found]:
                found.sit(grid, row, now=True)

    def _come(self, fit: Fit, pods: int) -> None:
        self._ahead[fit] += pods
        for known in self._capacity:
            self._hurt[known] += pods * self._cost(known, fit)

    def _roomy(self, parties: Sequence[Party]) -> bool:
        """Whether so much room is there that no order could do harm."""
        for one in parties:
            others = sum(
                other.pods * self._cost(one.fit, other.fit) for other in parties if other != one
            )
            if self._capacity[one.fit] - self._hurt[one.fit] - others < one.pods:
                return False
        return True

    def _know(self, fit: Fit) -> None:
        """How many pods of a shape there is room for, and what those before it may take of that."""
        if fit not in self._capacity:
            self._capacity[fit] = int(fit.by_room(self.board.grid.before, Horizon.OBSERVED).sum())
            self._hurt[fit] = sum(
                pods * self._cost(fit, other) for other, pods in self._ahead.items()
            )

    def _cost(self, fit: Fit, other: Fit) -> int:
        """How many pods of a shape one pod of another may keep from a node at most."""
        pair = (fit, other)
        if pair not in self._costs:
            meet = fit is other or bool((fit.eligible & other.eligible).any())
            self._costs[pair] = most_kept_off(fit, other) if meet else 0
        return self._costs[pair]

    def _goes_well(self, parties: Sequence[Party]) -> bool:
        """Whether all find a place, whatever order they come in and the scheduler prefers."""
        if sum(party.pods for party in parties) > _MOST:
            return False
        orders = islice(permutations(parties), _ORDERS)
        return all(
            all(stage.takes(party) for party in order)
            for begun, order in product(self._begun(), orders)
            for stage in [begun.copy()]
        )

    def _begun(self) -> list[Stage]:
        """Others' pods that wait are there before all that starts."""
        if not self._stages:
            total = self.board.grid.allocatable
            self._stages = [
                Stage(self.board.grid.before, total, taste, near=near) for taste, near in TASTES
            ]
            for stage, demand in product(self._stages, self.board.demands):
                stage.takes(Party(self.board.rows_of(demand.shape).fit, min(demand.count, _MOST)))
        return self._stages

    def _without_extras(self, standings: Iterable[Standing]) -> None:
        """They come with the next plan, one by one."""
        for standing in standings:
            while standing.size > standing.floor:
                standing.rise(self.board.grid)

    def _leave_out(self, gone: AbstractSet[Standing]) -> None:
        # Their room stays taken: what this plan gave it to others would be in their way.
        self.board.standings = [one for one in self.board.standings if one not in gone]

    def _postpone(self, key: JobKey, standings: Sequence[Standing], number: int) -> None:
        del self.ledger.admitted[key]
        wants = [Want(found.fit, found.lasting) for found in standings]
        self.ledger.promises.append(Promise(wants, (), number))
        self._postponed.update(standings)
        self._waiting.append(Promise(wants, [_rows_now(found) for found in standings], number))
        self.ledger.wait(key, reasons.PLACED_FIRST)


def _choices(standings: Sequence[Standing], *, again: bool) -> list[list[Standing]]:
    """The roles to pin, the fewest first.

    Pins last until the next start: what grows while it runs would never leave these nodes again.
    """
    fixed = [found for found in standings if not found.moves]
    if again or len(fixed) == len(standings):
        return [list(standings)]
    grows_live = any(found.moves and not found.restarts for found in standings)
    return [fixed] if grows_live else [fixed, list(standings)]


def _rows_now(standing: Standing) -> list[int]:
    return [seat.row for seat in standing.seats if seat.now]


def _pods(standings: Iterable[Standing]) -> Counter[Fit]:
    pods: Counter[Fit] = Counter()
    for found in standings:
        pods[found.fit] += found.lasting
    return pods


def _parties(standings: Iterable[Standing]) -> list[Party]:
    return [Party(found.fit, found.lasting) for found in standings]
