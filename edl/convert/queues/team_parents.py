"""The tree of queues: their teams' names, cohorts without an object of their own, cycles."""

from collections.abc import Mapping, Sequence
from typing import Final

from edl.convert.queues.queue_facts import COHORT, QueueFacts, QueueKey
from edl.model import DEFAULT_TEAM

_SHOWN: Final = 8


def with_named_cohorts(queues: Sequence[QueueFacts]) -> tuple[QueueFacts, ...]:
    """`queues`, and a cohort for each one that is named but has no object of its own.

    A missing parent of a KAI queue is reported: it must have an object.
    """
    keys = {queue.key for queue in queues}
    added: dict[QueueKey, QueueFacts] = {}
    for queue in queues:
        key = queue.parent_key
        if key is None or key in keys:
            continue
        if key[0] == COHORT:
            added.setdefault(key, QueueFacts(COHORT, queue.parent, queue.fields))
        else:
            what = f'no Queue is named "{queue.parent[:63]}"'
            queue.fields.wrong(queue.parent_place, what, "convert it together with its parent")
    return (*queues, *added.values())


def report_circles(queues: Sequence[QueueFacts]) -> None:
    """Report each cycle once, at one of its members."""
    by_key = {queue.key: queue for queue in queues}
    done: set[QueueKey] = set()
    for queue in queues:
        path: dict[QueueKey, None] = {}
        key: QueueKey | None = queue.key
        while key is not None and key not in done and key not in path:
            path[key] = None
            key = by_key[key].parent_key if key in by_key else None
        if key is not None and key in path:
            _report(by_key[key], _circle(path, key))
        done |= path.keys()


def _circle(path: Mapping[QueueKey, None], first: QueueKey) -> list[str]:
    members = list(path)
    return [name for _, name in members[members.index(first) :]]


def _report(queue: QueueFacts, circle: list[str]) -> None:
    more = ["…"] if len(circle) > _SHOWN else []
    text = " → ".join([*circle[:_SHOWN], *more, circle[0]])
    queue.fields.wrong(queue.parent_place, f"a circle: {text}", "leave one of them out")


def named_teams(queues: Sequence[QueueFacts]) -> Mapping[QueueKey, str]:
    """Team names by queue. Two objects with one name, and one object listed twice, are reported."""
    names: dict[QueueKey, str] = {}
    taken: dict[str, QueueFacts] = {}
    for queue in sorted(queues, key=lambda queue: queue.kind == COHORT):
        if not queue.name:
            continue
        if queue.key in names:
            what = f"{queue.kind} {queue.name} is listed twice"
            queue.fields.wrong("metadata", what, "keep one of them")
            continue
        name = _free_name(queue, taken)
        before = taken.get(name)
        if before is not None:
            what = f'the team "{name}" is {before.kind} {before.name} already'
            queue.fields.wrong("metadata", what, "give one of them another name")
            continue
        names[queue.key], taken[name] = name, queue
        if name != queue.name:
            queue.fields.note("metadata", f'the team is named "{name}"')
    return names


def _free_name(queue: QueueFacts, taken: Mapping[str, QueueFacts]) -> str:
    """A DNS label with a suffix for `default`, and for a cohort that is named like a queue."""
    name = queue.name.replace(".", "-")
    suffix = "cohort" if queue.kind == COHORT else "queue"
    taken_by_queue = queue.kind == COHORT and name in taken
    return f"{name}-{suffix}" if name == DEFAULT_TEAM or taken_by_queue else name
