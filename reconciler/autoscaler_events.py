"""Reads the latest Event of an autoscaler about provisional pods; it is only shown to users."""

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from edl.errors import ClusterError
from edl.kube.autoscaler_words import about_pod, waiting_pod
from edl.kube.cluster import Cluster
from edl.model import ClusterState, JobKey, ProvisionalPod, TrainingJob
from edl.planner.round_memory import RoundMemory

if TYPE_CHECKING:
    from collections.abc import Mapping

_log: Final = logging.getLogger(__name__)

PAUSE: Final = 10.0
"""Seconds between two runs."""


class AutoscalerEvents(RoundMemory):
    """Reads the Events of one pod per job that asks for nodes, at intervals.

    It has a thread of its own.
    """

    def __init__(self, cluster: Cluster, changed: Callable[[], None]) -> None:
        self._cluster = cluster
        self._changed = changed
        self._asking: Mapping[JobKey, ProvisionalPod] = {}
        self._messages: Mapping[JobKey, str] = {}

    def recall(self, state: ClusterState) -> ClusterState:
        """The state with the autoscaler's messages; unchanged if there are none."""
        waiting = {job.key: waiting_pod(job) for job in state.jobs if job.provisioning.pods}
        self._asking = {key: pod for key, pod in waiting.items() if pod}
        messages = self._messages
        if not any(key in messages for key in waiting):
            return state
        jobs = tuple(_with(job, messages.get(job.key, "")) for job in state.jobs)
        return replace(state, jobs=jobs)

    def lead(self) -> float:
        """Reads the messages again; if one cannot be read, the last message stays."""
        messages = self._messages
        texts = {
            key: self._words(key, pod) or messages.get(key, "") for key, pod in self._asking.items()
        }
        self._messages = {key: text for key, text in texts.items() if text}
        if self._messages != messages:
            self._changed()
        return PAUSE

    def follow(self) -> None:
        """Does nothing."""

    def _words(self, key: JobKey, pod: ProvisionalPod) -> str:
        try:
            return about_pod(self._cluster, key, pod)
        except ClusterError as error:
            _log.debug("cannot read the autoscaler's events about %s: %s", key, error)
            return ""


def _with(job: TrainingJob, message: str) -> TrainingJob:
    if not (message and job.provisioning.pods):
        return job
    return replace(job, provisioning=replace(job.provisioning, message=message))
