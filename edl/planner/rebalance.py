"""Equal shares in a full cluster: a replica moves from the most to the least satisfied role.

A move needs a giver that is more satisfied before, and not less satisfied after it than the taker.
So every move makes the sorted satisfactions larger (leximin): moves end, and none is undone.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from math import inf
from typing import TYPE_CHECKING, Final

import numpy as np

from edl.planner import reasons
from edl.planner.board import Board
from edl.planner.fit import Fit, Want
from edl.planner.grid import Ints
from edl.planner.growth import Ceiling
from edl.planner.reclaim import Claim, Extras, Rules, make_room
from edl.planner.standing import NOWHERE, Seat, Standing

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SEARCHES: Final = 32
"""A plan's searches for several givers to one taker. They are slow; the next plan goes on."""


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
        self._places = {standing: place for place, standing in enumerate(standings)}
        for standing, place in self._places.items():
            for line, amount in standing.fit.need:
                self._need[line, place] = amount
            self.look_at(standing)

    def look_at(self, standing: Standing) -> None:
        """Read a role again after its size changed."""
        place = self._places.get(standing)
        if place is not None:
            gives = standing.size > standing.floor
            self._share[place] = self._board.share(standing)
            self._after[place] = self._board.share(standing, -1) if gives else -np.inf
            self._row[place] = standing.seats[-1].row if gives else NOWHERE

    def candidates(self, taker: Standing) -> Ints:
        """Places of those who are more satisfied before, and not less after the move."""
        before, after = self._board.share(taker), self._board.share(taker, 1)
        fair = (self._after >= after) & (self._share > before)
        return np.flatnonzero(fair & (self._priority <= taker.job.priority))

    def helpful(self, fit: Fit, places: Ints) -> Ints:
        """Those whose last replica leaves room for one pod of this shape on its node."""
        places = places[self._row[places] != NOWHERE]
        rows = self._row[places]
        helps: NDArray[np.bool_] = fit.eligible[rows]
        for line, amount in fit.need:
            helps = helps & (self._board.grid.soon[line, rows] + self._need[line, places] >= amount)
        return places[helps]

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
    _searches: int = _SEARCHES
    _hopeless: set[Fit] = field(default_factory=set)
    """Shapes for which a search among several givers found nothing."""

    def __post_init__(self) -> None:
        giving = [
            found
            for found in self.board.standings
            if found.moves and not found.manual and not found.cooling and not _settled(found)
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
            if self._move(taker) and taker.size < taker.cap:
                heappush(heap, (self.board.share(taker), rank, taker))
        if self.board.calm < inf:
            self._wait()

    def _wait(self) -> None:
        """Growth beyond the givers waits until the moves are done (`Board.calm`)."""
        for standing in self.board.standings:
            if not standing.starts:
                while standing.hastens(self.board.policy, self.board.calm):
                    standing.postpone(self.board.grid)

    def _move(self, taker: Standing) -> bool:
        places = self.givers.candidates(taker)
        if not places.size:
            return False
        helpful = self.givers.helpful(taker.fit, places)
        moved = bool(helpful.size) and self._take_one(taker, self.givers.most_satisfied(helpful))
        if not moved and not self._take_several(taker, places):
            return False
        self.givers.look_at(taker)
        return True

    def _take_one(self, taker: Standing, giver: Standing) -> bool:
        grid = self.board.grid
        seat = giver.rise(grid)
        if not self.ceiling.allows(taker.fit, now=False):
            giver.sit_again(grid, seat)
            return False
        now = seat.now and grid.fits(seat.row, taker.fit.need, now=True)
        taker.sit(grid, seat.row, now=now)
        self._gave(taker, giver)
        return True

    def _take_several(self, taker: Standing, places: Ints) -> bool:
        """One pod may need the room of several, and so may the load ceiling."""
        if not self._searches or taker.fit in self._hopeless:
            return False
        self._searches -= 1
        board, after = self.board, self.board.share(taker, 1)
        rules = Rules(
            least=lambda giver: self._least(giver, after),
            key=lambda giver: (-board.share(giver), 0.0),
        )
        extras = Extras(board, [self.givers.standings[place] for place in places], rules)
        claim = Claim(board.grid, [Want(taker.fit, 1)], self.ceiling.kept)
        if not make_room(claim, extras, np.inf, whole=True):
            self._hopeless.add(taker.fit)
            return False
        taker.seats.append(Seat(claim.placed[0][0], now=False, fresh=True))
        for giver in claim.risen:
            self._gave(taker, giver)
        return True

    def _least(self, giver: Standing, after: float) -> int:
        size = giver.size
        share = self.board.policy
        while size > giver.floor and share(giver.job, giver.role, size - 1) >= after:
            size -= 1
        return size

    def _gave(self, taker: Standing, giver: Standing) -> None:
        self.givers.look_at(giver)
        if giver.size < giver.role.size:
            giver.reason = giver.reason or reasons.equal_share(taker.job.key)
            self.board.calm = min(self.board.calm, self.board.share(giver))


def _settled(standing: Standing) -> bool:
    """A job that cannot be planned keeps what it has."""
    return bool(standing.job.problem or standing.job.missing)
