"""Nodes that hold up a running training job: cordoned ones that pods stay on, and deleted ones."""

from collections.abc import Iterable, Iterator, Sequence

from edl.messages import message
from edl.messages.scarcity_messages import listed
from edl.model import Node
from edl.planner.plan import StayingPods
from kubectl_edl.job_views.creation_failures import JobBlocker
from kubectl_edl.job_views.training_job_view import JobView


def staying_text(found: StayingPods) -> str:
    """Which pods stay on cordoned nodes, why, and whether they block a drain."""
    names, nodes = [pod for pod, _ in found.pods], sorted({node for _, node in found.pods})
    verb, their = ("stays", "its") if len(names) == 1 else ("stay", "their")
    noun = "node" if len(nodes) == 1 else "nodes"
    why = ""
    if found.reason:
        why = f", as no other pod can replace {_them(names)} elsewhere ({message(found.reason)})"
    stay = f"{listed(names)} {verb} on the cordoned {noun} {listed(nodes)}{why}"
    if found.blocks_drain:
        then = "PodDisruptionBudget blocks a drain until the job is paused or ends"
        return f"{stay}, and {their} {then}"
    first = f", {found.evictable} at once," if found.evictable < len(names) else ""
    return (
        f"{stay} until kubectl drain evicts {_them(names)}{first} and {their} Job recreates "
        f"{_them(names)} on nodes with free capacity"
    )


def node_blockers(
    view: JobView, nodes: Sequence[Node], staying: Iterable[StayingPods]
) -> Iterator[JobBlocker]:
    """Blockers of one training job; `nodes` is empty if they may not be read."""
    for found in staying:
        if found.job == view.job.key and found.blocks_drain:
            yield JobBlocker(staying_text(found), f"kubectl edl pause {view.argument}")
    if not nodes:
        return
    present = {node.name for node in nodes}
    pods = [pod for role in view.job.live for pod in role.status.pods if pod.active and pod.node]
    for gone in sorted({pod.node for pod in pods} - present):
        names = [pod.name for pod in pods if pod.node == gone]
        yield JobBlocker(
            f"node {gone} of {listed(names)} does not exist any longer: pod garbage collection "
            f"deletes {_them(names)} within about a minute, and the Job controller then replaces "
            f"{_them(names)}",
            "",
        )


def _them(names: Sequence[str]) -> str:
    return "it" if len(names) == 1 else "them"
