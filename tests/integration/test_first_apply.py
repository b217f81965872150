"""What tests apply without kubectl is stored as kubectl stores it."""

from typing import Final

import pytest

from edl.model import ObjectRef
from edl.writes import Json
from sandbox.cluster import Cluster
from tests.integration.support.first_apply import FirstApply
from tests.integration.support.stage import Stage

pytestmark = pytest.mark.integration

MANIFEST: Final[Json] = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "said", "labels": {"b": "2", "a": "1"}, "annotations": {"note": "mine"}},
    "data": {"text": "a < b & ä"},
}


def stored(at: Stage) -> Json:
    """Without what differs between two equal objects."""
    found = at.api.get(ObjectRef("ConfigMap", at.namespace, "said"))
    metadata = found["metadata"]
    for drawn in ("uid", "resourceVersion", "creationTimestamp"):
        del metadata[drawn]
    for entry in metadata["managedFields"]:
        del entry["time"]
    return found


def test_it_is_stored_as_kubectl_stores_it(sandbox_cluster: Cluster, namespace: str) -> None:
    at = Stage(sandbox_cluster, namespace)
    at.apply(MANIFEST)
    ours = stored(at)
    at.kubectl("delete", "configmap", "said")
    at.apply(MANIFEST, flags=("--server-side=false",))
    assert ours == stored(at)


def test_what_exists_or_is_refused_is_left_to_kubectl(
    sandbox_cluster: Cluster, namespace: str
) -> None:
    first = FirstApply(sandbox_cluster.kubeconfig, namespace)
    assert first(MANIFEST)
    assert not first(MANIFEST)
    assert not first(MANIFEST | {"datum": {}}), "the field is unknown"
    assert not first(MANIFEST | {"apiVersion": "example.com/v1"})
    assert not first(MANIFEST | {"metadata": {"name": "said", "namespace": "default"}})
    at = Stage(sandbox_cluster, namespace)
    assert "unchanged" in at.apply(MANIFEST)
    assert "configured" in at.apply(MANIFEST | {"data": {"more": "words"}})
    assert stored(at)["data"] == {"more": "words"}, "text is gone: it was said before"
