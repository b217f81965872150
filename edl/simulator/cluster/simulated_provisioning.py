"""Provisional pods in kube-scheduler: of the lowest priority, and preempted by any other pod.

Their constraints about other pods are not simulated: only requests, labels and taints count.
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
    """A bound provisional pod."""

    sim_job: SimulatedJob
    pod: ProvisionalPod
    shape: Shape


@dataclass(slots=True)
class SimulatedProvisioning:
    """Mutable; `_bound` is by namespace and uid."""

    env: Environment
    _bound: dict[str, _Bound] = field(default_factory=dict)

    def create(self, sim_job: SimulatedJob, write: Create) -> None:
        role = write.manifest["metadata"]["labels"][contract.PROVISIONAL_ROLE]
        shape = replace(sim_job.parts[role].role.template.shape, constraints=None)
        env, name = self.env, write.target.name
        number = env.number()
        pod = ProvisionalPod(name, f"{name}/{number}", role, "", env.moment, shape.requests)
        _keep(sim_job, [*sim_job.job.provisioning.pods, pod])
        bind = partial(self._bind, sim_job, pod, shape)
        rank = (-PRIORITY, env.now, number)
        env.scheduler.add(shape, PendingPod(rank, _path(sim_job, pod), bind))
        env.freed()

    def delete(self, sim_job: SimulatedJob, target: ObjectRef) -> bool:
        """Delete a provisional pod at once; False if the target is none."""
        pods = sim_job.job.provisioning.pods
        pod = next((pod for pod in pods if pod.name == target.name), None)
        if pod is None:
            return False
        bound = self._bound.pop(_path(sim_job, pod), None)
        if bound is None:
            self.env.scheduler.drop(_path(sim_job, pod))
        else:
            self.env.sim_nodes.free(bound.shape, Place(bound.pod.node), leaving=False)
        _keep(sim_job, [other for other in pods if other is not pod])
        self.env.freed()
        return True

    def lose(self, node: str) -> None:
        """Remove the provisional pods of a lost node."""
        for path in [path for path, bound in self._bound.items() if bound.pod.node == node]:
            bound = self._bound.pop(path)
            pods = bound.sim_job.job.provisioning.pods
            _keep(bound.sim_job, [pod for pod in pods if pod.uid != bound.pod.uid])

    def preempt(self) -> bool:
        """Preempt provisional pods for one pending pod; whether one then fits."""
        return bool(self._bound) and any(
            self._preempt(shape, pod) for shape, pod in self.env.scheduler.heads()
        )

    def _preempt(self, shape: Shape, pod: PendingPod) -> bool:
        if pod.rank[0] >= -PRIORITY:
            return False
        nodes = (
            [pod.node] if pod.node else sorted({bound.pod.node for bound in self._bound.values()})
        )
        return any(self._clear(shape, node) for node in nodes)

    def _clear(self, shape: Shape, node: str) -> bool:
        """Delete provisional pods on a node until this shape fits; False if it cannot."""
        sim_nodes = self.env.sim_nodes
        column = sim_nodes.columns.get(node)
        if column is None or not sim_nodes.mask(shape)[column]:
            return False
        there = [bound for bound in self._bound.values() if bound.pod.node == node]
        held = sum(
            (sim_nodes.need(bound.shape) for bound in there), start=0 * sim_nodes.need(shape)
        )
        free = sim_nodes.allocatable[:, column] - sim_nodes.used[:, column]
        asked = sim_nodes.need(shape) > 0
        if not (there and (free + held >= sim_nodes.need(shape))[asked].all()):
            return False
        for bound in there:
            self.delete(
                bound.sim_job, ObjectRef("Pod", bound.sim_job.job.key.namespace, bound.pod.name)
            )
            if sim_nodes.fitting_column(shape, node) is not None:
                return True
        return False

    def _bind(self, sim_job: SimulatedJob, pod: ProvisionalPod, shape: Shape, node: str) -> None:
        self.env.sim_nodes.bind(shape, node)
        bound = replace(pod, node=node)
        self._bound[_path(sim_job, pod)] = _Bound(sim_job, bound, shape)
        pods = sim_job.job.provisioning.pods
        _keep(sim_job, [bound if other.uid == pod.uid else other for other in pods])
        self.env.changed()


def _keep(sim_job: SimulatedJob, pods: list[ProvisionalPod]) -> None:
    asked = replace(sim_job.job.provisioning, pods=tuple(sorted(pods, key=attrgetter("name"))))
    sim_job.job = replace(sim_job.job, provisioning=asked)


def _path(sim_job: SimulatedJob, pod: ProvisionalPod) -> str:
    return f"{sim_job.job.key.namespace}/{pod.uid}"
