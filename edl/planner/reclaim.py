"""Who gives up replicas for whom.

Extras yield to claims of their own priority and above: the lowest priority first, then whom the
policy finds most satisfied, and of each role its last replica. Nobody yields in vain: what the
claim does not use is put back.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from heapq import heapify, heappop, heappush

import msgspec
import numpy as np

from edl.feasibility.devices import Horizon
from edl.planner.board import Board
from edl.planner.budgets import Bill, Line
from edl.planner.cursor import Mark
from edl.planner.fit import Fit, Want, pack, place, unplace
from edl.planner.grid import Grid, Ints
from edl.planner.home import Homes
from edl.planner.standing import NOWHERE, Seat, Standing


class Rules(msgspec.Struct, frozen=True):
    """Which replicas may be taken: how far down each role goes, and who yields first."""

    least: Callable[[Standing], int]
    key: Callable[[Standing], tuple[float, bool, float]]
    """Smallest first; `Extras.next` compares its first part with the claim's level."""


def claim_rules(board: Board) -> Rules:
    """Demands, gangs and minimums take extras down to the floor, the lowest priority first.

    Under a policy that keeps jobs together then whose highest index is elsewhere.
    """
    homes = Homes(board.standings) if board.policy.together else None

    def key(standing: Standing) -> tuple[float, bool, float]:
        near = homes is not None and not homes.remote(standing)
        return standing.level, near, -board.share(standing)

    return Rules(least=lambda standing: standing.floor, key=key)


class Spare:
    """The room that extras hold, by level of the claims that may have it."""

    def __init__(self, grid: Grid, standings: Iterable[Standing], rules: Rules) -> None:
        self._grid = grid
        self._by_level: dict[float, Ints] = {}
        rows: dict[tuple[float, Fit], list[Ints]] = defaultdict(list)
        for standing in standings:
            rows[standing.level, standing.fit].append(standing.rows[rules.least(standing) :])
        for (level, fit), found in rows.items():
            self._add_all(level, fit, np.concatenate(found))

    def _add_all(self, level: float, fit: Fit, rows: Ints) -> None:
        counts = np.bincount(rows[rows >= 0], minlength=len(self._grid.rows))
        for line, amount in fit.need:
            self._of(level)[line] += counts * amount

    def _of(self, level: float) -> Ints:
        if level not in self._by_level:
            self._by_level[level] = np.zeros_like(self._grid.soon)
        return self._by_level[level]

    def add(self, standing: Standing, seat: Seat, sign: int) -> None:
        if seat.row != NOWHERE:
            found = self._of(standing.level)
            for line, amount in standing.fit.need:
                found[line, seat.row] += sign * amount

    def room(self, level: float) -> Ints:
        """The room on `soon` if all extras within reach were gone."""
        found: Ints = self._grid.soon.copy()
        for key, extras in self._by_level.items():
            if key <= level:
                found += extras
        return found


class Extras:
    """Replicas that may be taken, the next to yield first."""

    def __init__(self, board: Board, standings: Sequence[Standing], rules: Rules) -> None:
        self._grid = board.grid
        self._rules = rules
        self.all = self._unsorted = standings
        self._heap: list[tuple[float, bool, float, int, int, Standing]] = []
        self._latest: dict[Standing, int] = {}
        self.spare = Spare(board.grid, standings, rules)

    def next(self, level: float) -> Standing | None:
        """The role that yields next to a claim of this level; it leaves the heap."""
        if self._unsorted:
            self._sort()
        while self._heap and self._heap[0][0] <= level:
            *_, serial, standing = heappop(self._heap)
            if self._latest[standing] == serial:
                return standing
        return None

    def _sort(self) -> None:
        """Most claims take nothing: only now it matters who yields first."""
        latest, least, key = self._latest, self._rules.least, self._rules.key
        latest |= {standing: latest.get(standing, 0) + 1 for standing in self._unsorted}
        self._heap += [
            (*key(standing), -standing.rank, latest[standing], standing)
            for standing in self._unsorted
            if standing.size > least(standing)
        ]
        heapify(self._heap)
        self._unsorted = ()

    def back(self, standing: Standing) -> None:
        """Into the heap again, as it stands now; an older entry counts no more."""
        serial = self._latest.get(standing, 0) + 1
        self._latest[standing] = serial
        if standing.size > self._rules.least(standing):
            heappush(self._heap, (*self._rules.key(standing), -standing.rank, serial, standing))

    def allow(self, bill: Bill, level: float) -> Line | None:
        """The first budget that stays short although all extras within reach were gone."""
        short = (line for line, cost in bill.costs if not self._allows(line, cost, level))
        return next(short, None)

    def _allows(self, line: Line, cost: int, level: float) -> bool:
        if line.soon >= cost:
            return True
        if line.refused and cost >= line.refused[0] and level <= line.refused[1]:
            return False
        left = line.soon
        for standing in self.all:
            if standing.bill and standing.level <= level:
                extras = standing.size - self._rules.least(standing)
                left += max(extras, 0) * standing.bill.cost(line)
        if left < cost:
            line.refused = (cost, level)
        return left >= cost

    def least(self, standing: Standing) -> int:
        """So many replicas of this role are no extras."""
        return self._rules.least(standing)

    def move(self, standing: Standing, position: int, to: Seat) -> None:
        """An extra goes to another node; its own gives its room back soon."""
        seat = standing.seats[position]
        self._grid.give(seat.row, standing.fit, now=seat.now)
        self._grid.take(to.row, standing.fit, now=to.now)
        standing.take_place(position, to)
        self.spare.add(standing, seat, -1)
        self.spare.add(standing, to, 1)

    def rise(self, standing: Standing) -> Seat:
        seat = standing.rise(self._grid)
        self.spare.add(standing, seat, -1)
        return seat

    def sit_again(self, standing: Standing, seat: Seat) -> bool:
        if not standing.sit_again(self._grid, seat):
            return False
        self.spare.add(standing, seat, 1)
        return True


def _always() -> bool:
    return True


@dataclass(slots=True)
class Claim:
    """Pods that want room on `soon`: placed as far as they fit, then by taking extras.

    `enough` is a further condition for being complete (the load ceiling). `bill` is what all of
    them count in budgets: taken at once, and met when enough has been given back.
    """

    grid: Grid
    wants: list[Want]
    enough: Callable[[], bool] = _always
    bill: Bill | None = None
    placed: list[list[int]] = field(init=False)
    """For each want, the nodes of its pods."""
    risen: dict[Standing, list[Seat]] = field(default_factory=dict)
    """Who yielded, and which seats, the last one first."""
    _marks: list[Mark] = field(init=False)

    def __post_init__(self) -> None:
        self._marks = [want.fit.soon.mark() for want in self.wants]
        self.placed = [place(self.grid, want, now=False) for want in self.wants]
        if self.bill:
            self.bill.take(now=False)

    @property
    def missing(self) -> list[Want]:
        pairs = zip(self.wants, self.placed, strict=True)
        return [Want(want.fit, want.pods - len(rows)) for want, rows in pairs]

    def seated(self) -> bool:
        pairs = zip(self.wants, self.placed, strict=True)
        return all(len(rows) >= want.pods for want, rows in pairs)

    def complete(self) -> bool:
        return self.seated() and self._allowed()

    def _allowed(self) -> bool:
        return self._paid() and self.enough()

    def _paid(self) -> bool:
        return self.bill is None or self.bill.met()

    def take(self, extras: Extras, level: float) -> None:
        """Take extras until all is placed or nothing is left; first those that help."""
        if self.bill and not self._paid():
            self._pass(extras, level, self.bill.relieved, self._paid)
        if not self.seated():
            room = extras.spare.room(level)
            helps = [
                want.fit.capacity(room, Horizon.EMPTY) > 0 for want in self.missing if want.pods
            ]
            useful = reduce(np.logical_or, helps).tolist()
            self._pass(extras, level, lambda found: _on(found, useful), self.complete)
        if not self.complete():
            self._pass(extras, level, lambda _: True, self.complete)
        self._put_back_unused(extras)

    def _pass(
        self,
        extras: Extras,
        level: float,
        useful: Callable[[Standing], bool],
        done: Callable[[], bool],
    ) -> None:
        aside = []
        while not done() and (standing := extras.next(level)):
            if not useful(standing):
                aside.append(standing)
                continue
            seat = extras.rise(standing)
            self.risen.setdefault(standing, []).append(seat)
            self._settle(seat.row)
            extras.back(standing)
        for standing in aside:
            extras.back(standing)

    def _settle(self, row: int) -> None:
        """Place what is missing where room came back."""
        for (fit, count), rows in zip(self.wants, self.placed, strict=True):
            if row == NOWHERE or not fit.eligible[row]:
                continue
            while len(rows) < count and fit.takes(row, now=False):
                self.grid.take(row, fit, now=False)
                rows.append(row)

    def _put_back_unused(self, extras: Extras) -> None:
        """Whoever yielded last gets back first; of each role the lowest replica."""
        met = self.complete()
        for standing, seats in reversed(list(self.risen.items())):
            while seats and self._puts_back(extras, standing, seats[-1], met=met):
                seats.pop()
            extras.back(standing)
            if not seats:
                del self.risen[standing]

    def _puts_back(self, extras: Extras, standing: Standing, seat: Seat, *, met: bool) -> bool:
        if not extras.sit_again(standing, seat):
            return False
        if met and not self._allowed():
            extras.rise(standing)
            return False
        return True

    def undo(self, extras: Extras) -> None:
        for want, rows, mark in zip(self.wants, self.placed, self._marks, strict=True):
            unplace(self.grid, want.fit, rows, now=False)
            want.fit.soon.back_to(mark)
            rows.clear()
        if self.bill:
            self.bill.give(now=False)
        self._put_back_unused(extras)


def _on(standing: Standing, useful: Sequence[bool]) -> bool:
    row = standing.seats[-1].row
    return row != NOWHERE and useful[row]


def make_room(claim: Claim, extras: Extras, level: float, *, whole: bool) -> bool:
    """Reserve room on `soon` for a claim, if need be taking extras within its level.

    `whole`: all pods or none (a gang), and whether it was all; else as many as can be had.
    """
    if claim.complete():
        return True
    missing = claim.missing
    reachable = pack(extras.spare.room(level), missing, Horizon.EMPTY)
    if not whole:
        claim.wants = [
            Want(want.fit, len(rows) + found)
            for want, rows, found in zip(claim.wants, claim.placed, reachable, strict=True)
        ]
    elif reachable != [want.pods for want in missing]:
        claim.undo(extras)
        return False
    claim.take(extras, level)
    if whole and not claim.complete():
        claim.undo(extras)
        return False
    return True
