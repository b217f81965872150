"""Everything that one decision works on: the grid, the roles' seats, and the clock's reading."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from math import inf

import numpy as np

from edl import phases
from edl.model import ClusterState, Demand, JobKey, PodPhase, Role, Shape, TrainingJob
from edl.planner import reasons
from edl.planner.budgets import Budgets
from edl.planner.crowd import gathered
from edl.planner.devices import devices
from edl.planner.eligibility import Eligibility
from edl.planner.fit import Fit
from edl.planner.grid import Grid, Ints
from edl.planner.limits import Limits
from edl.planner.policies import Policy
from edl.planner.seating import Rows, There, occupy, seat, vacate
from edl.planner.standing import ROLES, Standing, target


@dataclass(slots=True)
class Board:
    """Mutable, and gone with the decision. `jobs` take part, in their total order."""

    at: datetime
    policy: Policy
    limits: Limits
    grid: Grid
    eligibility: Eligibility
    jobs: list[TrainingJob] = field(default_factory=list)
    places: dict[JobKey, int] = field(default_factory=dict)
    """Each job's place in the total order."""
    demands: list[Demand] = field(default_factory=list)
    standings: list[Standing] = field(default_factory=list)
    rows: dict[Shape, Rows] = field(default_factory=dict)
    budgets: Budgets = field(default_factory=lambda: Budgets(()))
    calm: float = inf
    """While replicas move for equal shares, nobody grows beyond the least satisfied giver.

    Who could, would have to give next; and the scheduler might put its pods where the giver's were.
    """
    finishing: bool = False
    """Whether anybody who runs is nearly finished."""
    wake: list[timedelta] = field(default_factory=list)
    """How long until time alone may change the plan."""
    before: Ints = field(init=False)
    """`grid.now` before this plan took anything."""
    empty: Ints | None = None
    totals: list[int] = field(init=False)
    """Of each resource of the grid, what all schedulable nodes have together."""
    bulks: dict[Fit, float] = field(default_factory=dict)
    there: There = field(init=False)
    _known: dict[int, Rows] = field(default_factory=dict)
    """`rows` by the identity of their shapes."""

    def __post_init__(self) -> None:
        self.before = self.grid.now.copy()
        self.there = There(self.grid.rows)
        self.totals = self.grid.allocatable[:, self.grid.open].sum(axis=1).tolist()

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

    def ours_gone(self) -> Ints:
        """The room if none of our training jobs ran; int64[resources, nodes]."""
        if self.empty is None:
            self.empty = self._left_by(self.before.copy(), surplus=False)
        return self.empty

    def free_surplus(self) -> None:
        """Pods that are on their way out free their room soon."""
        self._left_by(self.grid.soon, surplus=True)
        self.grid.count_idle()
        for rows in self.rows.values():
            rows.fit.leave(rows.surplus)

    def _left_by(self, room: Ints, *, surplus: bool) -> Ints:
        nodes = len(self.grid.rows)
        for rows in self.rows.values():
            found = np.array(rows.surplus if surplus else rows.all(), dtype=np.int64)
            counts = np.bincount(found[found >= 0], minlength=nodes)
            for line, amount in rows.fit.need:
                room[line] += counts * amount
        return room


def set_up(state: ClusterState, policy: Policy, limits: Limits) -> Board:
    """Read the state, independent of its order."""
    nodes = sorted(state.nodes, key=lambda node: node.name)
    eligibility = Eligibility(nodes)
    grid = Grid(nodes, _asked(state), gathered(state, nodes, eligibility))
    grid.devices = devices(nodes, (role for job in state.jobs for role in job.roles))
    board = Board(state.observed_at, policy, limits, grid, eligibility)
    jobs = sorted(state.jobs, key=order)
    board.jobs = [job for job in jobs if job.live and not decided(job)]
    board.places = {job.key: place for place, job in enumerate(jobs)}
    board.demands = list(state.demands)
    board.budgets = Budgets(state.budgets)
    for place, job in enumerate(jobs):
        over = decided(job)
        for number, role in enumerate(job.roles):
            rows = board.rows_of(role.shape)
            if role.ending is not None or role.suspended:
                vacate(role, grid.rows, rows)
                board.budgets.count_pods(job, role, leaving=True)
            elif over:
                occupy(role, grid.rows, rows)
                board.budgets.count_pods(job, role, leaving=False)
            else:
                board.standings.append(stand(board, job, role, place * ROLES + number))
    board.free_surplus()
    return board


def order(job: TrainingJob) -> tuple[int, datetime, JobKey]:
    """The total order: priority, then first come first served."""
    return (-job.priority, job.queued_at, job.key)


def decided(job: TrainingJob) -> bool:
    """It is over: its roles have ended, or are about to be ended."""
    return phases.ending(job) is not None


def _asked(state: ClusterState) -> Iterable[str]:
    # By identity: most pods of one shape share the value, and to hash one costs far more.
    shapes = {id(role.shape): role.shape for job in state.jobs for role in job.roles}
    shapes |= {id(demand.shape): demand.shape for demand in state.demands}
    return {name for shape in shapes.values() for name, _ in shape.requests}


def stand(board: Board, job: TrainingJob, role: Role, rank: int) -> Standing:
    """A started role with its pods."""
    rows = board.rows_of(role.shape)
    standing = Standing(job, role, rank, rows.fit, board.bulk(rows.fit))
    standing.seats, standing.unbound = seat(job, role, board.grid.rows, rows)
    board.budgets.count(standing)
    bound(board, standing)
    return standing


def bound(board: Board, standing: Standing) -> None:
    """Set how far a started role may move in this plan, and why not further."""
    role = standing.role
    if not standing.moves:
        standing.floor = standing.cap = role.size
        return
    manual = target(role)
    most = role.max if manual is None else manual
    standing.floor = min(role.min, role.size)
    standing.cap = max(
        standing.floor, most if role.remaining is None else min(most, role.remaining)
    )
    if standing.restarts and nearly_done(standing.job):
        standing.floor = role.size
        standing.held, standing.reserves = reasons.NEARLY_DONE, False
    elif _finishing(board, standing):
        standing.held, standing.reserves = reasons.LEFT_ALONE, False
        standing.finishing = board.finishing = True
    else:
        _cool(board, standing)


def nearly_done(job: TrainingJob) -> bool:
    """Whoever is done would be missing when all the others start again."""
    pods = (pod for role in job.live for pod in role.pods)
    return any(pod.phase is PodPhase.SUCCEEDED for pod in pods)


def _finishing(board: Board, standing: Standing) -> bool:
    """What its user asks for comes first: a manual size, a higher min, a lower max."""
    done, role = standing.job.progress, standing.role
    return (
        done is not None
        and done >= board.limits.nearly_done
        and not standing.manual
        and role.size >= role.min
    )


def _cool(board: Board, standing: Standing) -> None:
    job, role, limits = standing.job, standing.role, board.limits
    if job.problem or job.missing:
        standing.held, standing.reserves = job.problem or reasons.missing(job), False
        return
    changed = max(filter(None, (job.started_at, role.resized_at)), default=None)
    if changed is None or (standing.floor == standing.cap == role.size):
        return
    if (later := _again_later(job, role)) and not board.past(changed, _patience(standing, limits)):
        standing.held, standing.reserves = later, False
    elif role.size >= role.min and not board.past(changed, _cooldown(standing, limits)):
        standing.cooling = True
        if reasons.balanced(board.policy.gives, role.reason):
            board.calm = min(board.calm, board.share(standing))
        # Who made room by a restart would take it again by another before the claim has started.
        at_once = standing.manual and not reasons.made_room(role.reason)
        standing.held = "" if at_once else reasons.COOLDOWN


def _again_later(job: TrainingJob, role: Role) -> str:
    """What is said while a size that came to nothing is not tried again."""
    if reasons.grew_in_vain(job.key, role.reason):
        return reasons.GROWS_LATER
    return reasons.PENDING_AGAIN_LATER if reasons.stayed_pending(role.reason) else ""


def _patience(standing: Standing, limits: Limits) -> timedelta:
    """How long not to ask again for what no node took; finding out may cost two restarts."""
    return 6 * limits.restart_cooldown if standing.restarts else 2 * limits.pending_limit


def _cooldown(standing: Standing, limits: Limits) -> timedelta:
    return limits.restart_cooldown if standing.restarts else limits.growth_cooldown
