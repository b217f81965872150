"""From seats to a plan: sizes before and after, and for everybody who could use more, why not."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from operator import attrgetter

from edl import phases, reasons
from edl.feasibility.gpu_shares import Horizon
from edl.model import Reason
from edl.planner.packing.pod_class import Fit, Want
from edl.planner.passes.fit_errors import no_node, short
from edl.planner.passes.growth import Ceiling
from edl.planner.passes.node_assignment import placements
from edl.planner.plan import Admission, Plan, ProvisioningRequest, Resize, Suspension
from edl.planner.snapshot import last_resizes
from edl.planner.snapshot.board import Board
from edl.planner.snapshot.decisions import Ledger
from edl.planner.snapshot.restart_backoff import counted
from edl.planner.snapshot.role_allocation import NOWHERE, Standing, target
from edl.planner.snapshot.topology_choice import ranked


@dataclass(slots=True)
class Decision:
    """Reads the board after everything has been decided."""

    board: Board
    ceiling: Ceiling
    ledger: Ledger
    _no_room: dict[Fit, Reason] = field(default_factory=dict)

    def plan(self) -> Plan:
        suspended = self.ledger.suspended
        standings = [
            found
            for found in sorted(self.board.standings, key=attrgetter("rank"))
            if found.job.key not in suspended
        ]
        resizes = list(self._resizes(standings))
        for standing in standings:
            self._explain(standing)
        return Plan(
            admissions=tuple(self._admissions()),
            # Shrinks first: they free the room that growth needs.
            resizes=tuple(sorted(resizes, key=lambda resize: resize.after > resize.before)),
            suspensions=tuple(Suspension(key, reason) for key, reason in suspended.items()),
            held=self.ledger.all_held(),
            placements=placements(self.board),
            recheck_after=min(self.board.wake, default=None),
            requests=tuple(self._requests()),
            unprovisioned=tuple(self.ledger.unprovisioned),
        )

    def _requests(self) -> Iterator[ProvisioningRequest]:
        image = self.board.limits.provisional_image
        for key, pods in self.ledger.requests.items():
            yield ProvisioningRequest(key, tuple(pods.items()), image)

    def _admissions(self) -> Iterator[Admission]:
        for key, (reason, standings) in self.ledger.admitted.items():
            sizes = {standing.role.name: standing.lasting for standing in standings}
            cast = [role.name for role in standings[0].job.roles if role.name in sizes]
            gated = (standing for standing in standings if standing.role.gated)
            nodes = tuple((standing.role.name, self._assigned(standing)) for standing in gated)
            found = tuple((name, sizes[name]) for name in cast)
            grown = [
                reasons.grown(standing.lasting, standing.role.max)
                for standing in standings
                if standing.lasting > standing.floor
            ]
            why = reasons.grew_smaller(reason) if _in_vain(standings) else reason
            yield Admission(key, found, why, tuple(grown), nodes)

    def _assigned(self, standing: Standing) -> tuple[str, ...]:
        """The nodes of the replicas that it gets in this plan, in the order of their indexes."""
        names = self.board.grid.nodes
        rows = [seat.row for seat in standing.seats if seat.fresh and seat.now]
        return tuple(names[row] for row in ranked(self.board, standing, rows))

    def _resizes(self, standings: Iterable[Standing]) -> Iterator[Resize]:
        for standing in standings:
            if not standing.moved:
                continue
            before, after = standing.role.size, standing.after
            if before != after and not standing.starts:
                manual = target(standing.role)
                grown = (
                    reasons.MANUAL
                    if manual is not None
                    else reasons.grown(after, standing.role.max)
                )
                reason = (standing.reason if after < before else None) or grown
                job, restart = standing.job, standing.restarts
                if restart:
                    reason = counted(self.board, job, reason)
                grows = standing.role.gated and after > before and not restart
                nodes = self._assigned(standing) if grows else ()
                yield Resize(job.key, standing.role.name, before, after, reason, restart, nodes)

    def _explain(self, standing: Standing) -> None:
        key = standing.job.key
        if standing.reason or standing.starts or key in self.ledger.held:
            return
        if unready := phases.unready(standing.job):
            self.ledger.hold(key, unready)
        elif standing.after < standing.cap:
            reason = standing.held or self.why_no_more(standing)
            self.ledger.hold(key, reason, standing.until)

    def why_no_more(self, standing: Standing) -> Reason:
        """What keeps a role that could use more from it, where nothing holds it."""
        if standing.promised and self._calms(standing):
            return reasons.MOVING
        if standing.promised:
            return reasons.leaving(standing.promised)
        if standing.bill and (line := standing.bill.short(now=False)):
            return reasons.in_budget(line.budget, standing.bill.cost(line), line.used)
        fit = standing.fit
        if fit not in self._no_room:
            self._no_room[fit] = self._no_room_for(fit)
        return self._no_room[fit]

    def _calms(self, standing: Standing) -> bool:
        return self.board.policy.share(standing, standing.lasting) >= self.board.calm

    def _no_room_for(self, fit: Fit) -> Reason:
        grid = self.board.grid
        if not fit.eligible.any():
            return reasons.no_node(no_node(self.board, fit))
        over = self.ceiling.over(fit, grid.idle_soon) or self.ceiling.over(fit, grid.idle_now)
        if over and fit.soon.find() != NOWHERE:
            return reasons.ceiling(self.board.limits.load_ceiling, over)
        lacks = short(self.board, grid.soon, [Want(fit, 1)], Horizon.FUTURE_IDLE)
        return reasons.no_room(fit.shape.requests, lacks, self.board.kept_to(fit))


def _in_vain(standings: Iterable[Standing]) -> bool:
    """Whether they were stopped to grow, and start smaller: they would be stopped again soon."""
    return any(
        last_resizes.grows(found.role) and found.lasting < found.role.size for found in standings
    )
