"""Which other jobs a job competes with: only the end of these can let it start or grow."""

from collections import defaultdict
from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np

from edl.feasibility.eligibility import Mask
from edl.model import ClusterState, TrainingJob
from edl.planner.decide import observed_snapshot
from edl.planner.published_settings import Settings

if TYPE_CHECKING:
    from edl.model import JobKey


class Contention:
    """The nodes that each job could use, and those that its pods hold, in one cluster state."""

    def __init__(self, state: ClusterState, settings: Settings) -> None:
        self._state = state
        self._snapshot = observed_snapshot(state, settings.policy_to_apply(), settings.limits)
        self._kept: dict[JobKey, list[Mask]] = defaultdict(list)
        """By started job: a required topology keeps its roles to the domain of their pods."""
        for allocation in self._snapshot.allocations:
            self._kept[allocation.job.key].append(allocation.pod_class.large_enough)
        self._usable_nodes: dict[JobKey, Mask] = {}
        self._held_nodes: dict[JobKey, Mask] = {}

    def competes(self, job: TrainingJob, other: TrainingJob, lacks: Collection[str]) -> bool:
        """Whether the end of `other` frees quota or capacity that `job` could use.

        `lacks`: the resources that `job` waits for, "" for others; empty if none are known.
        """
        if lacks and not any(_holds(job, other, name) for name in lacks):
            return False
        if (not lacks or "" in lacks) and self._share_quota(job, other):
            return True
        if job.key not in self._usable_nodes:
            self._usable_nodes[job.key] = self._usable(job)
        if other.key not in self._held_nodes:
            self._held_nodes[other.key] = self._held(other)
        return bool((self._usable_nodes[job.key] & self._held_nodes[other.key]).any())

    def _share_quota(self, job: TrainingJob, other: TrainingJob) -> bool:
        """Also where teams exist: a limit, or what a team keeps, may bind any two of them."""
        mine, theirs = job.key.namespace, other.key.namespace
        limited = any(quota.namespace == mine for quota in self._state.quotas)
        return bool(self._state.teams) or (mine == theirs and limited)

    def _usable(self, job: TrainingJob) -> Mask:
        """Nodes on which one of its pods would fit if they were empty; bool[nodes]."""
        shapes = (role.template.shape for role in job.live)
        kept_masks = self._kept.get(job.key)
        masks = kept_masks or [self._snapshot.pod_class(shape).large_enough for shape in shapes]
        usable: Mask = np.any(masks, axis=0)
        return usable

    def _held(self, job: TrainingJob) -> Mask:
        """Nodes with pods of its own, or all that it could use before it has any; bool[nodes]."""
        index = self._snapshot.capacity.index
        names = (pod.node for role in job.roles for pod in role.status.pods if not pod.ended)
        nodes = [index[name] for name in names if name in index]
        if not nodes:
            return self._usable(job)
        mask: Mask = np.zeros(len(index), dtype=np.bool_)
        mask[nodes] = True
        return mask


def _holds(job: TrainingJob, other: TrainingJob, resource: str) -> bool:
    """Whether pods of `other` request it; also if `job` requests no such amount (pods, devices)."""
    mine, theirs = (
        any(role.template.shape.requests.get(resource) for role in competitor.live)
        for competitor in (job, other)
    )
    return theirs or not mine
