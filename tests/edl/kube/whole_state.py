"""States by an index that is made anew: what an incremental state equals."""

from collections.abc import Sequence
from datetime import datetime
from typing import TypeVar

import msgspec

from edl.kube.cache.store import Store, StoredObject
from edl.kube.cache.watched_kinds import Stores
from edl.kube.cluster import ObjectKey
from edl.kube.decode.job_facts import JobFacts
from edl.kube.decode.object_facts import (
    NamespaceFacts,
    OwnedObjectRef,
    PodFacts,
    PriorityClassFacts,
)
from edl.kube.state.incremental_state import IncrementalState
from edl.model import ClusterState, Node, Teams

Fact = TypeVar("Fact")


def whole_state(stores: Stores, now: datetime, teams: Teams | None = None) -> ClusterState:
    """What the stores hold now, whatever their reader has asked for."""
    copies = Stores()
    pairs = [(getattr(stores, name), one) for name, one in vars(copies).items()]
    pairs += [(stores.owned_objects[kind], one) for kind, one in copies.owned_objects.items()]
    for store, copy in (pair for pair in pairs if isinstance(pair[1], Store)):
        items = store._items  # noqa: SLF001 - asking as the reader does would hide what it misses
        for item in items.values():
            copy.update(item)
        if not store.served:
            copy.mark_absent()
        elif store.synced:
            copy.replace(items, 1)
    return IncrementalState(copies, lambda: teams or Teams()).state(now)


class ManyFacts(msgspec.Struct, frozen=True):
    """Facts of the kinds that most tests need."""

    nodes: Sequence[Node] = ()
    pods: Sequence[PodFacts] = ()
    jobs: Sequence[JobFacts] = ()
    priorities: Sequence[PriorityClassFacts] = ()
    namespaces: Sequence[NamespaceFacts] = ()
    owned_objects: Sequence[OwnedObjectRef] = ()


def observed(facts: ManyFacts, now: datetime) -> ClusterState:
    stores = Stores()
    for node in facts.nodes:
        _put(stores.nodes, "", node.name, node)
    for priority in facts.priorities:
        _put(stores.priorities, "", priority.name, priority)
    for namespace in facts.namespaces:
        _put(stores.namespaces, "", namespace.name, namespace)
    for pod in facts.pods:
        _put(stores.pods, pod.namespace, pod.name, pod)
    for job in facts.jobs:
        _put(stores.jobs, job.key.namespace, job.name, job)
    for owned in facts.owned_objects:
        _put(stores.owned_objects[owned.kind], owned.namespace, owned.name, owned)
    return IncrementalState(stores).state(now)


def _put(store: Store[Fact], namespace: str, name: str, facts: Fact) -> None:
    store.update(StoredObject(ObjectKey(namespace, name), 1, facts))
