"""What a command reads before it answers: the same facts and the same `observe` as the reconciler.

A user of one namespace may read its Jobs and pods and nothing else; then a survey still answers,
and its hints say what is missing.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import TypeVar

import msgspec

from edl.errors import Forbidden
from edl.kube import facts, jobfacts
from edl.kube.cluster import Cluster
from edl.kube.facts import NamespaceFacts, PodFacts, PriorityFacts
from edl.kube.jobfacts import JobFacts
from edl.kube.observe import Snapshot, observe
from edl.kube.shapes import Shapes
from edl.model import ClusterState, TrainingJob
from kubectl_edl.asked import Asked, jobs_of
from kubectl_edl.world import Connection

_Fact = TypeVar("_Fact")


class Survey(msgspec.Struct, frozen=True):
    """Training jobs, by namespace and name. `hints` name what could not be read, for stderr."""

    jobs: tuple[TrainingJob, ...]
    hints: tuple[str, ...] = ()


def survey_jobs(connection: Connection, now: datetime) -> Survey:
    """The training jobs without their pods: enough to change one. Raises Forbidden."""
    return Survey(_observed(_jobs(connection), (), (), now).jobs)


def survey_training(
    connection: Connection, selector: str, now: datetime, asked: Asked | None = None
) -> Survey:
    """The training jobs with their pods; `selector` chooses among them by their Jobs' labels.

    `asked`: what was asked for before. Raises Forbidden when the Jobs themselves may not be listed.
    """
    shapes = Shapes()
    hints: list[str] = []
    listed = (asked or Asked(connection)).answers()
    jobs = [jobfacts.job(raw, shapes) for raw in listed.jobs()]
    pods = allowed(
        lambda: [facts.pod(raw, shapes) for raw in listed.pods()],
        "without its pods a started job shows as Starting",
        hints,
    )
    priorities = allowed(
        lambda: list(map(facts.priority, listed.priorities())),
        "priorities count as 0 here",
        hints if any(job.priority_class for job in jobs) else [],
    )
    found = _observed(jobs, pods, priorities, now).jobs
    return Survey(selected(found, connection, selector), tuple(hints))


def survey_cluster(cluster: Cluster, now: datetime, hints: list[str] | None = None) -> ClusterState:
    """The whole cluster, as the reconciler sees it; `hints` gets what is missing in it.

    Raises Forbidden.
    """
    from edl.kube.watched import read_once  # noqa: PLC0415 (what is watched: not for status)

    missed: dict[str, Forbidden] = {}
    state = observe(read_once(cluster, missed.__setitem__), now)
    if hints is not None:
        for kind, error in sorted(missed.items()):
            hints.append(f"hint: what a {kind} adds or forbids is not known here: {error}")
    return state


def _jobs(connection: Connection, selector: str = "") -> list[JobFacts]:
    shapes = Shapes()
    listing = connection.cluster.list(jobs_of(connection, selector))
    return [jobfacts.job(raw, shapes) for raw in listing.items]


def allowed(
    read: Callable[[], Sequence[_Fact]], consequence: str, hints: list[str]
) -> Sequence[_Fact]:
    """What may be read; else nothing and a hint, because the answer is useful without it."""
    try:
        return read()
    except Forbidden as error:
        hints.append(f"hint: {consequence}: {error}")
        return ()


def _observed(
    jobs: Sequence[JobFacts],
    pods: Sequence[PodFacts],
    priorities: Sequence[PriorityFacts],
    now: datetime,
) -> ClusterState:
    """What was not read is taken as it should be: a missing right is no problem of the job."""
    known = {priority.name for priority in priorities}
    unread = {job.priority_class for job in jobs} - known - {""}
    assumed = () if priorities else tuple(PriorityFacts(name, 0, default=False) for name in unread)
    namespaces = {job.key.namespace for job in jobs}
    return observe(
        Snapshot(
            pods=pods,
            jobs=jobs,
            priorities=(*priorities, *assumed),
            namespaces=[NamespaceFacts(name, kubexec=True) for name in namespaces],
        ),
        now,
    )


def selected(
    jobs: Iterable[TrainingJob], connection: Connection, selector: str
) -> tuple[TrainingJob, ...]:
    """A training job is chosen as a whole, when any of its Jobs is."""
    if not selector:
        return tuple(jobs)
    chosen = {job.key for job in _jobs(connection, selector)}
    return tuple(job for job in jobs if job.key in chosen)
