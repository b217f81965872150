"""What queues and cohorts say of capacity: what each would be as a team, and namespaces."""

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
"""KAI Scheduler's."""

QueueKey: TypeAlias = tuple[str, str]
"""Kind and name."""
QueueAmounts: TypeAlias = Mapping[str, int]
"""By resource, in the units of `edl.quantities.Resources`."""


class QueueCapacity(msgspec.Struct, frozen=True):
    """What a queue is guaranteed and may use."""

    guaranteed: QueueAmounts = {}
    is_on_top: bool = False
    """Whether the guarantee comes on top of what the queues below have, as a cohort's does."""
    borrowing: QueueAmounts = {}
    """The most it may use beyond its guarantee; a resource without it has no such limit."""
    limit: QueueAmounts = {}
    """The most it may use in all."""
    lend: bool = True


class QueueFacts(msgspec.Struct, frozen=True):
    """One queue or cohort. `fields` are its document's, for what there is to say of it.

    `parent` is the name of the cohort or queue above it, read at `parent_place`; empty without.
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
    """Which namespaces may use it; an empty one means all of them, None nothing is said."""

    @property
    def key(self) -> QueueKey:
        return (self.kind, self.name)

    @property
    def parent_key(self) -> QueueKey | None:
        kind = QUEUE if self.kind == QUEUE else COHORT
        return (kind, self.parent) if self.parent else None


class NamespaceClaim(msgspec.Struct, frozen=True):
    """A LocalQueue: this namespace uses that ClusterQueue."""

    namespace: str
    queue: str
    fields: Fields
