"""Whole gangs go back to the queue for a higher priority, if their operator wants so.

Only where extras do not suffice, and only if the claim then fits: the lowest priority first, of
one priority who is not nearly finished, then the youngest. A victim keeps its place in the queue,
and its room is the claim's, so it starts again when there is room for both.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edl.model import JobKey, TrainingJob
from edl.planner import reasons
from edl.planner.board import Board
from edl.planner.budgets import Bill
from edl.planner.fit import Want, pack
from edl.planner.grid import Horizon
from edl.planner.ledger import Ledger, note_yield
from edl.planner.reclaim import Claim, Extras, make_room
from edl.planner.standing import NOWHERE, Seat, Standing

if TYPE_CHECKING:
    from edl.planner.grid import Ints


class Asker(NamedTuple):
    """Who finds no room, although extras up to `level` would go."""

    wants: tuple[Want, ...]
    priority: int
    level: float
    reason: str
    """What is said to those who make room."""


@dataclass(slots=True)
class Victim:
    """One started training job, which may be taken off its nodes."""

    job: TrainingJob
    standings: list[Standing]
    taken: list[tuple[Standing, Seat, bool]] = field(default_factory=list)
    """What has been taken off, the first first; the last says whether it was an extra."""

    @property
    def order(self) -> tuple[int, bool, int]:
        first = self.standings[0]
        return self.job.priority, first.finishing, -first.place


@dataclass(slots=True)
class Preemption:
    """Suspends gangs for the claims of one plan. Who is to be started or is half started stays."""

    board: Board
    ledger: Ledger
    extras: Extras

    def serve(self, asker: Asker, bill: Bill | None = None) -> Claim | None:
        """Room for all that is asked for, or nothing and no change."""
        chosen = self._victims(asker)
        if not chosen:
            return None
        self._take_off(chosen)
        claim = Claim(self.board.grid, list(asker.wants), bill=bill)
        if not make_room(claim, self.extras, asker.level, whole=True):
            self._put_back(chosen)
            return None
        note_yield(claim.risen, asker.reason)
        self._suspend({victim.job.key for victim in chosen}, reasons.preempted(asker.reason))
        return claim

    def some(self, asker: Asker) -> list[int]:
        """Room for as many pods of the one want as can be had; their nodes."""
        (want,) = asker.wants
        room = self.extras.spare.room(asker.level)
        for victim in _candidates(self.board, asker.priority):
            _add(room, victim, self._movable)
        most = pack(room, [want], Horizon.EMPTY)[0]
        claim = self.serve(asker._replace(wants=(Want(want.fit, most),))) if most else None
        return claim.placed[0] if claim else []

    @property
    def _movable(self) -> set[Standing]:
        return set(self.extras.all)

    def _victims(self, asker: Asker) -> list[Victim]:
        """Whom to suspend so that all these pods fit; nobody if they would not fit even then."""
        candidates = _candidates(self.board, asker.priority)
        found = sorted(candidates, key=lambda victim: victim.order)
        spare, movable = self.extras.spare.room(asker.level), self._movable

        def fits(chosen: Sequence[Victim]) -> bool:
            room = spare.copy()
            for victim in chosen:
                _add(room, victim, movable)
            return pack(room, asker.wants, Horizon.EMPTY) == [want.pods for want in asker.wants]

        if not found or not fits(found):
            return []
        chosen = found[: _fewest(len(found), lambda count: fits(found[:count]))]
        # Those who matter most are spared first.
        for victim in reversed(chosen):
            rest = [other for other in chosen if other is not victim]
            if rest and fits(rest):
                chosen = rest
        return chosen

    def _take_off(self, chosen: Iterable[Victim]) -> None:
        movable = self._movable
        for victim in chosen:
            for standing in victim.standings:
                while standing.seats:
                    extra = standing in movable and standing.size > standing.floor
                    rise = self.extras.rise if extra else self._rise
                    victim.taken.append((standing, rise(standing), extra))
                self.extras.back(standing)

    def _rise(self, standing: Standing) -> Seat:
        return standing.rise(self.board.grid)

    def _put_back(self, chosen: Sequence[Victim]) -> None:
        movable = self._movable
        for victim in reversed(chosen):
            while victim.taken:
                standing, seat, extra = victim.taken.pop()
                if extra:
                    self.extras.sit_again(standing, seat)
                else:
                    standing.sit_again(self.board.grid, seat)
            for standing in movable.intersection(victim.standings):
                self.extras.back(standing)

    def _suspend(self, gone: set[JobKey], reason: str) -> None:
        board = self.board
        self.ledger.suspended.update({job.key: reason for job in board.jobs if job.key in gone})
        for key in gone:
            self.ledger.held.pop(key, None)
        board.standings = [found for found in board.standings if found.job.key not in gone]
        board.jobs = [job for job in board.jobs if job.key not in gone]


def _candidates(board: Board, priority: int) -> list[Victim]:
    """Started jobs of a lower priority; a start that is half done is completed first."""
    lower = [
        found
        for found in board.standings
        if found.job.priority < priority and not (found.starts or found.job.problem)
    ]
    lower.sort(key=lambda found: found.rank)
    groups = (list(group) for _, group in groupby(lower, key=lambda found: found.place))
    return [Victim(group[0].job, group) for group in groups if not _partial(group[0].job)]


def _partial(job: TrainingJob) -> bool:
    return any(role.suspended for role in job.live)


def _fewest(most: int, enough: Callable[[int], bool]) -> int:
    """The smallest number that is enough, where `most` is."""
    low, high = 1, most
    while low < high:
        middle = (low + high) // 2
        if enough(middle):
            high = middle
        else:
            low = middle + 1
    return low


def _add(room: "Ints", victim: Victim, movable: set[Standing]) -> None:
    """Give a victim's seats to this room; its extras are there already."""
    for standing in victim.standings:
        seats = standing.seats[: standing.floor] if standing in movable else standing.seats
        rows = np.array([seat.row for seat in seats if seat.row != NOWHERE], dtype=np.int64)
        counts = np.bincount(rows, minlength=room.shape[1])
        for line, amount in standing.fit.need:
            room[line] += counts * amount
