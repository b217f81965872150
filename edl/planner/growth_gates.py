"""How far a started role may move in one plan: bounds, cooldowns, sizes that came to nothing."""

from datetime import datetime, timedelta

from edl import phases
from edl.cooldowns import cooldown, resized_at
from edl.model import PodPhase, Reason, Resizing, Role, TrainingJob
from edl.planner import reasons
from edl.planner.board import Board
from edl.planner.limits import Limits
from edl.planner.seating import seat
from edl.planner.standing import Standing, target


def stand(board: Board, job: TrainingJob, role: Role, rank: int) -> Standing:
    """A started role with its pods."""
    rows = board.rows_of(role.shape)
    standing = Standing(job, role, rank, rows.fit, board.bulk(rows.fit))
    standing.seats, standing.unbound = seat(job, role, board.grid.rows, rows)
    standing.given = tuple(standing.seats)
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
        standing.finishing = True
    else:
        _cool(board, standing)


def nearly_done(job: TrainingJob) -> bool:
    """Whether pods have succeeded, which would be missing after a restart."""
    return any(
        role.over or any(pod.phase is PodPhase.SUCCEEDED for pod in role.pods) for role in job.live
    )


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
        standing.held, standing.reserves = phases.unready(job), False
        return
    changed = max(filter(None, (job.started_at, role.resized_at)), default=None)
    if changed is None or (standing.floor == standing.cap == role.size):
        return
    if not standing.manual and any(since is None for _, since in standing.unbound):
        # In the Job controller's back-off more of it would only stand empty.
        standing.held, standing.reserves = reasons.REPLICAS_MISSING, False
    elif (later := _again_later(board, job, role)) and not board.past(
        changed, _patience(standing, limits)
    ):
        standing.held, standing.reserves = later, False
    elif role.size >= role.min and (left := _left(board, standing, changed)) > timedelta():
        board.wake.append(left)
        # Whatever its user asks for: room is kept for it no longer than the flags say.
        standing.reserves = left <= usual_cooldown(limits, role)
        # A role that made room by a restart would take it back before the claim has started.
        at_once = standing.manual and not reasons.made_room(role)
        _rest(board, standing, None if at_once else reasons.COOLDOWN)


def _rest(board: Board, standing: Standing, held: Reason | None) -> None:
    standing.cooling, standing.held = True, held
    if reasons.balanced(board.policy.gives, standing.role):
        board.calm = min(board.calm, board.share(standing))


def rest_after_return(board: Board, standing: Standing) -> None:
    """A role that its job's restart brings back keeps room for more, as in the next plan.

    Else another job takes all of that by a restart, and gives it back by more of them.
    """
    job, role = standing.job, standing.role
    if standing.restarts and not (standing.manual or _again_later(board, job, role)):
        most = role.max if role.remaining is None else min(role.max, role.remaining)
        standing.cap = max(standing.cap, most)
        _rest(board, standing, reasons.COOLDOWN)


def usual_cooldown(limits: Limits, role: Role) -> timedelta:
    """What the reconciler's flags say."""
    restarts = role.resizing is Resizing.RESTART
    return limits.restart_cooldown if restarts else limits.growth_cooldown


def _again_later(board: Board, job: TrainingJob, role: Role) -> Reason | None:
    """What is said while a size that came to nothing is not tried again."""
    if reasons.grew_in_vain(job.key, role) or reasons.stayed_pending(role):
        return reasons.GROWS_LATER
    if _made_room_in_vain(board, role):
        return reasons.MADE_ROOM_IN_VAIN
    return reasons.GROWS_LATER if _gave_in_vain(board, role) else None


def _patience(standing: Standing, limits: Limits) -> timedelta:
    """How long not to ask again for what no node took; finding out may cost two restarts."""
    return 6 * limits.restart_cooldown if standing.restarts else 2 * limits.pending_limit


def _left(board: Board, standing: Standing, changed: datetime) -> timedelta:
    """What is left of its cooldown; after a start that was no resize the flags' counts."""
    job, role = standing.job, standing.role
    usual = usual_cooldown(board.limits, role)
    least, resized = cooldown(job, usual).least, resized_at(job, role)
    left = min(least, usual) - (board.at - changed)
    return max(left, least - (board.at - resized)) if resized else left


def _made_room_in_vain(board: Board, role: Role) -> bool:
    """Whether the job for which a role made room waits: it did not start, or not for long."""
    key = reasons.made_room_for(role)
    job = board.job_of(key) if key else None
    return job is not None and not job.paused and any(other.suspended for other in job.live)


def _gave_in_vain(board: Board, role: Role) -> bool:
    """Whether the job for which it gave a replica by a restart has not changed its size since."""
    key, since = reasons.gave_to(board.policy.gives, role), role.resized_at
    job = board.job_of(key) if key and since else None
    if job is None or since is None:
        return False
    moments = (job.started_at, *(other.resized_at for other in job.live))
    return all(moment is None or moment <= since for moment in moments)
