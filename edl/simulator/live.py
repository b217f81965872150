"""What-if: a world that begins as a cluster stands."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

from msgspec.structs import replace

from edl.model import ClusterState, Demand, Node, Pod, Shape, TrainingJob
from edl.resources import Resources
from edl.simulator.work import ENDLESS, Work
from edl.simulator.world import Service, Training, World


def _unknown(_job: TrainingJob) -> Work | None:
    return None


def from_state(
    state: ClusterState, remaining: Callable[[TrainingJob], Work | None] = _unknown
) -> World:
    """The cluster as observed, at second 0.

    `remaining`: what is still to do of a job (all of it for one that waits); None where nobody
    knows: it never ends. Other owners' pods stay where they are; those that wait go on waiting.
    """
    # Of one that is over, pods may still leave.
    jobs = [job for job in state.jobs if job.live or any(_bound([job]))]
    return World(
        nodes=_without(state.nodes, jobs),
        trainings=tuple(
            Training(job, remaining(job) or ENDLESS, queued_at=job.queued_at) for job in jobs
        ),
        services=tuple(_service(demand) for demand in state.demands),
        start=state.observed_at,
        budgets=state.budgets,
        neighbours=state.neighbours,
    )


def _service(demand: Demand) -> Service:
    namespace, _, name = demand.example.partition("/")
    steps = ((0.0, demand.count),)
    return Service(name, demand.shape, steps, demand.priority, namespace)


def _without(nodes: Iterable[Node], jobs: Iterable[TrainingJob]) -> tuple[Node, ...]:
    """The nodes with what others hold there: our pods take their room themselves."""
    held: defaultdict[str, Resources] = defaultdict(Resources)
    leaving: defaultdict[str, Resources] = defaultdict(Resources)
    for shape, pod in _bound(jobs):
        held[pod.node] += shape.requests
        if pod.terminating:
            leaving[pod.node] += shape.requests
    return tuple(
        replace(
            node,
            used=_positive(node.used - held[node.name]),
            leaving=_positive(node.leaving - leaving[node.name]),
        )
        for node in nodes
    )


def _bound(jobs: Iterable[TrainingJob]) -> Iterator[tuple[Shape, Pod]]:
    for job in jobs:
        for role in job.roles:
            yield from ((role.shape, pod) for pod in role.pods if pod.node and not pod.ended)


def _positive(amounts: Resources) -> Resources:
    """Pods of one role may ask for unequal amounts: never less than nothing is left."""
    return Resources.of({name: max(amount, 0) for name, amount in amounts})
