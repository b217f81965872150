"""Blockers of a training job and their remedies, as sections of a screen."""

from collections.abc import Iterator, Sequence

from edl.messages import cause, remedy
from edl.model import JobKey
from edl.model.blockers import JobCondition, OwnCondition
from edl.planner.explain.explanation import Blockers, Explanation
from edl.visibility.namespace_queue import PublishedStops


def stop_sections(found: Explanation, roles: Sequence[str]) -> Iterator[str]:
    """Why it does not start, or why each of these roles has no more."""
    if found.start_blockers:
        yield _stops(f"Why {found.job.name} does not start:", found.start_blockers)
    for role in found.roles:
        if role.blockers and role.role in roles and not _is_fixed(role.blockers):
            yield _stops(
                f"Why not one more {role.role} (now {role.before}, next {role.after}):",
                role.blockers,
            )


def told_stops(job: JobKey, stops: PublishedStops) -> str:
    """Why it does not start, as the reconciler published it."""
    told = [(one.message, one.remediation) for one in stops.blockers]
    return _listed(f"Why {job.name} does not start:", told, complete=stops.complete)


def _is_fixed(stops: Blockers) -> bool:
    """The table says it."""
    return any(
        isinstance(one, OwnCondition) and one.what is JobCondition.FIXED for one in stops.blockers
    )


def _stops(title: str, stops: Blockers) -> str:
    told = [(cause(one), remedy(one)) for one in stops.blockers]
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
