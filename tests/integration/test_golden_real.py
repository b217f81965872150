"""The golden files through a real API server and the real webhook: taken, and returned as they are.

Everything is a dry run: nothing is stored.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from dev.installation import Installation
from edl.errors import Invalid, NotFound
from edl.kube.api.client import ApiClient, connect
from edl.kube.cluster import ListOptions
from edl.model import ObjectRef
from edl.writes import Json
from sandbox.cluster import Cluster
from tests.golden.cases import IMAGE, NAMESPACE, Denial, Golden, denials, goldens, holds

pytestmark = pytest.mark.integration
_UID = frozenset({"uid", "controller-uid", "batch.kubernetes.io/controller-uid"})
_DRAWN = _UID | {"creationTimestamp", "lastTransitionTime", "managedFields"}
_ACCOUNT = "trainer"
"""That some bare pods name: the API server looks for it."""
_FROM_ITS_NAME = frozenset({"job-name", "batch.kubernetes.io/job-name"})


@pytest.fixture(scope="module")
def api(installation: Installation) -> Iterator[ApiClient]:
    """An API server that calls our webhook, with the namespace that the golden addresses name."""
    assert installation.image == IMAGE
    with _namespace(installation.cluster):
        yield connect(str(installation.cluster.kubeconfig))


@pytest.mark.parametrize("golden", goldens(), ids=lambda golden: golden.name)
def test_the_api_server_returns_the_golden_file(api: ApiClient, golden: Golden) -> None:
    if "resourceClaims" in golden.stored["spec"].get("template", {}).get("spec", {}):
        _claims_served(api)
    returned = _dry_run(api, golden.given)
    # `uid` is the user's own in ownerReferences.
    assert holds(returned, _settled(golden.stored, _UID))
    # And nothing besides: what stands there already comes back as the same object.
    assert returned == _dry_run(api, golden.stored)


@pytest.mark.parametrize("denial", denials(), ids=lambda denial: denial.name)
def test_the_api_server_passes_the_whole_refusal_on(api: ApiClient, denial: Denial) -> None:
    with pytest.raises(Invalid) as refused:
        _dry_run(api, denial.given)
    assert str(refused.value) == denial.message


def _claims_served(api: ApiClient) -> None:
    try:
        api.list(ListOptions("ResourceClaim"))
    except NotFound:
        pytest.skip("this API server drops the ResourceClaims of pods")


@contextmanager
def _namespace(cluster: Cluster) -> Iterator[None]:
    """Made for these tests, unless it is somebody's already."""
    made = not cluster.kubectl("get", "namespace", NAMESPACE, "--ignore-not-found")
    if made:
        cluster.kubectl("create", "namespace", NAMESPACE)
        cluster.kubectl("create", "serviceaccount", _ACCOUNT, "-n", NAMESPACE)
    try:
        # Pods are refused before the controller manager has made it.
        account = ("--for=create", "serviceaccount/default", "--timeout=60s")
        cluster.kubectl("wait", "-n", NAMESPACE, *account)
        yield
    finally:
        if made:
            cluster.kubectl("delete", "namespace", NAMESPACE, "--wait=false")


def _dry_run(api: ApiClient, manifest: Json) -> Json:
    """What the API server would store, without what it makes up anew each time."""
    name = manifest["metadata"].get("name", "")
    stored = api.create(ObjectRef(manifest["kind"], NAMESPACE, name), manifest, dry_run=True)
    if not name:
        del stored["metadata"]["name"]
    found: Json = _settled(stored, _DRAWN if name else _DRAWN | _FROM_ITS_NAME)
    return found


def _settled(value: Any, drawn: frozenset[str]) -> Any:  # noqa: ANN401 - JSON
    if isinstance(value, dict):
        return {name: _settled(item, drawn) for name, item in value.items() if name not in drawn}
    if isinstance(value, list):
        return [_settled(item, drawn) for item in value if not _is_token(item)]
    return value


def _is_token(item: object) -> bool:
    """The volume of a bare pod's account, under a name with a random end, or a mount of it."""
    return isinstance(item, dict) and str(item.get("name")).startswith("kube-api-access-")
