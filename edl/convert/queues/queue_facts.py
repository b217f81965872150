"""Facts read from queues and cohorts: capacity, tree, and namespaces."""

from collections.abc import Mapping
from typing import Final, TypeAlias

import msgspec

from edl.convert.diagnostics import FieldPath
from edl.convert.tracked_object import Fields
from edl.model import Requirement

CLUSTER_QUEUE: Final = "ClusterQueue"
COHORT: Final = "Cohort"
LOCAL_QUEUE: Final = "LocalQueue"
FLAVOR: Final = "ResourceFlavor"
QUEUE: Final = "Queue"
"""The kind of KAI Scheduler's queues."""

QueueKey: TypeAlias = tuple[str, str]
"""(kind, name)."""
QueueAmounts: TypeAlias = Mapping[str, int]
"""Amounts by resource, in the units of `edl.quantities.Resources`."""


class QueueCapacity(msgspec.Struct, frozen=True):
    """The resources that a queue is guaranteed and may use."""

    guaranteed: QueueAmounts = {}
    is_on_top: bool = False
    """Whether the guarantee is added to that of the queues below, as with cohorts."""
    borrowing: QueueAmounts = {}
    """The most that it may borrow; a resource that is missing here is not limited."""
    limit: QueueAmounts = {}
    """The most that it may use, including its guarantee."""
    lend: bool = True


class QueueFacts(msgspec.Struct, frozen=True):
    """One queue or cohort. `fields` is its document, where remarks are reported.

    `parent` names the cohort or queue above it, as read at `parent_place`; empty if it has none.
    """

    kind: str
    name: str
    fields: Fields
    parent: str = ""
    parent_place: FieldPath = ()
    capacity: QueueCapacity = QueueCapacity()
    weight: float = 1.0
    reclaims_jobs: bool = False
    selector: tuple[Requirement, ...] | None = None
    """The namespaces that may use it: all of them if empty; None if the queue does not set it."""

    @property
    def key(self) -> QueueKey:
        return (self.kind, self.name)

    @property
    def parent_key(self) -> QueueKey | None:
        kind = QUEUE if self.kind == QUEUE else COHORT
        return (kind, self.parent) if self.parent else None


class NamespaceClaim(msgspec.Struct, frozen=True):
    """A LocalQueue: `namespace` uses the ClusterQueue `queue`."""

    namespace: str
    queue: str
    fields: Fields


def name_of(document: Fields) -> tuple[str, str]:
    """(namespace, name); a missing name is reported."""
    document.value("apiVersion")
    document.value("kind")
    if document.value("status") is not None:
        document.note("", "left out status: describes the old object")
    metadata = document.fields("metadata")
    namespace, name = metadata.text("namespace"), metadata.text("name")
    others = metadata.names()
    for other in others:
        metadata.value(other)
    if others:
        document.note("metadata", f"left out {', '.join(others)}: teams have no counterpart")
    if not name:
        document.wrong("metadata", "has no name", "set metadata.name, as it is in the cluster")
    return namespace, name
