"""One training job from near: its pods, its last changes, and what is in its way."""

from datetime import datetime
from typing import Final

from kubectl_edl.changes import last_changes
from kubectl_edl.find import training_job
from kubectl_edl.incarnations import jobs_of
from kubectl_edl.obstacles import obstacles
from kubectl_edl.pacing import pace, published
from kubectl_edl.printers.report import Report
from kubectl_edl.screens.detail import Detail, detail_report
from kubectl_edl.survey import Survey, allowed
from kubectl_edl.unplaced import unplaced
from kubectl_edl.views import JobView, view
from kubectl_edl.world import Connection

_CHANGES_SHOWN: Final = 10


def closeup(
    name: str, survey: Survey, connection: Connection, now: datetime, settings: str | None = None
) -> tuple[JobView, Report]:
    """The training job of this name in the survey, as `kubectl_edl.find` looks for it.

    `settings` are the reconciler's, as its Lease says them.
    """
    found = training_job(name, survey, connection)
    jobs = [role.job for role in found.roles]
    hints: list[str] = []
    changes = allowed(
        lambda: last_changes(
            connection.cluster, found.key.namespace, jobs_of([found]), _CHANGES_SHOWN
        ),
        "the last changes are missing",
        hints,
    )
    pods = allowed(lambda: unplaced(connection.cluster, found.key.namespace, jobs), "", [])
    shown = view(found)
    stuck = obstacles(shown, pods, changes, now)
    why = {pod.name: pod.why for pod in pods}
    detail = Detail(shown, changes, stuck, why, pace(found, published(settings)))
    return shown, detail_report(detail, now).hinting(hints)
