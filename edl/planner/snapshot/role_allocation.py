"""One role while a plan is made: where its replicas sit, and how far it may move."""

from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from itertools import islice
from typing import Final, NamedTuple

from edl.model import Pod, Reason, ResizePolicy, Role, TrainingJob
from edl.planner.packing.node_capacity import NodeCapacity
from edl.planner.packing.pod_class import PodClass
from edl.planner.snapshot.quota_balance import QuotaRequest

NO_NODE = -1
ROLES_PER_JOB: Final = 1000
"""More roles than a cast has: a role's rank is its job's place times this, plus its own."""
RESIZABLE = (ResizePolicy.LIVE, ResizePolicy.ITEMS, ResizePolicy.RESTART)
"""Roles that take a new size: while they run, or by a restart of their training job."""


NEARLY_DONE_MARGIN: Final = 0.25
"""So far above its priority is who is nearly finished, when somebody must yield."""


class Placement(NamedTuple):
    """Where one replica sits in the grid; NOWHERE takes no room."""

    row: int
    now: bool
    """Its room is taken from `now` too: it is not a bound pod, whose room comes back only soon."""
    fresh: bool
    """Given in this plan: the replica does not exist yet."""
    counts: bool = True
    """In budgets; not a replica that has succeeded, or that no work is left for."""


@lru_cache(maxsize=2**17)
def _new_placement(row: int, now: bool) -> Placement:  # noqa: FBT001 - keyed by it
    """A plan may give a hundred thousand: one value a node."""
    return Placement(row, now=now, fresh=True)


class Unscheduled(NamedTuple):
    """A replica on its way to a node; `since` is None if it waits for something else than that."""

    position: int
    since: datetime | None
    pod: Pod | None = None
    """Its pod, if that is made."""


@dataclass(slots=True, eq=False)
class RoleAllocation:
    """Mutable within one decision.

    `seats` in the order of keeping: the last one goes first, and fresh ones come after all others.

    `floor` and `cap` bound the size; `held` is why the role may not grow in this plan.
    """

    job: TrainingJob
    role: Role
    rank: int
    """Its place in the total order of all roles; unique."""
    fit: PodClass
    bulk: float = 0.0
    """The part of the cluster that one replica takes."""
    seats: list[Placement] = field(default_factory=list)
    unbound: list[Unscheduled] = field(default_factory=list)
    floor: int = 0
    cap: int = 0
    held: Reason | None = None
    until: datetime | None = None
    """When `held` ends, where time alone ends it."""
    reserves: bool = True
    """While held, room for its growth is kept for it (a cooldown ends soon)."""
    cooling: bool = False
    finishing: bool = False
    """It is nearly finished: it keeps its size, unless somebody above it needs the room."""
    starts: bool = False
    """It is started by this plan."""
    reason: Reason | None = None
    """Why its size changes in this plan."""
    coming: int = 0
    """Replicas that this plan makes: fresh seats whose room is taken now."""
    promised: int = 0
    """Replicas for which room is reserved that leaving pods will free: the other fresh seats."""
    moved: bool = False
    """Its seats were changed since, perhaps changed back."""
    bill: QuotaRequest | None = None
    """What one more replica counts in budgets; None where there are none."""

    @property
    def size(self) -> int:
        return len(self.seats)

    @property
    def queue_rank(self) -> int:
        """Its job's place in the total order."""
        return self.rank // ROLES_PER_JOB

    @property
    def lasting(self) -> int:
        """Replicas after this plan: without those that wait for room to come."""
        return len(self.seats) - self.promised

    @property
    def gave(self) -> bool:
        """Whether a replica leaves its node: what it takes in this plan comes after that one.

        Else its size would be the same, and no replica would leave.
        """
        return not self.starts and len(self.seats) - self.promised < self.role.size

    @property
    def after(self) -> int:
        """What the plan asks of its Job: one restart for all of a growth, once its room is free."""
        lasting, before = self.lasting, self.role.size
        waits = self.restarts and not self.starts and lasting > before and self.promised
        return before if waits else lasting

    @property
    def manual(self) -> bool:
        return self.role.wanted is not None

    @property
    def moves(self) -> bool:
        """A job with a problem stays as it is: no step would be taken for it."""
        return self.role.resizing in RESIZABLE and not self.job.problem

    @property
    def restarts(self) -> bool:
        """Its whole training job is stopped for a new size."""
        return self.role.resizing is ResizePolicy.RESTART

    @property
    def level(self) -> float:
        """Claims of this level and above may take its extras; manual sizes: only a priority above.

        Who is nearly finished leaves soon: a queued job of its priority waits for that a while.
        """
        return self.job.priority + (0.5 if self.manual else NEARLY_DONE_MARGIN * self.finishing)

    def sit(self, grid: NodeCapacity, row: int, *, now: bool) -> None:
        """One replica more."""
        self.moved = True
        grid.take(row, self.fit, now=now)
        self.seats.append(_new_placement(row, now))
        self.coming += now
        self.promised += not now
        if self.bill:
            self.bill.take(now=now)

    def expect(self, row: int) -> None:
        """One replica more, for which a claim has taken the room."""
        self.moved = True
        self.seats.append(_new_placement(row, False))  # noqa: FBT003 - keyed by it
        self.promised += 1

    def take_place(self, position: int, seat: Placement) -> None:
        """A replica on its way is expected there; its room is taken already."""
        self.moved = True
        self.seats[position] = seat

    @property
    def beyond(self) -> int:
        """How many replicas it takes now, above its min; negative if it has fewer than it had."""
        return self.lasting - max(self.role.size, self.role.min)

    @property
    def grows(self) -> bool:
        return self.beyond > 0

    def postpone(self, grid: NodeCapacity, count: int) -> None:
        """Turn the last replicas that it takes now into room that is kept for them."""
        seats, count, rows = self.seats, max(min(count, self.coming), 0), []
        self.coming -= count
        self.promised += count
        places = (at for at in reversed(range(len(seats))) if seats[at].now)
        for place in islice(places, count):
            rows.append(seats[place].row)
            seats[place] = _new_placement(rows[-1], False)  # noqa: FBT003 - keyed by it
        grid.postpone(rows, self.fit)
        if self.bill:
            self.bill.linger(-count)

    def _count(self, seat: Placement, pods: int) -> None:
        if seat.fresh and seat.now:
            self.coming += pods
        elif seat.fresh:
            self.promised += pods

    def rise(self, grid: NodeCapacity) -> Placement:
        """One replica less: the last seat's room comes back."""
        self.moved = True
        seat = self.seats.pop()
        self._count(seat, -1)
        if seat.row != NO_NODE:
            grid.give(seat.row, self.fit, now=seat.now)
        if self.bill and seat.counts:
            self.bill.give(now=seat.fresh and seat.now)
        return seat

    def stay(self, grid: NodeCapacity, seat: Placement) -> None:
        """Undo `rise` where nothing has taken its place: it stays, whatever rules say."""
        if seat.row != NO_NODE:
            grid.take(seat.row, self.fit, now=seat.now)
        if self.bill and seat.counts:
            self.bill.take(now=seat.fresh and seat.now)
        self.seats.append(seat)
        self._count(seat, 1)


def manual_size(role: Role) -> int | None:
    """The manual size, within the bounds."""
    return None if role.wanted is None else min(max(role.wanted, role.min), role.max)


def start_size(role: Role) -> int:
    """Replicas that a gang needs of this role before anything starts."""
    wanted = manual_size(role)
    size = role.min if wanted is None else wanted
    return size if role.remaining is None else max(min(size, role.remaining), 1)
