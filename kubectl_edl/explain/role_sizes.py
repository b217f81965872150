"""The table of an explanation: each role's size now and next, its bounds, and the reason."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from edl.model import Role, TrainingJob
from edl.planner.explain.explanation import RoleExplanation
from kubectl_edl.explain.explained_job import Explained
from kubectl_edl.model.job_reasons import Why, why_of, why_of_role
from kubectl_edl.output.table import Column, Table


class _RoleSize(NamedTuple):
    role: str
    now: int
    next: int
    low: str
    high: str
    why: str


_ROLES: Final[tuple[Column[_RoleSize], ...]] = (
    Column("ROLE", lambda one: one.role),
    Column("NOW", lambda one: str(one.now)),
    Column("NEXT", lambda one: str(one.next)),
    Column("MIN", lambda one: one.low),
    Column("MAX", lambda one: one.high),
    Column("WHY THIS SIZE", lambda one: one.why, shrinks=True),
)


def sizes_table(explained: Explained) -> Table:
    """One row per role that is shown, and per role whose Job is missing."""
    return Table.of(_ROLES, _sizes(explained))


def _sizes(explained: Explained) -> Iterator[_RoleSize]:
    planned = (
        {one.role: one for one in explained.explanation.roles} if explained.explanation else {}
    )
    for shown in explained.view.roles:
        role, one = shown.role, planned.get(shown.role.name)
        if role.name in explained.roles:
            sizes = (one.before, one.after) if one else (shown.size, shown.size)
            bounds = str(role.spec.min), str(role.spec.max)
            yield _RoleSize(
                role.name, *sizes, *bounds, why_this_size(explained.view.job, role, one).message
            )
    whole = len(explained.roles) == len(explained.view.roles)
    for name in explained.view.job.missing if whole else ():
        yield _RoleSize(name, 0, 0, "?", "?", "its Job does not exist")


def why_this_size(job: TrainingJob, role: Role, one: RoleExplanation | None) -> Why:
    """The reason of this plan, else the one of the role."""
    planned = one.reason if one and not role.status.ending else None
    return why_of(planned) if planned else why_of_role(job, role)
