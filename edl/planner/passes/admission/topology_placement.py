"""Gangs near each other: kept to the domains that they require, in few of those that they prefer.

As in Kueue's topology-aware scheduling, the domain with the least room that is enough comes first
(best fit), so that large ones stay free for large gangs.
"""

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
from msgspec.structs import replace

from edl.feasibility.gpu_shares import Horizon
from edl.model import Domain
from edl.planner.packing.domain_capacity import Domains, Ranking
from edl.planner.packing.node_capacity import Ints
from edl.planner.packing.pack_order import most, placed
from edl.planner.packing.pod_class import Want
from edl.planner.passes.admission.gang import Gang, place_now
from edl.planner.snapshot.board import Board
from edl.planner.snapshot.role_allocation import NOWHERE
from edl.planner.snapshot.topology_choice import domain_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from edl.planner.packing.pod_class import Fit

_COMBINED: Final = 32
"""Combinations of domains that are tried where several roles require one of their own."""

Rows: TypeAlias = list[list[int]]
"""Of each want the nodes of its pods."""
_Required: TypeAlias = Sequence[tuple[str, str]]
_Reach: TypeAlias = tuple[Ints | None, Horizon]
"""Room by node, None for what is idle and followed as pods are placed."""


def place(board: Board, found: Gang) -> tuple[Gang, Rows] | None:
    """Room for all pods that is free now and promised to nobody; None, and no change.

    The gang is kept to the domains that it requires, also when it grows.
    """
    for gang in kept(board, found):
        rows = _close(board, gang.wants, found.job.topology.preferred)
        if rows is not None:
            return gang, rows
    return None


def place_again(board: Board, found: Gang) -> tuple[Gang, Rows] | None:
    """The nodes of its last start, where they have room for all pods; None, and no change.

    A job that gave replicas by its restart thereby leaves their nodes to the job that takes them.
    """
    wanted = [
        [board.grid.rows.get(role.assigned.node(index), NOWHERE) for index in range(want.pods)]
        for role, want in zip(found.roles, found.wants, strict=True)
    ]
    gang = None if any(NOWHERE in rows for rows in wanted) else kept_at(board, found, wanted)
    if gang is None:
        return None
    placed: list[tuple[int, Fit]] = []
    for (fit, _), rows in zip(gang.wants, wanted, strict=True):
        for row in rows:
            if not (fit.eligible[row] and fit.takes(row, now=True)):
                for taken, by in placed:
                    board.grid.untake(taken, by, now=True)
                return None
            board.grid.take(row, fit, now=True)
            placed.append((row, fit))
    return gang, wanted


def kept(
    board: Board, found: Gang, room: Ints | None = None, horizon: Horizon = Horizon.IDLE
) -> Iterator[Gang]:
    """The gang kept to domains that seem to have room for it, the best fit first.

    As it is where it requires no topology. Without `room`, in what is idle.
    """
    every = _kept(board, found, found.job.topology.required, (room, horizon))
    return islice(every, _COMBINED)


def _kept(board: Board, gang: Gang, required: _Required, reach: _Reach) -> Iterator[Gang]:
    if not required:
        yield gang
        return
    (role, label), *rest = required
    wants, domains = _wants(gang, role), board.domains(label)
    fixed = domain_of(board, gang.job, role, label)
    numbers: Iterable[int] = [fixed if wants else NOWHERE]
    if wants and fixed == NOWHERE:
        numbers = _ranking(board, label, wants, reach).tightest(wants)
    for number in numbers:
        yield from _kept(board, _keep(board, gang, role, domains, number), rest, reach)


def _ranking(board: Board, label: str, wants: Sequence[Want], reach: _Reach) -> Ranking:
    room, horizon = reach
    if room is None:
        return board.ranking(label, wants, now=True)
    fits = [want.fit for want in wants]
    return Ranking(board.domains(label), fits, lambda rows: room[:, rows], horizon)


def kept_at(board: Board, found: Gang, rows: Sequence[Sequence[int]]) -> Gang | None:
    """The gang kept to the domains of these nodes; None where they are not what it requires."""
    gang = found
    for role, label in found.job.topology.required:
        domains = board.domains(label)
        mine = [
            taken for one, taken in zip(gang.roles, rows, strict=True) if role in ("", one.name)
        ]
        numbers = {int(domains.rows[row]) for taken in mine for row in taken}
        if len(numbers) > 1 or NOWHERE in numbers:
            return None
        for number in numbers:
            gang = _keep(board, gang, role, domains, number)
    return gang


def nearest(board: Board, found: Gang, room: Ints, horizon: Horizon) -> tuple[Gang, int] | None:
    """The gang kept to the domains where most of its pods fit, and how many do.

    None where no node that it may use is in such a domain.
    """
    gang = found
    for role, label in found.job.topology.required:
        wants, domains = _wants(gang, role), board.domains(label)
        number = domain_of(board, gang.job, role, label)
        if number == NOWHERE:
            ranking = _ranking(board, label, wants, (room, horizon))
            number = next(chain(ranking.roomiest(wants), _usable(wants, domains)), NOWHERE)
        if wants and number == NOWHERE:
            return None
        gang = _keep(board, gang, role, domains, number)
    return gang, most(room, gang.wants, horizon)


def fits_empty(board: Board, found: Gang) -> bool:
    """Whether it could start if none of our training jobs ran."""
    room = board.ours_gone()
    every = kept(board, found, room, Horizon.EMPTY)
    return any(most(room, gang.wants, Horizon.EMPTY) == found.pods for gang in every)


def near(board: Board, found: Gang, room: Ints) -> Iterator[tuple[Want, ...]]:
    """Its pods in one domain of those that it prefers, the narrowest first; at last as they are."""
    for label in reversed(found.job.topology.preferred):
        domains = board.domains(label)
        ranking = _ranking(board, label, found.wants, (room, Horizon.FUTURE_IDLE))
        for number in islice(ranking.tightest(found.wants), 1):
            yield _within(board, found.wants, domains, number)
    yield found.wants


def _close(board: Board, wants: Sequence[Want], labels: Sequence[str]) -> Rows | None:
    """All pods in the fewest domains of each label, that of the widest first; None: no change.

    One domain of a narrow label is one of the wider ones, so that the narrowest are tried first.
    """
    for depth in range(len(labels), 0, -1):
        label = labels[depth - 1]
        domains = board.domains(label)
        for number in board.ranking(label, wants, now=True).tightest(wants):
            rows = _spread(board, _within(board, wants, domains, number), labels[depth:])
            if rows is not None:
                return rows
    return _spread(board, wants, labels)


def _spread(board: Board, wants: Sequence[Want], labels: Sequence[str]) -> Rows | None:
    """In several domains of each label, the fewest of the widest first; None: no change."""
    if not labels:
        return place_now(board, wants)
    domains = board.domains(labels[0])
    if len(labels) == 1:
        return _over(board, wants, domains) or place_now(board, wants)
    there = _fewest(board, wants, domains)
    return _spread(board, there, labels[1:]) or place_now(board, wants)


def _fewest(board: Board, wants: Sequence[Want], domains: Domains) -> Sequence[Want]:
    """The pods kept to the fewest domains that hold all of them; as they are without such."""
    room, left, chosen = board.grid.idle(), [*wants], list[int]()
    ranking = board.ranking(domains.label, wants, now=True)
    for number in ranking.roomiest(wants):
        if number in chosen:
            continue
        last = ranking.tightest(left)
        chosen.append(next((one for one in last if one not in chosen), number))
        there = _within(board, left, domains, chosen[-1])
        counts = placed(room, there, Horizon.IDLE)
        left = [Want(fit, pods - count) for (fit, pods), count in zip(left, counts, strict=True)]
        if not any(want.pods for want in left):
            mask = np.isin(domains.rows, chosen)
            return [Want(fit.within(mask), pods) for fit, pods in wants]
    return wants


def _over(board: Board, wants: Sequence[Want], domains: Domains) -> Rows | None:
    """In several domains: the roomiest first, and the rest in the one that fits it best."""
    rows: Rows = [[] for _ in wants]
    left = [*wants]
    ranking = board.ranking(domains.label, wants, now=True)
    for number in ranking.roomiest(wants):
        there = _within(board, left, domains, next(ranking.tightest(left), number))
        counts = placed(board.grid.idle(), there, Horizon.IDLE)
        part = [Want(want.fit, count) for want, count in zip(there, counts, strict=True)]
        found = place_now(board, part) or [[] for _ in wants]
        rows = [taken + more for taken, more in zip(rows, found, strict=True)]
        left = [
            Want(want.fit, want.pods - len(taken)) for want, taken in zip(wants, rows, strict=True)
        ]
        if not any(want.pods for want in left):
            return rows
    for want, taken in zip(wants, rows, strict=True):
        for row in taken:
            board.grid.give(row, want.fit, now=True)
    return None


def _wants(gang: Gang, role: str) -> list[Want]:
    """Those of one role, "" for all."""
    pairs = zip(gang.roles, gang.wants, strict=True)
    return [want for one, want in pairs if role in ("", one.name)]


def _keep(board: Board, gang: Gang, role: str, domains: Domains, number: int) -> Gang:
    """With a role, "" for all, kept to one domain; as it is for NOWHERE."""
    if number == NOWHERE:
        return gang
    wants = [
        _within(board, (want,), domains, number)[0] if role in ("", one.name) else want
        for one, want in zip(gang.roles, gang.wants, strict=True)
    ]
    domain = Domain(domains.label, domains.values[number], role)
    return replace(gang, wants=tuple(wants), domains=(*gang.domains, domain))


def _within(board: Board, wants: Sequence[Want], domains: Domains, number: int) -> tuple[Want, ...]:
    label = domains.label
    return tuple(Want(board.within(fit, label, number), pods) for fit, pods in wants)


def _usable(wants: Sequence[Want], domains: Domains) -> list[int]:
    """A domain with nodes that the pods may use, full as it is."""
    usable = np.all([want.fit.eligible for want in wants], axis=0) & (domains.rows != NOWHERE)
    found: list[int] = domains.rows[usable][:1].tolist()
    return found
