"""What the planner knows of KubeShare's room."""

import msgspec
import pytest

from edl.kube import facts, jobfacts, shares
from edl.kube.shapes import Shapes
from edl.resources import SHARED_GPU, Resources, amount_text
from tests.edl.kube import manifests


def offered(labels: dict[str, str], gpus: int = 0) -> int:
    return shares.offered(labels, Resources.of({"nvidia.com/gpu": gpus})).get(SHARED_GPU)


def test_kubeshares_nodes_offer_thousandths_of_their_gpus() -> None:
    assert offered({"SharedGPU": "true"}, gpus=4) == 4000
    assert offered({"SharedGPU": "false"}, gpus=4) == offered({}, gpus=4) == 0


def test_without_a_device_plugin_gpus_are_counted_by_nvidias_label() -> None:
    labels = {"SharedGPU": "true", "nvidia.com/gpu.count": "2"}
    assert offered(labels) == 2000
    assert offered(labels, gpus=4) == 4000


@pytest.mark.parametrize("count", ["", "many", "9" * 60])
def test_where_nobody_counts_them_there_may_be_any_number(count: str) -> None:
    assert offered({"SharedGPU": "true", "nvidia.com/gpu.count": count}) > 10**9


@pytest.mark.parametrize(
    ("request_", "amount"),
    [("0.5", 500), ("1", 1000), ("2.0", 2000), ("0.125", 125), ("", 0), ("half", 0), ("1e99", 0)],
)
def test_a_pod_holds_what_it_requests(request_: str, amount: int) -> None:
    assert shares.held(request_) == amount


def test_amounts_are_read_as_parts_of_gpus() -> None:
    assert amount_text(SHARED_GPU, 500) == "0.5 shared GPU"
    assert amount_text(SHARED_GPU, 2000) == "2 shared GPU"


def test_a_pod_and_its_jobs_template_have_one_shape() -> None:
    labels = {"sharedgpu/gpu_limit": "1.0", "sharedgpu/gpu_request": "0.5"}
    shapes = Shapes()
    pod = facts.pod(msgspec.json.encode(manifests.pod("a", metadata={"labels": labels})), shapes)
    other = facts.pod(msgspec.json.encode(manifests.pod("b")), shapes)
    manifest = manifests.member("worker")
    manifest["spec"]["template"]["metadata"] = {"labels": labels}
    role = jobfacts.job(msgspec.json.encode(manifest), shapes).role
    assert role is not None
    assert pod.shape.requests.get(SHARED_GPU) == 500
    assert role.shape is pod.shape
    assert other.shape.requests.get(SHARED_GPU) == 0


def test_a_node_of_kubeshare_offers_shares_beside_all_else() -> None:
    body = manifests.node()
    body["metadata"]["labels"]["SharedGPU"] = "true"
    body["status"]["allocatable"]["nvidia.com/gpu"] = "2"
    found = facts.node(msgspec.json.encode(body)).allocatable
    assert (found.get(SHARED_GPU), found.get("nvidia.com/gpu"), found.get("cpu")) == (2000, 2, 4000)
