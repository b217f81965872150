"""The table of an explanation: each role's size now and next, its bounds, and the reason."""

from collections.abc import Iterator

from edl.model import Role, TrainingJob
from edl.planner.explain.explanation import RoleExplanation
from kubectl_edl.explain.explained_job import ExplainedJob
from kubectl_edl.job_views.job_reasons import Why, why_of, why_of_role
from kubectl_edl.output.table import Column, Table


def sizes_table(explained: ExplainedJob) -> Table:
    """One row per role that is shown, and per role whose Job is missing."""
    titles = ("ROLE", "NOW", "NEXT", "MIN", "MAX")
    columns: tuple[Column[str], ...] = (
        *map(Column, titles),
        Column("WHY THIS SIZE", shrinks=True),
    )
    return Table.of_rows(columns, _rows(explained))


def _rows(explained: ExplainedJob) -> Iterator[tuple[str, ...]]:
    planned = {one.role: one for one in explained.decided.roles}
    for shown in explained.view.roles:
        role, change = shown.role, planned.get(shown.role.name)
        if role.name in explained.roles:
            sizes = (change.before, change.after) if change else (shown.size, shown.size)
            numbers = map(str, (*sizes, role.spec.min, role.spec.max))
            yield role.name, *numbers, why_this_size(explained.view.job, role, change).message
    whole = len(explained.roles) == len(explained.view.roles)
    for name in explained.view.job.missing if whole else ():
        there = name not in explained.view.job.absent
        why = "its Job is left out" if there else "its Job does not exist"
        yield name, "0", "0", "?", "?", why


def why_this_size(job: TrainingJob, role: Role, change: RoleExplanation | None) -> Why:
    """The reason of this plan, else the one of the role."""
    planned = change.reason if change and not role.status.ending else None
    return why_of(planned) if planned else why_of_role(job, role)
