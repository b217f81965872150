"""The message of an autoscaler in the Events about provisional pods."""

from collections.abc import Iterable
from typing import Final

from edl.annotations import failed_attempts
from edl.kube.cluster import Cluster, ListOptions
from edl.kube.event_facts import EventFacts, event_facts
from edl.model import JobKey, ProvisionalPod, TrainingJob

_OTHERS: Final = frozenset({"", "default-scheduler", "kubelet", "kwok"})
"""Other sources of Events about pods without a node."""


def about_pod(cluster: Cluster, key: JobKey, pod: ProvisionalPod) -> str:
    """The autoscaler's message about a provisional pod of a job; empty if there is none.

    Only the first page is read: users of the namespace may write Events without end.
    """
    about = f"involvedObject.name={pod.name}"
    page = next(cluster.pages(ListOptions("Event", key.namespace, fields=about)))
    return words(event_facts(page.items), pod.uid)


def words(events: Iterable[EventFacts], uid: str) -> str:
    """The message of the newest Event of an autoscaler about an object; empty if there is none."""
    mine = [event for event in events if event.uid == uid and event.source not in _OTHERS]
    return failed_attempts.quoted(mine[-1].message) if mine else ""


def waiting_pod(job: TrainingJob) -> ProvisionalPod | None:
    """One of the job's provisional pods that have no node."""
    pods = (pod for pod in job.provisioning.pods if not (pod.node or pod.gone))
    return next(pods, None)
