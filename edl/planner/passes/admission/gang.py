"""A gang: the suspended roles of a training job, which start all at once or not at all."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from edl import reasons
from edl.model import Domain, Reason, ResizePolicy, Role, Topology, TrainingJob
from edl.planner.packing.pack_order import pack_orders
from edl.planner.packing.pod_class import PodClass, PodSetRequest, reserve_pods, unreserve_pods
from edl.planner.snapshot import last_resizes
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.growth_gates import cool_down_after_restart
from edl.planner.snapshot.quota_balance import QuotaLine, QuotaRequest
from edl.planner.snapshot.restart_backoff import failed_starts
from edl.planner.snapshot.role_allocation import (
    ROLES_PER_JOB,
    Placement,
    RoleAllocation,
    manual_size,
    start_size,
)


class Gang(msgspec.Struct, frozen=True):
    """`roles` and `wants` in the same order, the hardest to place first."""

    job: TrainingJob
    roles: tuple[Role, ...]
    wants: tuple[PodSetRequest, ...]
    returns: bool = False
    """It was stopped to start again, at the sizes that its roles have."""
    bill: QuotaRequest | None = None
    """What it counts in budgets as a whole."""
    domains: tuple[Domain, ...] = ()
    """Those that its pods are kept to here."""

    @property
    def pods(self) -> int:
        return sum(want.pods for want in self.wants)

    @property
    def partial(self) -> bool:
        """Other roles of the job are started already."""
        return len(self.roles) < len(self.job.live)

    @property
    def again(self) -> bool:
        """Its last start came to nothing."""
        return failed_starts(self.roles) > 0

    @property
    def why(self) -> Reason | None:
        """Why it was stopped to start again."""
        return next(
            (role.last for role in self.roles if last_resizes.stopped_to_resize(role)), None
        )

    @property
    def reason(self) -> Reason:
        """The reason of its start."""
        if self.why:
            return reasons.restarted(self.why)
        return replace(reasons.started(self.pods), attempts=failed_starts(self.roles))

    @property
    def question(self) -> "GangSignature":
        """Equal for gangs for which room is looked for alike, and that are told the same."""
        names = tuple(role.name for role in self.roles)
        costs = self.bill.costs if self.bill else ()
        return GangSignature(self.wants, names, costs, self.again, self.job.topology)


class GangSignature(NamedTuple):
    """What decides whether a gang finds room, besides how much of others' room it may take."""

    wants: tuple[PodSetRequest, ...]
    roles: tuple[str, ...]
    costs: tuple[tuple[QuotaLine, int], ...]
    """What it counts in budgets."""
    again: bool
    """Its last start came to nothing, so no other gang is suspended for it."""
    topology: Topology


def gang_to_start(board: Snapshot, job: TrainingJob, *, returns: bool = False) -> Gang:
    """What is missing to start this job: every suspended role at its start size.

    `returns`: at the size for which it was stopped.
    """
    roles = [role for role in job.live if role.suspended]
    size = _size_of_return if returns else start_size
    pairs = [(role, PodSetRequest(board.rows_of(role.shape).fit, size(role))) for role in roles]
    if len(pairs) > 1:
        pairs.sort(key=lambda pair: (pair[1].fit.follows, -_hardness(board, pair[1].fit)))
    bill = board.budgets.bill_of(job, [(role, want.pods) for role, want in pairs])
    roles, wants = [role for role, _ in pairs], [want for _, want in pairs]
    return Gang(job, tuple(roles), tuple(wants), returns, bill)


def is_restarting(board: Snapshot, job: TrainingJob) -> bool:
    """Whether this job was stopped a moment ago, to start again at other sizes."""
    return any(
        role.suspended
        and last_resizes.stopped_to_resize(role)
        and not board.past(role.resized_at, board.limits.gang_limit)
        for role in job.live
    )


def _size_of_return(role: Role) -> int:
    """What it was stopped for: there is room for so much."""
    wanted, size = manual_size(role), min(max(role.size, role.min), role.max)
    return size if wanted is None else min(wanted, size)


def _hardness(board: Snapshot, fit: PodClass) -> float:
    """The largest part of an average node that one pod asks for (first fit decreasing)."""
    return max((amount / (board.totals[line] or 1) for line, amount in fit.need), default=0.0)


def reserve_idle(board: Snapshot, wants: Sequence[PodSetRequest]) -> list[list[int]] | None:
    """Room for all pods at once that is free now and promised to nobody; None, and no change."""
    for order in pack_orders(wants):
        found = _place_in_order(board, [wants[at] for at in order])
        if found is not None:
            return [found[order.index(at)] for at in range(len(wants))]
    return None


def _place_in_order(board: Snapshot, wants: Sequence[PodSetRequest]) -> list[list[int]] | None:
    marks = [want.fit.both.mark() for want in wants]
    placed: list[list[int]] = []
    for want in wants:
        placed.append(reserve_pods(board.grid, want, now=True))
        if len(placed[-1]) < want.pods:
            break
    else:
        return placed
    for want, rows in zip(wants, placed, strict=False):
        unreserve_pods(board.grid, want.fit, rows, now=True)
    for want, mark in zip(wants, marks, strict=True):
        want.fit.both.back_to(mark)
    return None


def admit_roles(
    board: Snapshot, found: Gang, placed: Sequence[Sequence[int]]
) -> list[RoleAllocation]:
    """The roles of a gang that starts in this plan; they may grow at once."""
    standings = []
    numbers = {role.name: number for number, role in enumerate(found.job.roles)}
    for role, want, rows in zip(found.roles, found.wants, placed, strict=True):
        rank = board.place_of(found.job.key) * ROLES_PER_JOB + numbers[role.name]
        standing = RoleAllocation(found.job, role, rank, want.fit, board.bulk(want.fit))
        standing.seats = [Placement(row, now=True, fresh=True) for row in rows]
        standing.coming = len(rows)
        standing.floor = want.pods
        standing.cap = _most_at_start(found, role, want.pods)
        standing.starts = True
        standing.bill = board.budgets.bill(found.job, role)
        if found.returns:
            cool_down_after_restart(board, standing)
        standings.append(standing)
    return standings


def _most_at_start(found: Gang, role: Role, size: int) -> int:
    if role.wanted is not None or role.resizing is ResizePolicy.FIXED:
        # A manual size that is larger by now comes at once, as far as there is room.
        return start_size(role) if last_resizes.stopped_for_manual_size(role) else size
    # Who was stopped for a size has grown to it already, or made room: more would be taken again.
    most = min(role.size, role.max) if found.why else role.max
    return max(size, most if role.remaining is None else min(most, role.remaining))


def has_previous_pods(board: Snapshot, found: Gang) -> bool:
    """Whether pods of an earlier start still hold nodes.

    On a node that is lost a pod may terminate for ever, and its room is nobody's anyway.
    """
    return any(
        pod.node and not pod.ended and not (pod.terminating and _is_lost(board, pod.node))
        for role in found.roles
        for pod in role.pods
    )


def _is_lost(board: Snapshot, node: str) -> bool:
    row = board.grid.rows.get(node)
    return row is None or not board.grid.open[row]


def delays(found: Gang, head: Gang) -> bool:
    """Whether a gang that starts first may keep another one from starting, for as long as it runs.

    By a place on a node that both could use, or by what it leaves of a budget that both count in
    (as Kueue's StrictFIFO holds back a flavor's queue, not the others').
    """
    if any(own.fit.contends(other.fit) for own in head.wants for other in found.wants):
        return True
    mine, bill = head.bill, found.bill
    if mine is None or bill is None:
        return False
    return any(line.soon - cost < mine.cost(line) for line, cost in bill.costs if mine.cost(line))
