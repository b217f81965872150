"""The tree of queues: cohorts without an object of their own, and cycles."""

from collections.abc import Mapping, Sequence
from typing import Final

from edl.convert.queues.queue_facts import COHORT, QueueFacts, QueueKey

_SHOWN: Final = 8


def with_named_cohorts(queues: Sequence[QueueFacts]) -> tuple[QueueFacts, ...]:
    """`queues`, and a cohort for each one that is named but has no object of its own.

    A missing parent of a KAI queue is reported: it must have an object.
    """
    known = {queue.key for queue in queues}
    added: dict[QueueKey, QueueFacts] = {}
    for queue in queues:
        key = queue.parent_key
        if key is None or key in known:
            continue
        if key[0] == COHORT:
            added.setdefault(key, QueueFacts(COHORT, queue.parent, queue.fields))
        else:
            what = f'no Queue is named "{queue.parent[:63]}"'
            queue.fields.wrong_at(queue.parent_place, what, "convert it together with its parent")
    return (*queues, *added.values())


def report_circles(queues: Sequence[QueueFacts]) -> None:
    """Report each cycle once, at one of its members."""
    by_key = {queue.key: queue for queue in queues}
    done: set[QueueKey] = set()
    for queue in queues:
        path: dict[QueueKey, None] = {}
        at: QueueKey | None = queue.key
        while at is not None and at not in done and at not in path:
            path[at] = None
            at = by_key[at].parent_key if at in by_key else None
        if at is not None and at in path:
            _report(by_key[at], _circle(path, at))
        done |= path.keys()


def _circle(path: Mapping[QueueKey, None], first: QueueKey) -> list[str]:
    members = list(path)
    return [name for _, name in members[members.index(first) :]]


def _report(queue: QueueFacts, circle: list[str]) -> None:
    more = ["…"] if len(circle) > _SHOWN else []
    text = " → ".join([*circle[:_SHOWN], *more, circle[0]])
    queue.fields.wrong_at(queue.parent_place, f"a circle: {text}", "leave one of them out")
