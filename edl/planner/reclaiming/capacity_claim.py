"""Completes reservations: on idle capacity, and by reclaiming extras.

Pods that fit at once are placed first, and keep their nodes, so that few extras have to yield. They
may keep others off the only nodes on which these fit later. If the claim fails so, the nodes of all
of its pods are chosen as if the extras had left, and the extras on these nodes yield.
"""

from edl.feasibility.horizon import FUTURE_IDLE, Horizon
from edl.planner.packing.chosen_nodes import choose_nodes
from edl.planner.packing.pod_class import PodSetRequest, pack
from edl.planner.reclaiming.reservation import Reservation
from edl.planner.snapshot.extras.reclaimable import Reclaimable
from edl.planner.teams.reclaim_priority import ReclaimScope


def reserve_capacity(
    reservation: Reservation, reclaimable: Reclaimable, scope: ReclaimScope, *, whole: bool
) -> bool:
    """Complete a reservation, if necessary by reclaiming replicas within `scope`.

    `whole`: place all pods, or discard the reservation and return False. Otherwise as many pods as
    possible are placed, and the result is True.
    """
    done = reserve_around_placed(reservation, reclaimable, scope, whole=whole)
    return done or repack(reservation, reclaimable, scope)


def reserve_around_placed(
    reservation: Reservation, reclaimable: Reclaimable, scope: ReclaimScope, *, whole: bool
) -> bool:
    """`reserve_capacity`, where the pods that fit at once keep their nodes."""
    reservation.claim_by(scope.right)
    if reservation.complete():
        return True
    missing = reservation.missing
    wanted = [request.pods for request in missing]
    reach = reclaimable.capacity.with_idle(scope)
    reachable = pack(reach, missing, Horizon.EMPTY)
    if reachable != wanted and (gathered := reclaimable.gather_minimums(missing, scope)):
        reachable, reach = gathered, reclaimable.capacity.with_idle(scope)
    if not whole:
        counts = zip(reservation.requests, reservation.nodes, reachable, strict=True)
        reservation.requests = [
            PodSetRequest(request.pod_class, len(nodes) + more) for request, nodes, more in counts
        ]
    elif reachable != wanted:
        reservation.discard(reclaimable)
        return False
    reservation.reclaim(reclaimable, scope, reach)
    if whole and not reservation.complete():
        reservation.discard(reclaimable)
        return False
    return True


def repack(reservation: Reservation, reclaimable: Reclaimable, scope: ReclaimScope) -> bool:
    """Complete a discarded reservation of several requests on nodes chosen for all pods together.

    False, and no change, if that fails, too.
    """
    requests, soon = reservation.requests, reservation.capacity.future_idle
    if sum(request.pods > 0 for request in requests) < 2:  # noqa: PLR2004 - the first search is exact
        return False
    chosen = choose_nodes(soon, reclaimable.capacity.with_idle(scope), requests)
    if chosen is None:
        return False
    reservation.quota_request.reserve(FUTURE_IDLE)
    reservation.place_on(chosen)
    if not reservation.complete():
        reservation.reclaim(reclaimable, scope, reclaimable.capacity.with_idle(scope))
    reservation.forget_choice(requests)
    if reservation.complete():
        return True
    reservation.discard(reclaimable)
    return False
