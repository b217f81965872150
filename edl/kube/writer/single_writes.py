"""Performs one write, as the steps ask for it."""

from collections.abc import Mapping
from typing import Any

from edl.errors import AlreadyExists, Invalid, KindNotServed, NotFound
from edl.kube.cluster import Cluster
from edl.kube.writer.conditional_patch import check_stored, patched
from edl.kube.writer.ssh_key_generation import key_pair
from edl.model import ObjectRef
from edl.writes import Create, CreateKeys, Delete, Json, Patch, Write


def perform(cluster: Cluster, write: Write) -> Json | None:
    """Performs one write; None if it has no response.

    A new object that exists already, or a deleted one that is gone already, is a success.
    """
    match write:
        case Patch():
            stored = patched(cluster, write)
            check_stored(write, stored)
            return None if write.dry_run else stored
        case Create():
            return _create(cluster, write.target, write.manifest)
        case CreateKeys():
            _create_keys(cluster, write)
            return None
        case Delete():
            delete(cluster, write)
            return None


def _create(
    cluster: Cluster, target: ObjectRef, manifest: Mapping[str, Any], *, dry_run: bool = False
) -> Json | None:
    """The new object; None if it exists already.

    Without its namespace, or the role that it binds, it is refused: only for other writes does
    NotFound mean that the object is gone.
    """
    try:
        return cluster.create(target, manifest, dry_run=dry_run)
    except AlreadyExists:
        return None
    except NotFound as error:
        raise Invalid(str(error), error.status) from error


def _create_keys(cluster: Cluster, write: CreateKeys) -> None:
    """Creates a Secret with keys if a dry run succeeds: a key pair takes a fraction of a second.

    The response is not returned, so that no caller holds a key.
    """
    if _create(cluster, write.target, write.manifest, dry_run=True) is not None:
        _create(cluster, write.target, {**write.manifest, "data": key_pair()})


def delete(cluster: Cluster, write: Delete) -> bool:
    """False if the object is gone already; a 404 for its whole kind does not say so."""
    try:
        cluster.delete(write.target, version=write.version, uid=write.uid)
    except KindNotServed:
        return True
    except NotFound:
        return False
    return True
