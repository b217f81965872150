"""Since when plans have found nodes unneeded: kept between rounds, and for the next leader."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from msgspec.structs import replace

from edl import contract
from edl.annotations import unneeded_nodes
from edl.model import ClusterState
from edl.planner.plan import Plan
from edl.planner.round_memory import RoundMemory

if TYPE_CHECKING:
    from edl.annotations.unneeded_nodes import Since


class LeaseAnnotations(Protocol):
    """Annotations of the Lease, which the next leader reads."""

    @property
    def previous_annotations(self) -> Mapping[str, str]: ...

    def set_annotation(self, name: str, text: str) -> None: ...


class UnneededNodesRecord(RoundMemory):
    """Used only by the thread of the loop."""

    def __init__(self, lease: LeaseAnnotations) -> None:
        self._lease = lease
        self._read: Mapping[str, str] | None = None
        self._since: Since = ()

    def recall(self, state: ClusterState) -> ClusterState:
        self._inherit(state)
        return replace(state, unneeded_since=self._since)

    def note(self, plan: Plan, state: ClusterState) -> None:
        since = unneeded_nodes.noted(self._since, plan.unneeded, state.observed_at)
        if since != self._since:
            self._since = since
            uids = {node.name: node.uid for node in state.nodes}
            record = tuple((uids[name], moment) for name, moment in since)
            self._lease.set_annotation(contract.UNNEEDED_NODES, unneeded_nodes.text(record))

    def _inherit(self, state: ClusterState) -> None:
        """Reads the record once each time that this process begins to lead."""
        annotations = self._lease.previous_annotations
        if annotations is not self._read:
            self._read = annotations
            names = {node.uid: node.name for node in state.nodes}
            text = annotations.get(contract.UNNEEDED_NODES, "")
            record = unneeded_nodes.read(text, state.observed_at)
            self._since = tuple(sorted((names[uid], time) for uid, time in record if uid in names))
