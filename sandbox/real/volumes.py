"""Storage for a real node's pods: a default class, and volumes in the sandbox's folder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CLASS: Final = "standard"
COUNT: Final = 32
_ANYBODY: Final = 0o777


def make(folder: Path) -> Iterator[dict[str, Any]]:
    """Make the folders; yield the manifests by which any claim up to 10Gi finds one of them."""
    yield {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {
            "name": CLASS,
            "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
        },
        "provisioner": "kubernetes.io/no-provisioner",
    }
    for number in range(COUNT):
        path = folder / f"{number:02d}"
        path.mkdir(parents=True)
        path.chmod(_ANYBODY)
        yield _volume(f"volume-{number:02d}", path)


def _volume(name: str, path: Path) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "storageClassName": CLASS,
            "capacity": {"storage": "10Gi"},
            "accessModes": ["ReadWriteOnce", "ReadWriteMany"],
            "persistentVolumeReclaimPolicy": "Retain",
            "hostPath": {"path": str(path), "type": "Directory"},
        },
    }
