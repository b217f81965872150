"""What is in the way of a training job, and what would change it, as sections of a screen."""

from collections.abc import Iterator, Sequence

from edl.messages import cause, remedy
from edl.model import JobKey
from edl.model.blockers import Hindrance, Itself
from edl.planner.explain.explanation import Explanation, Stops
from edl.visibility.namespace_queue import PublishedStops


def stop_sections(found: Explanation, roles: Sequence[str]) -> Iterator[str]:
    """Why it does not start, or why each of these roles has no more."""
    if found.start:
        yield _stops(f"Why {found.job.name} does not start:", found.start)
    for role in found.roles:
        if role.stops and role.role in roles and not _is_fixed(role.stops):
            yield _stops(
                f"Why not one more {role.role} (now {role.now}, next {role.after}):", role.stops
            )


def told_stops(job: JobKey, stops: PublishedStops) -> str:
    """Why it does not start, as the reconciler published it."""
    told = [(one.message, one.remediation) for one in stops.blockers]
    return _listed(f"Why {job.name} does not start:", told, complete=stops.complete)


def _is_fixed(stops: Stops) -> bool:
    """The table says it."""
    return any(isinstance(one, Itself) and one.what is Hindrance.FIXED for one in stops.causes)


def _stops(title: str, stops: Stops) -> str:
    told = [(cause(one), remedy(one)) for one in stops.causes]
    return _listed(title, told, complete=stops.complete)


def _listed(title: str, told: Sequence[tuple[str, str]], *, complete: bool) -> str:
    lines = [title]
    for number, (says, helps) in enumerate(told, 1):
        then = "and then, " if number > 1 else ""
        lines.append(f"  {number}. {then}{says}")
        if helps:
            lines.append(f"     would help: {helps}")
    if not complete and any(helps for _, helps in told):
        lines.append("  There may be more in the way behind this.")
    return "".join(f"{line}\n" for line in lines)
