"""Finds nodes whose pods may be evicted and fit on other nodes, as Karpenter's consolidation does.

Pods that a PodDisruptionBudget covers stay: the first replicas of a resizable role, as many as its
minimum. Other owners' pods and work items are never moved.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from edl.contract import DISRUPTED
from edl.feasibility.eligibility import Ints
from edl.model import ResizePolicy, Shape, Taint
from edl.simulator.cluster.job_controller import JobController
from edl.simulator.environment import Environment

GOING: Final = Taint(DISRUPTED, "", "NoSchedule")


@dataclass(slots=True)
class Consolidation:
    """Read-only; the autoscaler removes one found node at a time."""

    env: Environment
    job_controller: JobController

    def spare(self, names: Iterable[str]) -> str:
        """The first of these nodes that is not needed, or ""."""
        extras, sim_nodes = self._extras(), self.env.sim_nodes
        return next(
            (
                name
                for name in names
                if len(extras[name]) == sim_nodes.evictable_pods(name)
                and self._fit(extras[name], name)
            ),
            "",
        )

    def _extras(self) -> defaultdict[str, list[Shape]]:
        """By node, the shapes of pods above their role's minimum."""
        shapes: defaultdict[str, list[Shape]] = defaultdict(list)
        for sim_job in self.job_controller.sim_jobs.values():
            for part in sim_job.parts.values():
                if part.role.spec.resizing is ResizePolicy.FIXED:
                    continue
                for pod in part.live():
                    if pod.node and pod.index >= part.role.spec.min:
                        shapes[pod.node].append(part.role.template.shape)
        return shapes

    def _fit(self, shapes: Iterable[Shape], name: str) -> bool:
        """Whether pods of these shapes fit on the other nodes, all at once."""
        sim_nodes = self.env.sim_nodes
        free = sim_nodes.allocatable - sim_nodes.used
        free[:, sim_nodes.columns[name]] = -1
        return all(self._placed(shape, free) for shape in shapes)

    def _placed(self, shape: Shape, free: Ints) -> bool:
        """Subtract a pod of this shape from the first node that fits it; False if none does."""
        need = self.env.sim_nodes.need(shape)
        asked = need > 0
        fits = (free[asked] >= need[asked, None]).all(axis=0) & self.env.sim_nodes.mask(shape)
        if not fits.any():
            return False
        free[:, int(fits.argmax())] -= need
        return True
