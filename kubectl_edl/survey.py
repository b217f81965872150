"""What a command reads before it answers: the same facts and the same `observe` as the reconciler.

A user of one namespace may read its Jobs and pods and nothing else; then a survey still answers,
and its hints say what is missing.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypeVar

from edl import contract
from edl.errors import Forbidden
from edl.kube import facts, jobfacts
from edl.kube.cluster import Cluster, Selection
from edl.kube.facts import NamespaceFacts, PodFacts, PriorityFacts
from edl.kube.jobfacts import JobFacts
from edl.kube.observe import Snapshot, observe
from edl.kube.shapes import Shapes
from edl.kube.watched import read_once
from edl.model import ClusterState, TrainingJob
from kubectl_edl.world import Connection

_ELASTIC: Final = contract.FRAMEWORK
_Fact = TypeVar("_Fact")


@dataclass(frozen=True, slots=True)
class Survey:
    """Training jobs, by namespace and name. `hints` name what could not be read, for stderr."""

    jobs: tuple[TrainingJob, ...]
    hints: tuple[str, ...] = ()


def survey_jobs(connection: Connection, now: datetime) -> Survey:
    """The training jobs without their pods: enough to change one. Raises Forbidden."""
    return Survey(_observed(_jobs(connection), (), (), now).jobs)


def survey_training(connection: Connection, selector: str, now: datetime) -> Survey:
    """The training jobs with their pods; `selector` chooses among them by their Jobs' labels.

    Raises Forbidden when the Jobs themselves may not be listed.
    """
    cluster, shapes = connection.cluster, Shapes()
    hints: list[str] = []
    jobs = _jobs(connection)
    pods = _allowed(
        lambda: _list(cluster, _pods_of(connection), lambda raw: facts.pod(raw, shapes)),
        "without its pods a started job shows as Starting",
        hints,
    )
    priorities = _allowed(
        lambda: _list(cluster, Selection("PriorityClass"), facts.priority),
        "priorities count as 0 here",
        hints if any(job.priority_class for job in jobs) else [],
    )
    found = _observed(jobs, pods, priorities, now).jobs
    return Survey(_selected(found, connection, selector), tuple(hints))


def survey_cluster(cluster: Cluster, now: datetime, hints: list[str] | None = None) -> ClusterState:
    """The whole cluster, as the reconciler sees it; `hints` gets what is missing in it.

    Raises Forbidden.
    """
    missed: dict[str, Forbidden] = {}
    state = observe(read_once(cluster, missed.__setitem__), now)
    if hints is not None:
        for kind, error in sorted(missed.items()):
            hints.append(f"hint: what a {kind} forbids is not known here: {error}")
    return state


def _list(cluster: Cluster, selection: Selection, read: Callable[[bytes], _Fact]) -> list[_Fact]:
    return [read(item) for item in cluster.list(selection).items]


def _jobs(connection: Connection, selector: str = "") -> list[JobFacts]:
    shapes = Shapes()
    labels = f"{_ELASTIC},{selector}" if selector else _ELASTIC
    selection = Selection("Job", connection.namespace, labels)
    return _list(connection.cluster, selection, lambda raw: jobfacts.job(raw, shapes))


def _pods_of(connection: Connection) -> Selection:
    """Only our pods: they carry the label of their Job."""
    return Selection("Pod", connection.namespace, _ELASTIC)


def _allowed(read: Callable[[], list[_Fact]], consequence: str, hints: list[str]) -> list[_Fact]:
    """What may be read; else nothing and a hint, because the answer is useful without it."""
    try:
        return read()
    except Forbidden as error:
        hints.append(f"hint: {consequence}: {error}")
        return []


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


def _selected(
    jobs: Iterable[TrainingJob], connection: Connection, selector: str
) -> tuple[TrainingJob, ...]:
    """A training job is chosen as a whole, when any of its Jobs is."""
    if not selector:
        return tuple(jobs)
    chosen = {job.key for job in _jobs(connection, selector)}
    return tuple(job for job in jobs if job.key in chosen)
