"""A default StorageClass, and volumes that claims can bind to."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from sandbox.objects.nodes import SIMULATED

CLASS: Final = "standard"
COUNT: Final = 32
_WORLD_WRITABLE: Final = 0o777
_NOWHERE: Final = "/nonexistent"


def make(folder: Path | None) -> Iterator[dict[str, Any]]:
    """The StorageClass, and its volumes: folders of a real node, created here, or simulated ones.

    A simulated volume accepts any claim, and the next one when its claim is deleted (kwok's stage
    `volume-reuse`): nothing is ever written to it.
    """
    yield _storage_class()
    for number in range(COUNT):
        name = f"volume-{number:02d}"
        yield _simulated(name) if folder is None else _on_disk(name, folder / f"{number:02d}")


def _storage_class() -> dict[str, Any]:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {
            "name": CLASS,
            "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
        },
        "provisioner": "kubernetes.io/no-provisioner",
    }


def _simulated(name: str) -> dict[str, Any]:
    return _volume({"name": name, "labels": {SIMULATED: "true"}}, "1Pi", {"path": _NOWHERE})


def _on_disk(name: str, path: Path) -> dict[str, Any]:
    path.mkdir(parents=True)
    path.chmod(_WORLD_WRITABLE)
    return _volume({"name": name}, "10Gi", {"path": str(path), "type": "Directory"})


def _volume(metadata: dict[str, Any], capacity: str, host_path: dict[str, str]) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": metadata,
        "spec": {
            "storageClassName": CLASS,
            "capacity": {"storage": capacity},
            "accessModes": ["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany"],
            "persistentVolumeReclaimPolicy": "Retain",
            "hostPath": host_path,
        },
    }
