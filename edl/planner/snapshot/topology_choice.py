"""Started roles and the domains that they require or prefer."""

from collections import Counter
from collections.abc import Sequence
from itertools import chain, islice

from edl.model import Role, TrainingJob
from edl.planner.packing.pod_class import PodClass, PodSetRequest
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.role_allocation import NO_NODE, RoleAllocation


def domain_of(board: Snapshot, job: TrainingJob, role: str, label: str) -> int:
    """The domain where most pods of a started role are, "" for those of all; NOWHERE without."""
    rows, numbers = board.capacity.index, board.domains(label).of_nodes
    started = _started(job, role)
    pods = [pod.node or pod.assigned for one in started for pod in one.pods if pod.active]
    names = [*filter(None, pods)] or [name for one in started for name in one.assigned.nodes]
    found = Counter(int(numbers[rows[name]]) for name in names if name in rows)
    del found[NO_NODE]
    return max(sorted(found), key=found.__getitem__, default=NO_NODE)


def restricted_to_started(board: Snapshot, standing: RoleAllocation) -> PodClass:
    """The shape of a started role on the nodes of the domains that its pods are to stay in."""
    fit = standing.pod_class
    for role, label in standing.job.topology.required:
        if role in ("", standing.role.name):
            number = domain_of(board, standing.job, role, label)
            if number == NO_NODE:  # none of its pods has a node, and no plan for them is known
                number = _best(board, standing.job, role, label)
            fit = fit if number == NO_NODE else board.within_domain(fit, label, number)
    return fit


def _best(board: Snapshot, job: TrainingJob, role: str, label: str) -> int:
    """The domain that fits a started role best, "" for all of them; NOWHERE without."""
    wants = [
        PodSetRequest(board.pod_class_state(one.shape).pod_class, one.size)
        for one in _started(job, role)
    ]
    return next(board.ranking(label, wants, now=True).tightest(wants), NO_NODE)


def _started(job: TrainingJob, role: str) -> list[Role]:
    return [one for one in job.live if not one.suspended and role in ("", one.name)]


def node_in_preferred_domain(board: Snapshot, standing: RoleAllocation, *, now: bool) -> int:
    """A node for one more, in a preferred domain of its role, the narrowest first; or NOWHERE.

    Where that begins another narrower domain, it is one with room for what may follow.
    """
    labels = standing.job.topology.preferred
    taken = sorted({seat.node for seat in standing.placements if seat.node != NO_NODE})
    for depth in reversed(range(len(labels))):
        label = labels[depth]
        for number in sorted({*board.domains(label).of_nodes[taken].tolist()} - {NO_NODE}):
            fit = board.within_domain(standing.pod_class, label, number)
            if _find(fit, now=now) != NO_NODE:
                return _begun(board, standing, fit, labels[depth + 1 :], now=now)
    return _begun(board, standing, standing.pod_class, labels, now=now) if labels else NO_NODE


def _begun(
    board: Snapshot, standing: RoleAllocation, fit: PodClass, labels: Sequence[str], *, now: bool
) -> int:
    """A node in the domain that fits its growth best, else in the roomiest one; or NOWHERE."""
    wants = [PodSetRequest(fit, max(standing.max_replicas - len(standing.placements), 1))]
    for label in labels:
        domains = board.domains(label)
        if len(domains.values) == len(domains.of_nodes):
            break  # of single nodes the fullest comes first, as everywhere
        ranking = board.ranking(label, wants, now=now)
        for number in islice(chain(ranking.tightest(wants), ranking.roomiest(wants)), 1):
            wants = [
                PodSetRequest(board.within_domain(wants[0].pod_class, label, number), wants[0].pods)
            ]
    row = _find(wants[0].pod_class, now=now)
    return row if row != NO_NODE else _find(fit, now=now)


def _find(fit: PodClass, *, now: bool) -> int:
    return (fit.idle if now else fit.future_idle).find()


def in_domain_order(board: Snapshot, standing: RoleAllocation, rows: list[int]) -> list[int]:
    """Nodes of its replicas in the order of their domains: neighbours in rank are near."""
    labels = standing.job.topology.labels
    if not labels:
        return rows
    columns = [board.domains(label).of_nodes for label in labels]
    return sorted(rows, key=lambda row: (*(int(column[row]) for column in columns), row))
