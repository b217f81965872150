"""Provisional pods as kube-scheduler sees them: below all others, and gone for any of these.

They keep no rules about other pods: where they go is decided by requests, labels and taints.
"""

from dataclasses import dataclass, field
from functools import partial
from operator import attrgetter
from typing import Final, NamedTuple

from msgspec.structs import replace

from edl import contract
from edl.model import ObjectRef, ProvisionalPod, Shape
from edl.simulator.cluster.scheduler import PendingPod
from edl.simulator.cluster.simulated_job import SimulatedJob
from edl.simulator.cluster.simulated_nodes import Place
from edl.simulator.environment import Environment
from edl.writes import Create

PRIORITY: Final = -10


class _Bound(NamedTuple):
    """A provisional pod that holds room."""

    actor: SimulatedJob
    pod: ProvisionalPod
    shape: Shape


@dataclass(slots=True)
class SimulatedProvisioning:
    """Mutable; `_bound` are those with a node, by namespace and uid."""

    stage: Environment
    _bound: dict[str, _Bound] = field(default_factory=dict)

    def create(self, actor: SimulatedJob, write: Create) -> None:
        role = write.manifest["metadata"]["labels"][contract.PROVISIONAL_ROLE]
        shape = replace(actor.parts[role].role.template.shape, constraints=None)
        stage, name = self.stage, write.target.name
        number = stage.number()
        pod = ProvisionalPod(name, f"{name}/{number}", role, "", stage.moment, shape.requests)
        _keep(actor, [*actor.job.provisioning.pods, pod])
        bind = partial(self._bind, actor, pod, shape)
        rank = (-PRIORITY, stage.now, number)
        stage.scheduler.add(shape, PendingPod(rank, _path(actor, pod), bind))
        stage.freed()

    def delete(self, actor: SimulatedJob, target: ObjectRef) -> bool:
        """Whether it was one of these pods; it is gone at once."""
        pods = actor.job.provisioning.pods
        pod = next((pod for pod in pods if pod.name == target.name), None)
        if pod is None:
            return False
        found = self._bound.pop(_path(actor, pod), None)
        if found is None:
            self.stage.scheduler.drop(_path(actor, pod))
        else:
            self.stage.floor.free(found.shape, Place(found.pod.node), leaving=False)
        _keep(actor, [one for one in pods if one is not pod])
        self.stage.freed()
        return True

    def lose(self, node: str) -> None:
        """A node is gone with those on it."""
        for path in [path for path, found in self._bound.items() if found.pod.node == node]:
            found = self._bound.pop(path)
            pods = found.actor.job.provisioning.pods
            _keep(found.actor, [pod for pod in pods if pod.uid != found.pod.uid])

    def preempt(self) -> bool:
        """Whether some have made room for a pod that waits."""
        return bool(self._bound) and any(
            self._preempt(shape, pod) for shape, pod in self.stage.scheduler.heads()
        )

    def _preempt(self, shape: Shape, pod: PendingPod) -> bool:
        if pod.rank[0] >= -PRIORITY:
            return False
        nodes = [pod.node] if pod.node else sorted({one.pod.node for one in self._bound.values()})
        return any(self._clear(shape, node) for node in nodes)

    def _clear(self, shape: Shape, node: str) -> bool:
        """Takes as many off the node as this pod needs, if that is enough."""
        floor = self.stage.floor
        column = floor.columns.get(node)
        if column is None or not floor.mask(shape)[column]:
            return False
        there = [one for one in self._bound.values() if one.pod.node == node]
        held = sum((floor.need(one.shape) for one in there), start=0 * floor.need(shape))
        free = floor.allocatable[:, column] - floor.used[:, column]
        asked = floor.need(shape) > 0
        if not (there and (free + held >= floor.need(shape))[asked].all()):
            return False
        for one in there:
            self.delete(one.actor, ObjectRef("Pod", one.actor.job.key.namespace, one.pod.name))
            if floor.room(shape, node) is not None:
                return True
        return False

    def _bind(self, actor: SimulatedJob, pod: ProvisionalPod, shape: Shape, node: str) -> None:
        self.stage.floor.take(shape, node)
        bound = replace(pod, node=node)
        self._bound[_path(actor, pod)] = _Bound(actor, bound, shape)
        pods = actor.job.provisioning.pods
        _keep(actor, [bound if one.uid == pod.uid else one for one in pods])
        self.stage.changed()


def _keep(actor: SimulatedJob, pods: list[ProvisionalPod]) -> None:
    asked = replace(actor.job.provisioning, pods=tuple(sorted(pods, key=attrgetter("name"))))
    actor.job = replace(actor.job, provisioning=asked)


def _path(actor: SimulatedJob, pod: ProvisionalPod) -> str:
    return f"{actor.job.key.namespace}/{pod.uid}"
