"""Reservations of whole gangs, in the topology domains that they require and prefer."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from operator import itemgetter
from typing import Final, TypeAlias

from edl.feasibility.eligibility import Ints
from edl.feasibility.horizon import FUTURE_IDLE
from edl.model import Domain
from edl.planner.gangs import topology_placement
from edl.planner.gangs.gang import Gang
from edl.planner.packing.pod_class import PodSetRequest
from edl.planner.reclaiming.capacity_claim import repack, reserve_around_placed
from edl.planner.reclaiming.reservation import Reservation
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.extras.reclaimable import Reclaimable
from edl.planner.teams.reclaim_priority import ReclaimScope

_COMPARED: Final = 4
"""Most required domains whose evictions are compared for one claim."""

_Attempt: TypeAlias = Callable[[], Reservation | None]
_Loss: TypeAlias = tuple[int, int, int]
"""(the highest priority that yields, roles that restart, replicas)"""


@dataclass(slots=True)
class GangReservation:
    """Reserves future idle capacity for a whole gang, reclaiming extras within `scope`."""

    snapshot: Snapshot
    reclaimable: Reclaimable
    gang: Gang
    scope: ReclaimScope
    _failed: dict[tuple[Domain, ...], list[Reservation]] = field(default_factory=dict)
    """By the domains that were tried, the reservations that failed there, which are discarded."""

    def run(self) -> Reservation | None:
        """The reservation; None, and no change, if the gang does not fit.

        Of the tightest required domains, the one where least is lost (`_loss`); preferred domains
        are tried first. If it fits in none, all are tried again with chosen nodes (`repack`), but
        not after its pods did not get their nodes at a start.
        """
        for reach in self._reaches():
            if reservation := self._least_loss(self._attempts(reach)):
                return reservation
        if self.gang.failed_before:
            return None
        failed = chain.from_iterable(self._failed.values())
        return self._least_loss(partial(self._repacked, one) for one in failed)

    def gathered(self) -> Ints | None:
        """`MinimumNodes.with_gathered` for the domains that the gang requires."""
        labels = dict.fromkeys(label for _, label in self.gang.job.topology.required)
        domains = [*map(self.snapshot.domains.by_label, labels)]
        return self.reclaimable.minimums.with_gathered(domains, self.scope)

    def _reaches(self) -> Iterator[Ints]:
        """What the gang may use; then also what is gathered for it. int64[resources, nodes]."""
        topology, capacity = self.gang.job.topology, self.reclaimable.capacity
        yield capacity.with_idle(self.scope) if topology else self.snapshot.capacity.future_idle
        if topology.required and (gathered := self.gathered()) is not None:
            yield gathered

    def _least_loss(self, attempts: Iterable[_Attempt]) -> Reservation | None:
        """The first reservation that succeeds; if domains are required, the best of a few."""
        losses = list[tuple[_Loss, _Attempt]]()
        for attempt in attempts:
            reservation = attempt()
            if reservation is None:
                continue
            if not (self.gang.job.topology.required and reservation.evicted):
                return reservation
            losses.append((_loss(reservation), attempt))
            reservation.discard(self.reclaimable)
            if len(losses) == _COMPARED:
                break
        return min(losses, key=itemgetter(0))[1]() if losses else None

    def _attempts(self, reach: Ints) -> Iterator[_Attempt]:
        """An attempt in each choice of required domains that was not tried yet."""
        candidates = topology_placement.restricted_to_domains(
            self.snapshot, self.gang, reach, FUTURE_IDLE
        )
        for candidate in candidates:
            if candidate.domains not in self._failed:
                self._failed[candidate.domains] = []
                yield partial(self._reserve_close, candidate, reach)

    def _reserve_close(self, candidate: Gang, reach: Ints) -> Reservation | None:
        """Reserve in its required domains: in few preferred ones, if that is possible.

        `reach`: what its claim may use; int64[resources, nodes].
        """
        for requests in topology_placement.in_preferred_domains(self.snapshot, candidate, reach):
            reservation = reservation_of(self.snapshot, candidate, requests)
            if reserve_around_placed(reservation, self.reclaimable, self.scope, whole=True):
                return reservation
            self._failed[candidate.domains].append(reservation)
        return None

    def _repacked(self, reservation: Reservation) -> Reservation | None:
        return reservation if repack(reservation, self.reclaimable, self.scope) else None


def reservation_of(
    snapshot: Snapshot, gang: Gang, requests: Sequence[PodSetRequest] | None = None
) -> Reservation:
    """A reservation for a gang, whose pods may be restricted further (`requests`)."""
    wanted = list(gang.requests if requests is None else requests)
    return Reservation(snapshot.capacity, wanted, quota_request=gang.quota_request)


def _loss(reservation: Reservation) -> _Loss:
    """What other jobs lose for a claim that evicts replicas."""
    evicted = reservation.evicted
    restarts = sum(role.restarts_to_resize for role in evicted)
    replicas = sum(map(len, evicted.values()))
    return max(role.job.priority for role in evicted), restarts, replicas
