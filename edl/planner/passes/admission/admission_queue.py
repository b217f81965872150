"""Who gets room first: what is started already, then others' pods and the queue, by priority."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from math import inf

from edl import phases, reasons
from edl.feasibility.gpu_shares import Horizon
from edl.model import Demand, Reason, TrainingJob
from edl.planner.packing.node_capacity import Ints
from edl.planner.packing.pod_class import Want, place
from edl.planner.passes.admission import topology_placement
from edl.planner.passes.admission.empty_cluster import fits_alone
from edl.planner.passes.admission.gang import (
    Gang,
    Question,
    delays,
    gang,
    lingers,
    returns,
    stand_up,
)
from edl.planner.passes.admission.node_requests import NodeRequests
from edl.planner.passes.admission.raised_minimums import lacking, raise_to_minimum
from edl.planner.passes.admission.room_claims import of_extras
from edl.planner.passes.displacement import Displacement, movers
from edl.planner.passes.fit_errors import why_not
from edl.planner.passes.node_assignment import seat_anywhere
from edl.planner.passes.preemption import Asker, Preemption
from edl.planner.passes.reclaim import Claim, make_room
from edl.planner.snapshot.board import Board
from edl.planner.snapshot.colocation import place_on_one
from edl.planner.snapshot.decisions import Ledger, note_yield
from edl.planner.snapshot.quota_balance import QuotaLine
from edl.planner.snapshot.reclaimable import Extras, claim_rules, level_of
from edl.planner.snapshot.restart_backoff import gang_failed, gang_rests
from edl.planner.snapshot.role_allocation import FINISHING, NOWHERE, Seat, Standing

_FIRST = datetime.min.replace(tzinfo=UTC)


@dataclass(slots=True)
class Queue:
    """Serves the claims of one plan in their order, so that room only gets less meanwhile."""

    board: Board
    ledger: Ledger
    _extras: Extras | None = None
    _preempting: Preemption | None = None
    asked: bool = False
    """Whether somebody waits for whom running jobs will shrink in a moment (`Policy.patience`)."""
    _heads: list[Gang] = field(default_factory=list)
    """Gangs that have waited so long that no gang behind starts first if it could delay them."""
    _refused: dict[tuple[Question, float], Reason] = field(default_factory=dict)
    """What did not fit at a level, and why: asking for the same again would find no more room."""
    _alone: dict[Question, bool] = field(default_factory=dict)
    """Whether it would fit in a cluster without training jobs."""
    _nodes: NodeRequests = field(init=False)

    def __post_init__(self) -> None:
        self._nodes = NodeRequests(self.board, self.ledger)

    @property
    def extras(self) -> Extras:
        """What claims may take: most plans never look."""
        if self._extras is None:
            movable = [found for found in self.board.standings if found.moves and not found.starts]
            self._extras = Extras(self.board, movable, claim_rules(self.board))
        return self._extras

    def serve(self) -> None:
        board = self.board
        gangs = [gang(board, job, returns=returns(board, job)) for job in self._startable()]
        halves = [found for found in gangs if found.partial and not self._complete(found)]
        seat_anywhere(self.board)
        for standing in self.board.restless:
            if standing.seats:
                self._minimum(standing)
        for found in halves:
            self._await_rest(found)
        whole = [
            found
            for found in gangs
            if not (found.partial or (found.returns and self._return(found)))
        ]
        claims: list[Demand | Gang | Standing] = [*self.board.demands, *whole, *lacking(self.board)]
        for claim in sorted(claims, key=_order):
            if isinstance(claim, Demand):
                self._demand(claim)
            elif isinstance(claim, Standing):
                self._leave()
                if claim.job.key in self.ledger.suspended:
                    continue
                raise_to_minimum(self.board.grid, self.extras, claim)
            else:
                self._gang(gang(self.board, claim.job) if claim.returns else claim)
        self._leave()
        self._nodes.reserve()

    def _startable(self) -> Iterator[TrainingJob]:
        for job in self.board.jobs:
            if any(role.suspended for role in job.live):
                if unready := phases.unready(job):
                    self.ledger.hold(job.key, unready)
                else:
                    yield job

    def _minimum(self, standing: Standing) -> None:
        """A started role without a node for its minimum takes extras, its own among them."""
        lacking = [
            position
            for position, _, _ in standing.unbound
            if position < standing.floor and standing.seats[position].row == NOWHERE
        ]
        if not lacking:
            return
        job = standing.job
        claim = Claim(self.board.grid, [Want(standing.fit, len(lacking))])
        level, reason = job.priority + FINISHING, reasons.room_for_minimum(job.key)
        make_room(claim, self.extras, level, whole=False)
        note_yield(claim.risen, reason)
        rest = Want(standing.fit, len(lacking) - len(claim.placed[0]))
        rows = claim.placed[0] + self._preempt(Asker((rest,), job.priority, level, reason))
        for position, row in zip(lacking, rows, strict=False):
            standing.take_place(position, Seat(row, now=False, fresh=False))
        self._leave()
        self.ledger.hold(job.key, reasons.minimum_pending(job.key))

    def _complete(self, found: Gang) -> bool:
        """A half-done start comes before pods of which only kube-scheduler knows where they go."""
        placed = topology_placement.place(self.board, found) if _allowed(found) else None
        if placed is not None:
            self._admit(*placed, reasons.completed([role.name for role in found.roles]))
        return placed is not None

    def _await_rest(self, found: Gang) -> None:
        self._reserve(found)
        if self.board.past(found.job.started_at, self.board.limits.gang_limit):
            self.ledger.suspended[found.job.key] = gang_failed(self.board, found.job)

    def _return(self, found: Gang) -> bool:
        """A restart comes before the queue: the job ran, and its room is free for this.

        False where that room is gone; then it queues for its minimum like everybody else.
        """
        key = found.job.key
        if not lingers(self.board, found):
            again = topology_placement.place_again(self.board, found) if _allowed(found) else None
            placed = again or self._placed(found)
            if placed is not None:
                self._admit(*placed, found.reason)
            return placed is not None
        claim = of_extras(self.board, self.extras, found, -inf)
        if claim:
            self.ledger.promise(claim.wants, claim.placed)
            self.ledger.hold(key, reasons.PREVIOUS_PODS)
        return claim is not None

    def _demand(self, demand: Demand) -> None:
        fit = self.board.rows_of(demand.shape).fit
        rows = place(self.board.grid, Want(fit, demand.count), now=True)
        if len(rows) < demand.count:
            claim = Claim(self.board.grid, [Want(fit, demand.count - len(rows))])
            level, reason = demand.priority + FINISHING, reasons.room_for_demand(demand)
            moves = Displacement(self.board, self.extras, claim, level, reason).run()
            self.ledger.moves += moves
            make_room(claim, self.extras, level, whole=False)
            note_yield([*claim.risen, *movers(moves)], reason)
            rows += claim.placed[0]
            rest = Want(fit, demand.count - len(rows))
            rows += self._preempt(Asker((rest,), demand.priority, level, reason))
        if rows:
            self.ledger.promise([Want(fit, len(rows))], [rows])

    def _gang(self, found: Gang) -> None:
        key = found.job.key
        self._nodes.keep(found)
        if head := next((one for one in self._heads if delays(found, one)), None):
            self.ledger.wait(key, reasons.goes_first(head.job.key))
        elif until := gang_rests(self.board, found.job):
            self.ledger.wait(key, reasons.GANG_AGAIN_LATER, until)
        elif found.bill and found.bill.head:
            self.ledger.wait(key, reasons.goes_first(found.bill.head))
        elif not found.job.provisioning.pods and (
            refused := self._refused.get((found.question, level_of(self.board, found.job)))
        ):
            self._pass_over(found, refused)
        else:
            self._start(found)

    def _start(self, found: Gang) -> None:
        """Where its provisional pods hold room, it comes in their place."""
        held = found.job.provisioning.held if found.job.suspended else ()
        self.board.free_provisional(held)
        if self._nodes.is_patient(found):
            self._pass_over(found, reasons.PLACED_FIRST)
        elif not lingers(self.board, found) and (placed := self._placed(found)) is not None:
            self._admit(*placed, found.reason)
            return
        elif self._reserve(found):
            return
        self.board.free_provisional(held, -1)

    def _placed(self, found: Gang) -> tuple[Gang, topology_placement.Rows] | None:
        if not _allowed(found):
            return None
        if found.job.suspended and (there := self._nodes.place(found)):
            return there
        together = self.board.policy.together and not found.job.topology
        at_one = place_on_one(self.board, found.wants) if together else None
        return (found, at_one) if at_one else topology_placement.place(self.board, found)

    def _reserve(self, found: Gang) -> bool:
        """Room on `soon`, all or none; the pods start when it is free. Whether there is any."""
        job = found.job
        level = level_of(self.board, job)
        if found.bill and (line := self.extras.allow(found.bill, level)):
            self._nodes.drop(found)
            self._above_budget(found, line, found.bill.cost(line))
            return False
        suspended = len(self.ledger.suspended)
        if claim := self._claim(found, level):
            self.ledger.promise(claim.wants, claim.placed)
            victims = [*self.ledger.suspended][suspended:]
            givers = {one.job.key for one in claim.risen}.union(victims) - {job.key}
            reason = reasons.leaving(found.pods, givers)
            self.ledger.wait(
                job.key, reasons.PREVIOUS_PODS if lingers(self.board, found) else reason
            )
            self._nodes.keep_held(found)
            return True
        reason = why_not(self.board, found, self._reach(job))
        self._refused[found.question, level] = reason
        self.asked = self.asked or level < job.priority
        self._pass_over(found, reason)
        return False

    def _reach(self, job: TrainingJob) -> Ints:
        """The room on `soon`, with what extras hold that yield to a job now."""
        return self.extras.spare.room(max(level_of(self.board, job), job.priority))

    def _claim(self, found: Gang, level: float) -> Claim | None:
        """Room for all its pods, of extras, then of whole gangs; None, and no change."""
        if found.partial and (claim := self._claim_of_own(found)):
            return claim
        job = found.job
        to_start = reasons.room_for_minimum if found.partial else reasons.room_for_job
        reason = to_start(job.key)
        if claim := of_extras(self.board, self.extras, found, level):
            note_yield(claim.risen, reason)
            return claim
        # Who came to nothing before would suspend them in vain, and again.
        if found.again or not self.board.limits.preempt:
            return None
        room = self.board.ours_gone() if job.topology.required else self.board.grid.soon
        for kept in topology_placement.kept(self.board, found, room, Horizon.EMPTY):
            asker = Asker(kept.wants, job.priority, level, reason)
            if claim := self._preemption.serve(asker, found.bill):
                return claim
        return None

    def _claim_of_own(self, found: Gang) -> Claim | None:
        """The rest of a start takes first what its own job has restarted for: that was in vain."""
        own = [one for one in self.extras.all if one.job.key == found.job.key and one.restarts]
        claim = Claim(self.board.grid, list(found.wants), bill=found.bill)
        if not make_room(claim, Extras(self.board, own, claim_rules(self.board)), inf, whole=True):
            return None
        self._extras = None  # it knows these roles as they were
        note_yield(claim.risen, reasons.room_for_minimum(found.job.key))
        return claim

    def _preempt(self, asker: Asker) -> list[int]:
        """Nodes for as many pods as gangs of a lower priority can make room for."""
        if not (self.board.limits.preempt and asker.wants[0].pods):
            return []
        return self._preemption.some(asker)

    @property
    def _preemption(self) -> Preemption:
        if self._preempting is None:
            self._preempting = Preemption(self.board, self.ledger, self.extras)
        return self._preempting

    def _leave(self) -> None:
        """Jobs that were suspended leave the plan; what the others hold is read anew."""
        if self._preempting is not None:
            self._preempting.leave()
            self._preempting = None

    def _pass_over(self, found: Gang, reason: Reason) -> None:
        """Held for want of room; a gang that has waited long is passed no more (backfill)."""
        reason, until = self._nodes.ask(found, reason, partial(self._reach, found.job))
        self.ledger.wait(found.job.key, reason, until)
        patience = self.board.limits.queue_patience
        # Time makes no head of what fits nowhere: no plan is looked at again for it.
        if self._fits_alone(found) and self.board.past(found.job.queued_at, patience):
            self._heads.append(found)

    def _fits_alone(self, found: Gang) -> bool:
        if found.question not in self._alone:
            self._alone[found.question] = fits_alone(self.board, found)
        return self._alone[found.question]

    def _above_budget(self, found: Gang, line: QuotaLine, needs: int) -> None:
        """Others pass it, but nobody who counts in the same budget for ever."""
        key = found.job.key
        self.ledger.wait(key, reasons.in_budget(line.budget, needs, line.used))
        # What others hold is not ours to wait for.
        may = needs <= line.budget.hard - line.budget.others
        if may and self.board.past(found.job.queued_at, self.board.limits.queue_patience):
            line.head = line.head or key

    def _admit(self, found: Gang, placed: list[list[int]], reason: Reason) -> None:
        if found.bill:
            found.bill.take(now=True)
        standings = stand_up(self.board, found, placed)
        self.board.standings.extend(standings)
        self.ledger.admitted[found.job.key] = (reason, standings)


def _allowed(found: Gang) -> bool:
    """By the budgets of its namespace, now."""
    return found.bill is None or found.bill.allows(now=True)


def _order(claim: Demand | Gang | Standing) -> tuple[int, bool, datetime, tuple[str, ...]]:
    """Priority, then others' pods, then first come first served."""
    if isinstance(claim, Demand):
        return (-claim.priority, False, _FIRST, (claim.example, repr(claim.shape)))
    return (-claim.job.priority, True, claim.job.queued_at, claim.job.key)
