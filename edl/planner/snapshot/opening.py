"""The board before anything is decided: read from the state, and from the board of the last plan.

Who decides again and again finds most jobs and nodes to be the very values that they were. Then
the grid and the roles' seats stay; anew comes what changed, what that plan moved, and whatever
waits for time.
"""

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Final

from edl import phases
from edl.contract import CleanUp
from edl.feasibility.crowd import gathered
from edl.feasibility.devices import devices
from edl.feasibility.eligibility import Eligibility
from edl.model import ClusterState, Demand, Role, Shape, TrainingJob
from edl.planner.limits import Limits
from edl.planner.packing.grid import Grid, lines
from edl.planner.policies import Policy
from edl.planner.snapshot import last_reasons
from edl.planner.snapshot.board import Board, Post
from edl.planner.snapshot.budgets import Budgets
from edl.planner.snapshot.growth_gates import stand
from edl.planner.snapshot.seating import There, vacate
from edl.planner.snapshot.standing import ROLES, Standing, target

_SHAPES: Final = 4
"""So many times the shapes in use are kept at most."""


def set_up(state: ClusterState, policy: Policy, limits: Limits, last: Board | None = None) -> Board:
    """Read the state, independent of its order. The same with `last`, which is used up by it."""
    if last and _follows(last, state, policy, limits):
        board = _follow(last, state)
    else:
        board = _new(state, policy, limits)
    board.state, board.demands = state, list(state.demands)
    board.jobs = [post.job for post in board.posts if post.takes_part]
    board.standings = [one for post in board.posts for one in post.standings]
    board.restless = [one for post in board.posts if post.restless for one in post.standings]
    board.finishing = any(one.finishing for one in board.standings)
    board.free_surplus()
    return board


def decided(job: TrainingJob) -> bool:
    """It is over: its roles have ended, or are about to be ended."""
    return phases.ending(job) is not None


def _new(state: ClusterState, policy: Policy, limits: Limits) -> Board:
    nodes = sorted(state.nodes, key=lambda node: node.name)
    eligibility = Eligibility(nodes)
    names = _asked(_shapes(state.jobs, state.demands))
    grid = Grid(nodes, names, gathered(state, nodes, eligibility))
    grid.devices = devices(nodes, (role for job in state.jobs for role in job.roles))
    board = Board(state.observed_at, policy, limits, grid, eligibility, There(grid.rows))
    board.budgets = Budgets(state.budgets)
    _man(board, list(map(Post, state.jobs)))
    return board


def _follows(last: Board, state: ClusterState, policy: Policy, limits: Limits) -> bool:
    """Whether the same is decided on the same nodes, and no rule asks who is beside whom."""
    shapes = _shapes(state.jobs, state.demands)
    return (
        last.grid.crowd is None
        and last.grid.devices is None
        and not any(shape.rules for shape in shapes)
        and not any(job.topology for job in state.jobs)
        and (last.policy, last.limits) == (policy, limits)
        and last.at <= state.observed_at
        and lines(_asked(shapes)) == last.grid.names
        # Of too many shapes nobody has a pod any more.
        and len(last.rows) <= _SHAPES * max(len(shapes), 1)
        and last.grid.follow(state.nodes)
    )


def _follow(last: Board, state: ClusterState) -> Board:
    """The board after this one. Who has not moved, and does not wait for time, keeps his seats."""
    board = Board(
        state.observed_at, last.policy, last.limits, last.grid, last.eligibility, last.there,
        rows=last.renewed(), budgets=Budgets(state.budgets),
    )  # fmt: skip
    new = {id(job): job for job in state.jobs}
    kept: list[Post] = []
    gone: list[Post] = []
    for post in last.posts:
        found = new.pop(id(post.job), None)
        (kept if found else gone).append(post)
    if last.held is not None:
        come, left = board.held_by(new.values()), board.held_by(post.job for post in gone)
        board.held = last.held + come - left
    posts = [post if post.stays else Post(post.job) for post in kept]
    if state.budgets or last.budgets.lines:
        for standing in [one for post in posts for one in post.standings]:
            board.budgets.count(standing)
    _man(board, [*posts, *map(Post, new.values())])
    return board


def _man(board: Board, posts: list[Post]) -> None:
    """Order all posts, and stand the new ones up."""
    posts.sort(key=attrgetter("order"))
    board.posts = posts
    for place, post in enumerate(posts):
        if post.place < 0:
            post.place = place
            _stand(board, post)
        elif post.place != place:
            post.move_to(place)


def _stand(board: Board, post: Post) -> None:
    """The started roles of a job; what is left of the others."""
    job, rows_of, wakes = post.job, board.rows_of, len(board.wake)
    over = decided(job)
    stays_on = job.clean_up is CleanUp.NONE
    post.takes_part = bool(job.live) and not over
    for number, role in enumerate(job.roles):
        rows = rows_of(role.shape)
        if role.ending is not None or role.suspended or (over and not stays_on):
            vacate(role, board.grid.rows, rows)
            board.budgets.count_pods(job, role, leaving=True)
        elif over:
            board.budgets.count_pods(job, role, leaving=False)
        else:
            rank = post.place * ROLES + number
            post.standings.append(stand(board, job, role, rank))
    # What is over is no standing: its pods count in budgets each time anew.
    stays = not over and len(board.wake) == wakes
    post.settled = stays and all(map(_is_settled, job.roles, job.homes))
    # Its growth depends on what becomes of the job for which it came back smaller.
    gave = (last_reasons.yielded_to(board.policy.gives, one.role) for one in post.standings)
    post.settled = post.settled and not any(gave)
    post.restless = not post.settled or job.paused or not all(map(_is_whole, post.standings))


def _is_settled(role: Role, home: Sequence[str]) -> bool:
    """Whether all of its replicas are there, or nothing: no pod comes or leaves."""
    runs = role.ending is None and not role.suspended
    if runs and not role.pods:
        return not role.size  # Its pods are about to be made.
    return (runs and bool(home)) or all(pod.ended for pod in role.pods)


def _is_whole(standing: Standing) -> bool:
    """Whether neither its size nor what happened to its pods asks for anything."""
    job, role = standing.job, standing.role
    wanted = target(role)
    most = role.max if wanted is None else wanted
    torn = role.lost or job.began_again or any(other.suspended for other in job.live)
    return role.size <= most and not torn


def _shapes(jobs: Iterable[TrainingJob], demands: Iterable[Demand]) -> list[Shape]:
    """Those in use."""
    # By identity: most pods of one shape share the value, and to hash one costs far more.
    shapes = {id(role.shape): role.shape for job in jobs for role in job.roles}
    shapes |= {id(demand.shape): demand.shape for demand in demands}
    return list(shapes.values())


def _asked(shapes: Iterable[Shape]) -> set[str]:
    return {name for shape in shapes for name, _ in shape.requests}
