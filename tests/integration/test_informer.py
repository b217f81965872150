"""An informer outlives its API server."""

import logging
import secrets

import pytest

from edl.errors import ClusterError, Gone
from edl.kube.api.client import ApiClient, connect
from edl.kube.cache.informer import Informer
from edl.kube.cache.store import Store
from edl.kube.cluster import ListOptions
from edl.kube.decode import object_facts
from edl.model import ObjectRef
from sandbox.cluster import Cluster
from tests.waiting import until

pytestmark = pytest.mark.integration


def create(api: ApiClient, name: str) -> None:
    api.create(ObjectRef("Namespace", "", name), {"metadata": {"name": name}})


def test_it_follows_again_after_a_restart_and_misses_nothing(
    sandbox_cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    api = connect(str(sandbox_cluster.kubeconfig), None)
    before, after = (f"test-{secrets.token_hex(4)}" for _ in range(2))
    store = Store(object_facts.namespace)
    informer = Informer(api, ListOptions("Namespace"), store)
    informer.start()

    def names() -> set[str]:
        return {found.name for found in store.values()}

    try:
        until(lambda: store.synced)
        create(api, before)
        until(lambda: before in names())
        sandbox_cluster.kill("kube-apiserver")
        sandbox_cluster.start("kube-apiserver")
        until(lambda: answers(api))
        create(api, after)
        until(lambda: after in names())
        for name in (before, after):
            api.delete(ObjectRef("Namespace", "", name))
        until(lambda: names().isdisjoint({before, after}))
    finally:
        informer.stop()
    said = [one.message for one in caplog.records if "watch of Namespace failed" in one.message]
    assert 0 < len(said) == len(set(said)), "each of its problems once"
    # A server that has just started remembers nothing of the cluster's beginning.
    with pytest.raises(Gone):
        list(api.watch(ListOptions("Namespace"), "1"))


def answers(api: ApiClient) -> bool:
    try:
        api.list(ListOptions("Namespace"))
    except ClusterError:
        return False
    return True
