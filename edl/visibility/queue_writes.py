"""The writes that bring the ConfigMaps `edl-queue` to their wanted contents."""

from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec import structs

from edl import contract
from edl.model import ObjectRef
from edl.visibility.namespace_queue import CONFIG_MAP, KEY, NamespaceQueue, render
from edl.writes import Create, Delete, Patch, Write

LABELS: Final = {
    contract.MANAGED_BY_LABEL: contract.MANAGED_BY,
    "app.kubernetes.io/component": CONFIG_MAP,
}
"""Labels of each of these ConfigMaps, by which an uninstallation finds them in all namespaces."""
SELECTOR: Final = ",".join(f"{name}={value}" for name, value in sorted(LABELS.items()))


class PublishedQueue(msgspec.Struct, frozen=True):
    """A ConfigMap as it exists; `queue` is None if users made its content invalid."""

    version: str
    queue: NamespaceQueue | None


def never_in(system_namespace: str) -> frozenset[str]:
    """Namespaces in which the reconciler must not write."""
    return frozenset({"kube-system", system_namespace})


def queue_writes(
    published: Mapping[str, PublishedQueue], wanted: Mapping[str, NamespaceQueue]
) -> tuple[Write, ...]:
    """Deletions of unwanted ConfigMaps first, then updates, the least recently changed first."""
    gone = sorted(published.keys() - wanted.keys())
    changed = [
        namespace
        for namespace in wanted
        if not _is_current(published.get(namespace), wanted[namespace])
    ]
    changed.sort(key=lambda namespace: (_since(published.get(namespace)), namespace))
    return (
        *(Delete(_target(namespace), published[namespace].version) for namespace in gone),
        *(_write(namespace, published.get(namespace), wanted[namespace]) for namespace in changed),
    )


def _is_current(published: PublishedQueue | None, wanted: NamespaceQueue) -> bool:
    """Whether its content is already the wanted one, apart from `changed_at`."""
    if published is None or published.queue is None:
        return False
    return structs.replace(published.queue, changed_at=wanted.changed_at) == wanted


def _since(published: PublishedQueue | None) -> float:
    queue = published.queue if published else None
    return queue.changed_at.timestamp() if queue else 0.0


def _write(namespace: str, published: PublishedQueue | None, wanted: NamespaceQueue) -> Write:
    target, data = _target(namespace), {KEY: render(wanted)}
    if published:
        return Patch(target, published.version, {"data": data})
    metadata = {"name": CONFIG_MAP, "namespace": namespace, "labels": LABELS}
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
    return Create(target, manifest)


def _target(namespace: str) -> ObjectRef:
    return ObjectRef("ConfigMap", namespace, CONFIG_MAP)
