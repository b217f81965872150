"""One role while a plan is made: where its replicas sit, and how far it may move."""

from dataclasses import dataclass, field
from datetime import datetime
from itertools import takewhile
from typing import NamedTuple

from edl.model import Resizing, Role, TrainingJob
from edl.planner.fit import Fit
from edl.planner.grid import Grid
from edl.planner.policies import Policy

NOWHERE = -1
MOVING = (Resizing.LIVE, Resizing.ITEMS, Resizing.RESTART)
"""Roles that take a new size: while they run, or by a restart of their training job."""


class Seat(NamedTuple):
    """Where one replica sits in the grid; NOWHERE takes no room."""

    row: int
    now: bool
    """Its room is taken from `now` too: it is not a bound pod, whose room comes back only soon."""
    fresh: bool
    """Given in this plan: the replica does not exist yet."""


class Unbound(NamedTuple):
    """A replica on its way to a node; `since` is None if it does not wait for the scheduler."""

    position: int
    since: datetime | None


@dataclass(slots=True, eq=False)
class Standing:
    """Mutable within one decision.

    `seats` in the order of keeping: the last one goes first, and fresh ones come after all others.

    `floor` and `cap` bound the size; `held` is why the role may not grow in this plan.
    """

    job: TrainingJob
    role: Role
    rank: int
    """Its place in the total order of all roles; unique."""
    fit: Fit
    seats: list[Seat] = field(default_factory=list)
    unbound: list[Unbound] = field(default_factory=list)
    floor: int = 0
    cap: int = 0
    held: str = ""
    reserves: bool = True
    """While held, room for its growth is kept for it (a cooldown ends soon)."""
    cooling: bool = False
    starts: bool = False
    """It is started by this plan."""
    reason: str = ""
    """Why its size changes in this plan."""

    @property
    def size(self) -> int:
        return len(self.seats)

    @property
    def lasting(self) -> int:
        """Replicas after this plan: without those that wait for room to come."""
        return len(self.seats) - self.promised

    @property
    def promised(self) -> int:
        """Replicas for which room is reserved that leaving pods will free."""
        new = takewhile(lambda seat: seat.fresh, reversed(self.seats))
        return sum(not seat.now for seat in new)

    @property
    def manual(self) -> bool:
        return self.role.wanted is not None

    @property
    def moves(self) -> bool:
        """A job with a problem stays as it is: no step would be taken for it."""
        return self.role.resizing in MOVING and not self.job.problem

    @property
    def restarts(self) -> bool:
        """Its whole training job is stopped for a new size."""
        return self.role.resizing is Resizing.RESTART

    @property
    def level(self) -> float:
        """Claims of this priority and above may take its extras; manual sizes: only of above."""
        return self.job.priority + (0.5 if self.manual else 0)

    def sit(self, grid: Grid, row: int, *, now: bool) -> None:
        """One replica more."""
        grid.take(row, self.fit.need, now=now)
        self.seats.append(Seat(row, now=now, fresh=True))

    def hastens(self, policy: Policy, share: float) -> bool:
        """Whether what it takes now, above its min, makes it more satisfied than this."""
        size = self.lasting
        grows = size > max(self.role.size, self.role.min)
        return grows and policy(self.job, self.role, size) > share

    def postpone(self, grid: Grid) -> None:
        """Turn the last replica that it takes now into room that is kept for it."""
        place = max(place for place, seat in enumerate(self.seats) if seat.fresh and seat.now)
        seat = self.seats[place]
        grid.give(seat.row, self.fit.need, now=True)
        grid.take(seat.row, self.fit.need, now=False)
        self.seats[place] = seat._replace(now=False)

    def rise(self, grid: Grid) -> Seat:
        """One replica less: the last seat's room comes back."""
        seat = self.seats.pop()
        if seat.row != NOWHERE:
            grid.give(seat.row, self.fit.need, now=seat.now)
        return seat

    def sit_again(self, grid: Grid, seat: Seat) -> bool:
        """Undo `rise`, if the room is still there."""
        if seat.row != NOWHERE:
            if not grid.fits(seat.row, self.fit.need, now=seat.now) and grid.open[seat.row]:
                return False
            grid.take(seat.row, self.fit.need, now=seat.now)
        self.seats.append(seat)
        return True


def target(role: Role) -> int | None:
    """The manual size, within the bounds."""
    return None if role.wanted is None else min(max(role.wanted, role.min), role.max)


def start_size(role: Role) -> int:
    """Replicas that a gang needs of this role before anything starts."""
    found = target(role)
    return role.min if found is None else found
