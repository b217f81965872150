"""A cluster of these tests alone, with and without its webhook."""

import os
from collections.abc import Iterator

import pytest

from sandbox import NodeGroup, temporary_sandbox
from sandbox.cluster import Cluster
from tests.integration.support.webhook import UNLABELLED, Webhook, beside, stored
from tests.temporary_namespace import temporary


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """Not the shared one: these tests take the webhook away from a whole cluster."""
    if named := os.environ.get("EDL_KUBECONFIG"):
        pytest.skip(f"needs a cluster whose webhook may be taken away; EDL_KUBECONFIG={named}")
    with temporary_sandbox("webhook", NodeGroup(count=1, cpu="8", memory="32Gi")) as sandbox:
        yield sandbox


@pytest.fixture(scope="session")
def untouched(cluster: Cluster) -> dict[str, str]:
    """Unlabelled objects as this API server stores them where nothing of ours is installed."""
    return {kind: stored(cluster, kind) for kind in UNLABELLED}


@pytest.fixture(scope="session")
def webhook(
    cluster: Cluster, untouched: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Webhook]:
    assert untouched, "taken before anything is installed"
    with beside(cluster, tmp_path_factory.mktemp("installation")) as running:
        yield running


@pytest.fixture
def namespace(cluster: Cluster) -> Iterator[str]:
    with temporary(cluster) as name:
        yield name
