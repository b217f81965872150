"""Team names of queues and cohorts, which share one name space."""

from collections.abc import Mapping, Sequence

from edl.convert.queues.queue_facts import COHORT, QueueFacts, QueueKey
from edl.model import DEFAULT_TEAM


def named_teams(queues: Sequence[QueueFacts]) -> Mapping[QueueKey, str]:
    """Team names by queue. Two objects with one name, and one object listed twice, are reported."""
    names: dict[QueueKey, str] = {}
    taken: dict[str, QueueFacts] = {}
    for queue in sorted(queues, key=lambda one: one.kind == COHORT):
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
