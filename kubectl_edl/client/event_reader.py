"""Events about training jobs, their Jobs and their pods, in the order of time."""

from typing import Final

from edl import contract
from edl.kube.cluster import Cluster, ListOptions
from edl.kube.event_facts import EventFacts, event_facts
from kubectl_edl.client.incarnations import Jobs, about

_ONE_A_POD: Final = frozenset({"SuccessfulCreate", "SuccessfulDelete"})
"""The Job controller's; the table of pods says it better, and they would push out the rest."""


def events_of(
    cluster: Cluster, namespace: str, jobs: Jobs, *, ours: bool
) -> tuple[EventFacts, ...]:
    """Those about these Jobs and about their pods; the newest last.

    `ours`: and all that kubectl-edl reports, about Jobs that are gone, too. Raises Forbidden.
    """
    listed = event_facts(cluster.list(ListOptions("Event", namespace)).items)
    chosen = {one.body["metadata"]["uid"] for one in about(listed, jobs)}
    return tuple(
        one
        for one in listed
        if one.body["metadata"]["uid"] in chosen or (ours and one.source == contract.MANAGED_BY)
    )


def last_changes(cluster: Cluster, namespace: str, jobs: Jobs, most: int) -> tuple[EventFacts, ...]:
    """The newest `most` Events of these Jobs, newest last. Raises Forbidden."""
    found = events_of(cluster, namespace, jobs, ours=False)
    return tuple(one for one in found if one.kind == "Job" and one.reason not in _ONE_A_POD)[-most:]
