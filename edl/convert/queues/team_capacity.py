"""Guarantees and limits of each queue's team, computed from the leaves of the tree upwards."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

from edl.convert.queues.queue_facts import (
    CLUSTER_QUEUE,
    QUEUE,
    QueueAmounts,
    QueueCapacity,
    QueueFacts,
    QueueKey,
)
from edl.parsing.team_document import quantity_text
from edl.quantities import CPU, MEMORY, amount_text

_KAI: Final[Mapping[str, str]] = {CPU: "cpu", MEMORY: "memory"}
"""KAI's resource names; all GPU resources are "gpu"."""


def capacities(top_down: Sequence[QueueFacts]) -> Mapping[QueueKey, QueueCapacity]:
    """Capacity by queue: `guaranteed` is what its team states; `limit` includes what it may borrow.

    `top_down` has parents before their children. Inconsistent amounts are reported.
    """
    below: defaultdict[QueueKey, defaultdict[str, int]] = defaultdict(lambda: defaultdict(int))
    by_queue: dict[QueueKey, QueueCapacity] = {}
    for queue in reversed(top_down):
        stated = _stated(queue, below[queue.key])
        owed = {**below[queue.key], **stated}
        by_queue[queue.key] = QueueCapacity(
            stated, limit=_limit(queue, owed), lend=queue.capacity.lend and not _is_alone(queue)
        )
        if queue.parent_key:
            for resource, amount in owed.items():
                below[queue.parent_key][resource] += amount
    return by_queue


def _stated(queue: QueueFacts, below: QueueAmounts) -> QueueAmounts:
    """The team's guarantee: a cohort's own quota is added to the sum of its children's.

    A KAI quota below the sum of its children's is dropped, which is reported.
    """
    guaranteed = queue.capacity.guaranteed
    if queue.capacity.is_on_top:
        return {name: amount + below.get(name, 0) for name, amount in guaranteed.items() if amount}
    stated = {}
    for name, amount in guaranteed.items():
        if amount >= below.get(name, 0):
            stated[name] = amount
        elif amount:
            what = f"it is below the {amount_text(name, below[name])} of the queues below it"
            instead = "their sum is guaranteed: lower theirs, or raise it"
            queue.fields.lose(("spec", "resources", _kai_name(name), "quota"), what, instead)
    return {name: amount for name, amount in stated.items() if amount}


def _kai_name(resource: str) -> str:
    return _KAI.get(resource, "gpu")


def _is_alone(queue: QueueFacts) -> bool:
    """A ClusterQueue without a cohort neither borrows nor lends."""
    return queue.kind == CLUSTER_QUEUE and not queue.parent


def _limit(queue: QueueFacts, owed: QueueAmounts) -> QueueAmounts:
    if _is_alone(queue):
        if owed:
            what = "without a cohort it neither borrows nor lends: limit and lend say so"
            queue.fields.note("spec", what, "remove them where the team may share")
        return {name: owed.get(name, 0) for name in queue.capacity.guaranteed}
    capacity = queue.capacity
    limit = {name: owed.get(name, 0) + more for name, more in capacity.borrowing.items()}
    for name, most in capacity.limit.items():
        limit[name] = most
        if most < owed.get(name, 0):
            del limit[name]
            if most:
                _report_low_limit(queue, name, owed[name])
    return limit


def _report_low_limit(queue: QueueFacts, resource: str, owed: int) -> None:
    what = f"it is below the {amount_text(resource, owed)} that the team is guaranteed"
    instead = f"raise it to {quantity_text(resource, owed)}, or lower the guarantees"
    queue.fields.lose(("spec", "resources", _kai_name(resource), "limit"), what, instead)


def report_islands(queues: Sequence[QueueFacts]) -> None:
    """Note on each root cohort, if there are several: Kueue shares nothing between them."""
    roots = [one for one in queues if one.kind not in (CLUSTER_QUEUE, QUEUE) and not one.parent]
    for queue in roots if len(roots) > 1 else ():
        what = "cohorts share nothing with each other in Kueue, and teams share what is idle"
        queue.fields.note("metadata", what, f"cohort {queue.name}: a limit keeps it apart")
