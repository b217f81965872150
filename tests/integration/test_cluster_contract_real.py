"""The promises of `Cluster`, kept by a real API server."""

import json
from pathlib import Path

import pytest

from edl.errors import Forbidden, Invalid, Unreachable
from edl.kube.api.client import ApiClient, connect
from edl.kube.api.list_pages import LONGEST_PAGE, PAGE_SIZE
from edl.kube.cluster import ListOptions
from edl.model import ObjectRef
from sandbox.cluster import Cluster as SandboxCluster
from tests.edl.kube.cluster_contract import ClusterContract, lease

pytestmark = pytest.mark.integration


@pytest.fixture
def cluster(sandbox_cluster: SandboxCluster) -> ApiClient:
    return connect(str(sandbox_cluster.kubeconfig), None)


class TestApiServer(ClusterContract):
    """The fixture `namespace` comes from conftest."""


def test_a_long_list_comes_in_pages_of_one_version(cluster: ApiClient, namespace: str) -> None:
    for number in range(PAGE_SIZE + 1):
        cluster.create(*lease(namespace, f"n{number:04}"))
    selection = ListOptions("Lease", namespace)
    pages = list(cluster.pages(selection))
    assert [len(page.items) for page in pages] == [PAGE_SIZE, 1]
    assert len({page.version for page in pages}) == 1
    assert len(cluster.list(selection).items) == PAGE_SIZE + 1


def test_a_page_of_large_objects_is_short_whatever_their_number(
    cluster: ApiClient, namespace: str
) -> None:
    """Limits change while one list is read: its continue tokens serve them all."""
    sizes = [300_000] * 15 + [900_000] * 30
    for number, size in enumerate(sizes):
        target = ObjectRef("ConfigMap", namespace, f"n{number:02}")
        cluster.create(target, {"metadata": {"name": target.name}, "data": {"text": "x" * size}})
    chosen = ListOptions("ConfigMap", namespace, fields="metadata.name!=kube-root-ca.crt")
    pages = list(cluster.pages(chosen))
    names = [json.loads(item)["metadata"]["name"] for page in pages for item in page.items]
    assert names == [f"n{number:02}" for number in range(len(sizes))]
    assert max(sum(map(len, page.items)) for page in pages) < LONGEST_PAGE
    assert len({len(page.items) for page in pages}) > 1
    assert len({page.version for page in pages}) == 1


def test_a_refused_object_says_why(cluster: ApiClient, namespace: str) -> None:
    target, manifest = lease(namespace, "one")
    manifest["spec"]["leaseDurationSeconds"] = -1
    with pytest.raises(Invalid, match="leaseDurationSeconds: Invalid value: -1"):
        cluster.create(target, manifest)


def test_a_forbidden_request_names_user_verb_and_resource(
    namespace: str, sandbox_cluster: SandboxCluster, tmp_path: Path
) -> None:
    token = sandbox_cluster.kubectl("create", "token", "default", "-n", namespace).strip()
    stranger = connect(str(_kubeconfig(sandbox_cluster, token, tmp_path)), None)
    expected = rf'"system:serviceaccount:{namespace}:default" may not list jobs.batch'
    with pytest.raises(Forbidden, match=expected):
        stranger.list(ListOptions("Job", namespace))
    with pytest.raises(Forbidden, match=f"may not delete pods x in namespace {namespace}"):
        stranger.delete(ObjectRef("Pod", namespace, "x"))


def test_unknown_credentials_are_forbidden(sandbox_cluster: SandboxCluster, tmp_path: Path) -> None:
    stranger = connect(str(_kubeconfig(sandbox_cluster, "nonsense", tmp_path)), None)
    with pytest.raises(Forbidden, match="does not accept these credentials"):
        stranger.list(ListOptions("Node"))


def test_a_server_with_another_certificate_is_not_trusted(
    sandbox_cluster: SandboxCluster, tmp_path: Path
) -> None:
    path = _kubeconfig(sandbox_cluster, "any", tmp_path)
    path.write_text(path.read_text().replace("certificate-authority:", "unused:"))
    with pytest.raises(Unreachable, match=r"certificate.*--kubeconfig or --context"):
        connect(str(path), None).list(ListOptions("Node"))


def _kubeconfig(sandbox_cluster: SandboxCluster, token: str, folder: Path) -> Path:
    path = folder / "kubeconfig"
    path.write_text(
        f"""
apiVersion: v1
kind: Config
current-context: c
clusters:
- name: c
  cluster: {{server: "{sandbox_cluster.server}", certificate-authority: "{sandbox_cluster.ca}"}}
users: [{{name: u, user: {{token: {token}}}}}]
contexts: [{{name: c, context: {{cluster: c, user: u}}}}]
"""
    )
    return path
