"""Equal shares in a full cluster: a replica moves from the most to the least satisfied role.

A move needs givers that stay more satisfied than the taker was before it. So every move makes the
sorted satisfactions larger (leximin): moves end, and none is undone.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from math import inf
from typing import TYPE_CHECKING, Final

import numpy as np

from edl.planner import reasons
from edl.planner.board import Board
from edl.planner.budgets import Bill, Line
from edl.planner.fit import Fit, Want
from edl.planner.grid import Ints
from edl.planner.growth import Ceiling
from edl.planner.reclaim import Claim, Extras, Rules, make_room
from edl.planner.repack import one_more
from edl.planner.standing import NOWHERE, Seat, Standing

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LOOKS: Final = 8_192
"""At so many givers a plan looks in its searches for several to one taker; the next one goes on."""
_REPACKS: Final = 4
"""A plan's vain tries to move its new seats."""


class Givers:
    """Roles that may give, as arrays over them: one look finds whoever helps a taker most."""

    def __init__(self, board: Board, standings: Sequence[Standing]) -> None:
        self._board = board
        self.standings = standings
        lines, count = len(board.grid.names), len(standings)
        self._share = np.zeros(count)
        self._after = np.full(count, -np.inf)
        self._row = np.full(count, NOWHERE)
        self._priority = np.array([found.job.priority for found in standings], dtype=np.int64)
        self._rank = np.array([found.rank for found in standings], dtype=np.int64)
        self._need: Ints = np.zeros((lines, count), dtype=np.int64)
        self._by_line: dict[Line, Ints] = {}
        self._places = {standing: place for place, standing in enumerate(standings)}
        self._helpful: dict[Fit, Ints] = {}
        self._most: dict[tuple[Fit | None, int], float] = {}
        """How satisfied at most who helps a shape stays (None: anybody), by the priority asked."""
        for standing, place in self._places.items():
            for line, amount in standing.fit.need:
                self._need[line, place] = amount
            self.look_at(standing)

    def look_at(self, standing: Standing) -> None:
        """Read a role again after its size changed."""
        place = self._places.get(standing)
        self.forget()
        if place is not None:
            gives = standing.size > standing.floor
            self._share[place] = self._board.share(standing)
            self._after[place] = self._board.share(standing, -1) if gives else -np.inf
            self._row[place] = standing.seats[-1].row if gives else NOWHERE

    def forget(self) -> None:
        """Room has moved: who helps whom is to be found out anew."""
        self._helpful.clear()
        self._most.clear()

    def any_for(self, taker: Standing, fit: Fit | None = None) -> bool:
        """Whether somebody stays more satisfied than the taker is; of those who help this shape."""
        key = (fit, taker.job.priority)
        most = self._most.get(key)
        if most is None:
            after, priority = self._after, self._priority
            if fit is not None:
                places = self._helping(fit)
                after, priority = after[places], priority[places]
            most = float(np.max(after[priority <= taker.job.priority], initial=-np.inf))
            self._most[key] = most
        return most > self._board.share(taker)

    def _helping(self, fit: Fit) -> Ints:
        found = self._helpful.get(fit)
        if found is None:
            found = self.helpful(fit, np.arange(len(self.standings)))
            self._helpful[fit] = found
        return found

    def candidates(self, taker: Standing) -> Ints:
        """Places of those who stay more satisfied than the taker is now."""
        fair = self._after > self._board.share(taker)
        return np.flatnonzero(fair & (self._priority <= taker.job.priority))

    def helpful(self, fit: Fit, places: Ints) -> Ints:
        """Those whose last replica leaves room for one pod of this shape on its node."""
        places = places[self._row[places] != NOWHERE]
        rows = self._row[places]
        helps: NDArray[np.bool_] = fit.eligible[rows]
        for line, amount in fit.need:
            helps = helps & (self._board.grid.soon[line, rows] + self._need[line, places] >= amount)
        return places[helps]

    def paying(self, bill: Bill, places: Ints, *, together: bool) -> Ints:
        """Those whose last replica leaves enough of the budgets that are short; or helps to."""
        pays: NDArray[np.bool_] = np.ones(len(places), dtype=np.bool_)
        for line, cost in bill.costs:
            if line.soon < cost:
                least = 1 if together else cost - line.soon
                pays = pays & (self._costs(line)[places] >= least)
        return places[pays]

    def _costs(self, line: Line) -> Ints:
        if line not in self._by_line:
            bills = (standing.bill for standing in self.standings)
            found = [bill.cost(line) if bill else 0 for bill in bills]
            self._by_line[line] = np.array(found, dtype=np.int64)
        return self._by_line[line]

    def most_satisfied(self, places: Ints) -> Standing:
        """Among equals the one that is last in the total order."""
        share = self._share[places]
        best = places[share == share.max()]
        return self.standings[int(best[np.argmax(self._rank[best])])]


@dataclass(slots=True)
class Rebalance:
    """Moves replicas until no move is fair, or none helps."""

    board: Board
    ceiling: Ceiling
    givers: Givers = field(init=False)
    _looks: int = _LOOKS
    _repacks: int = _REPACKS
    _gave_up: list[Standing] = field(default_factory=list)
    _hopeless: set[Fit] = field(default_factory=set)
    """Shapes for which a search among several givers found nothing."""

    def __post_init__(self) -> None:
        giving = [
            found
            for found in self.board.standings
            if found.moves and not (found.manual or found.cooling or _settled(found))
        ]
        self.givers = Givers(self.board, giving)

    def run(self, stuck: Sequence[Standing]) -> None:
        heap = [
            (self.board.share(taker), taker.rank, taker)
            for taker in stuck
            if taker.moves and not taker.held
        ]
        heapify(heap)
        while heap:
            _, rank, taker = heappop(heap)
            if (self._repack(taker) or self._move(taker)) and taker.size < taker.cap:
                heappush(heap, (self.board.share(taker), rank, taker))
        # Who gave may have taken from others since, and is as large as before.
        less = (giver for giver in self._gave_up if giver.size < giver.role.size)
        self.board.calm = min(self.board.calm, *map(self.board.share, less), inf)
        if self.board.calm < inf:
            self._wait()
        self._let_takers_go_first()

    def _repack(self, taker: Standing) -> bool:
        """Room among the seats of this plan costs nobody anything."""
        if not self._repacks or self.board.calm < inf or self._gave_up:
            return False
        if one_more(self.board, self.ceiling, taker):
            self.givers.look_at(taker)
            return True
        self._repacks -= 1
        return False

    def _let_takers_go_first(self) -> None:
        """Who gave a moment ago grows again when those have grown for whom it gave.

        Else the scheduler might put its pods where theirs are to go, and all would begin anew.
        """
        growing = [one for one in self.board.standings if one.grows and not one.starts]
        gives = self.board.policy.gives
        gave = [one for one in growing if reasons.balanced(gives, one.role.reason)]
        for standing in gave if len(gave) < len(growing) else ():
            while standing.grows:
                standing.postpone(self.board.grid)

    def _wait(self) -> None:
        """Growth beyond the givers waits until the moves are done (`Board.calm`)."""
        for standing in self.board.standings:
            if not standing.starts:
                while standing.hastens(self.board.policy, self.board.calm):
                    standing.postpone(self.board.grid)

    def _move(self, taker: Standing) -> bool:
        short = taker.bill is not None and not taker.bill.allows(now=False)
        if not self.givers.any_for(taker):
            return False
        if not short and not self.givers.any_for(taker, taker.fit):
            return self._takes_several(taker)
        places = self.givers.candidates(taker)
        helpful = self.givers.helpful(taker.fit, places)
        if taker.bill and short:
            if not self.givers.paying(taker.bill, places, together=True).size:
                return False
            helpful = self.givers.paying(taker.bill, helpful, together=False)
        if helpful.size and self._take_one(taker, self.givers.most_satisfied(helpful)):
            self.givers.look_at(taker)
            return True
        return self._takes_several(taker)

    def _take_one(self, taker: Standing, giver: Standing) -> bool:
        grid = self.board.grid
        seat = giver.rise(grid)
        if not (
            self.ceiling.allows(taker.fit, now=False) and taker.fit.allows(seat.row, now=False)
        ):
            giver.sit_again(grid, seat)
            return False
        now = seat.now and taker.fit.takes(seat.row, now=True)
        now = now and (taker.bill is None or taker.bill.allows(now=True))
        taker.sit(grid, seat.row, now=now)
        self._gave(taker, giver)
        return True

    def _takes_several(self, taker: Standing) -> bool:
        if self._looks <= 0 or taker.fit in self._hopeless:
            return False
        places = self.givers.candidates(taker)
        self._looks -= len(places)
        moved = self._take_several(taker, places)
        self.givers.look_at(taker)
        return moved

    def _take_several(self, taker: Standing, places: Ints) -> bool:
        """One pod may need the room of several, and so may the load ceiling."""
        board, before = self.board, self.board.share(taker)
        rules = Rules(
            least=lambda giver: self._least(giver, before),
            key=lambda giver: (0.0, False, -board.share(giver)),
        )
        extras = Extras(board, [self.givers.standings[place] for place in places], rules)
        claim = Claim(board.grid, [Want(taker.fit, 1)], self.ceiling.kept, taker.bill)
        if not make_room(claim, extras, np.inf, whole=True):
            if taker.bill is None or taker.bill.allows(now=False):
                self._hopeless.add(taker.fit)
            return False
        if board.policy.weighs and _weight(claim) >= taker.bulk:
            claim.undo(extras)
            self._hopeless.add(taker.fit)
            return False
        taker.seats.append(Seat(claim.placed[0][0], now=False, fresh=True))
        for giver in claim.risen:
            self._gave(taker, giver)
        return True

    def _least(self, giver: Standing, before: float) -> int:
        size = giver.size
        share = self.board.policy.share
        while size > giver.floor and share(giver, size - 1) > before:
            size -= 1
        return size

    def _gave(self, taker: Standing, giver: Standing) -> None:
        self.givers.look_at(giver)
        if giver.size < giver.role.size:
            giver.reason = giver.reason or reasons.gave(self.board.policy.gives, taker.job.key)
            self._gave_up.append(giver)


def _weight(claim: Claim) -> float:
    """The part of the cluster that those who gave had there."""
    return sum(giver.bulk * len(seats) for giver, seats in claim.risen.items())


def _settled(standing: Standing) -> bool:
    """A job that cannot be planned keeps what it has, and so does one that is nearly finished."""
    return bool(standing.job.problem or standing.job.missing or standing.finishing)
