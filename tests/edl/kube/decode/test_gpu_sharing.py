"""What the planner knows of KubeShare's room."""

from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edl import contract
from edl.kube.decode import gpu_sharing, job_facts, object_facts
from edl.kube.decode.pod_shapes import ShapeInterner
from edl.kube.state.observe import ClusterFacts, observe
from edl.model import Device, GpuUsage, Share, TrainingJob
from edl.quantities import SHARED_GPU, Resources, amount_text
from tests.edl.kube import manifests
from tests.reasons import problem_of

GIB = 2**30


def offered(labels: dict[str, str], gpus: int = 0) -> int:
    return gpu_sharing.offered(labels, Resources.of({"nvidia.com/gpu": gpus})).get(SHARED_GPU)


def test_kubeshares_nodes_offer_thousandths_of_their_gpus() -> None:
    assert offered({"SharedGPU": "true"}, gpus=4) == 4000
    assert offered({"SharedGPU": "false"}, gpus=4) == offered({}, gpus=4) == 0


def test_without_a_device_plugin_gpus_are_counted_by_nvidias_label() -> None:
    labels = {"SharedGPU": "true", "nvidia.com/gpu.count": "2"}
    assert offered(labels) == 2000
    assert offered(labels, gpus=4) == 4000


@pytest.mark.parametrize("count", ["", "many", "9" * 60])
def test_a_node_that_reports_no_gpus_offers_an_unknown_number_of_shares(count: str) -> None:
    labels = {"SharedGPU": "true", "nvidia.com/gpu.count": count}
    assert offered(labels) == gpu_sharing.UNCOUNTED
    assert gpu_sharing.devices(labels, Resources()) == ()


@pytest.mark.parametrize(
    ("request_", "amount"),
    [("0.5", 500), ("1", 1000), ("2.0", 2000), ("0.125", 125), ("", 0), ("half", 0), ("1e99", 0)],
)
def test_a_pod_holds_what_it_requests(request_: str, amount: int) -> None:
    assert gpu_sharing.held(request_) == amount


def test_amounts_are_read_as_parts_of_gpus() -> None:
    assert amount_text(SHARED_GPU, 500) == "0.5 shared GPU"
    assert amount_text(SHARED_GPU, 2000) == "2 shared GPU"


def test_a_pod_and_its_jobs_template_have_one_shape() -> None:
    labels = {"sharedgpu/gpu_limit": "1.0", "sharedgpu/gpu_request": "0.5"}
    shapes = ShapeInterner()
    pod = object_facts.pod(
        msgspec.json.encode(manifests.pod("a", metadata={"labels": labels})), shapes
    )
    other = object_facts.pod(msgspec.json.encode(manifests.pod("b")), shapes)
    manifest = manifests.member("worker")
    manifest["spec"]["template"]["metadata"] = {"labels": labels}
    role = job_facts.job(msgspec.json.encode(manifest), shapes).role
    assert role is not None
    assert pod.shape.requests.get(SHARED_GPU) == 500
    assert role.template.shape is pod.shape
    assert other.shape.requests.get(SHARED_GPU) == 0


def test_a_node_of_kubeshare_offers_shares_beside_all_else() -> None:
    body = manifests.node()
    body["metadata"]["labels"]["SharedGPU"] = "true"
    body["status"]["allocatable"]["nvidia.com/gpu"] = "2"
    found = object_facts.node(msgspec.json.encode(body)).allocatable
    assert (found.get(SHARED_GPU), found.get("nvidia.com/gpu"), found.get("cpu")) == (2000, 2, 4000)


# One by one.


def gpu_node(**labels: str) -> tuple[Device, ...]:
    named = {
        "SharedGPU": "true",
        **{f"nvidia.com/gpu.{name}": text for name, text in labels.items()},
    }
    return gpu_sharing.devices(named, Resources())


def test_the_gpus_of_a_node_come_from_its_count_and_memory_labels() -> None:
    assert gpu_node(count="2", memory="8192") == (Device(memory=8 * GIB),) * 2
    assert gpu_node(count="1") == (Device(),)
    assert gpu_node() == ()
    assert gpu_sharing.devices({"nvidia.com/gpu.count": "2"}, Resources()) == ()


def test_pods_hold_the_gpu_that_kubeshare_wrote_on_them() -> None:
    one = gpu_sharing.hold(Share(500), "gpu-b", str(3 * GIB))
    two = gpu_sharing.hold(Share(250, GIB), "gpu-b", "")
    assert one
    assert two
    found = gpu_sharing.occupied(gpu_node(count="2", memory="8192"), [(one, False), (two, True)])
    assert found == (
        Device(memory=8 * GIB),
        Device("gpu-b", 8 * GIB, GpuUsage(750, 4 * GIB), GpuUsage(250, GIB)),
    )


def test_whole_gpus_are_held_as_a_whole() -> None:
    both = gpu_sharing.hold(Share(2000), "gpu-a,gpu-b,", str(16 * GIB))
    assert both
    whole = GpuUsage(1000, 8 * GIB)
    assert gpu_sharing.occupied(gpu_node(count="3", memory="8192"), [(both, False)]) == (
        Device(memory=8 * GIB),
        Device("gpu-a", 8 * GIB, whole),
        Device("gpu-b", 8 * GIB, whole),
    )


def test_a_share_without_a_device_counts_on_the_emptiest_gpu() -> None:
    named, nameless = (
        gpu_sharing.GpuAllocation(("gpu-a",), 500, 0),
        gpu_sharing.GpuAllocation((), 700, 0),
    )
    found = gpu_sharing.occupied(gpu_node(count="2"), [(nameless, False), (named, False)])
    assert sorted(one.used.compute for one in found) == [500, 700]


def test_names_make_no_gpus_that_the_node_does_not_have() -> None:
    """Users write the annotations of pods, so an annotation may name any number of GPUs."""
    holds = [(gpu_sharing.GpuAllocation((name,), 300, 0), False) for name in ("gpu-a", "gpu-b")]
    found = gpu_sharing.occupied(gpu_node(count="1"), holds)
    assert found == (Device("gpu-b", used=GpuUsage(600)),)


@pytest.mark.parametrize(("compute", "gpus"), [(0, 1), (1000, 1), (2000, 2), (999_999, 64)])
def test_a_pod_names_as_many_gpus_as_its_share_needs(compute: int, gpus: int) -> None:
    found = gpu_sharing.hold(Share(compute, GIB), ",".join(map(str, range(43_000))), "")
    assert found
    assert len(found.uuids) == gpus


@pytest.mark.parametrize("uuids", ["", "gpu-a", "gpu-a,gpu-a", " , gpu-a"])
def test_whole_gpus_are_held_whether_or_not_they_are_named(uuids: str) -> None:
    both = gpu_sharing.hold(Share(2000), uuids, "")
    one = gpu_sharing.hold(Share(500), "gpu-z", "")
    assert both
    assert one
    found = gpu_sharing.occupied(gpu_node(count="3"), [(both, False), (one, False)])
    assert sorted(one.used.compute for one in found) == [500, 1000, 1000]


def test_an_evicted_pod_frees_the_gpus_of_its_share_only() -> None:
    manifest = manifests.job_pod("p", 0, "j")
    manifest["metadata"].setdefault("labels", {})[contract.SHARED_GPU_REQUEST] = "0.5"
    manifest["metadata"].setdefault("annotations", {})[contract.SHARED_GPU_UUID] = "gpu-a,gpu-b"
    found = object_facts.pod(msgspec.json.encode(manifest), ShapeInterner())
    assert found.pod
    assert found.pod.devices == ("gpu-a",)


@given(st.permutations([("a", 100), ("a", 200), ("b", 300), ("", 400), ("", 50)]))
def test_devices_do_not_depend_on_the_order_of_pods(pods: list[tuple[str, int]]) -> None:
    holds = [
        (gpu_sharing.GpuAllocation((name,) if name else (), part, 0), False) for name, part in pods
    ]
    found = gpu_sharing.occupied(gpu_node(count="3"), holds)
    assert found == gpu_sharing.occupied(gpu_node(count="3"), sorted(holds))
    assert sum(one.used.compute for one in found) == 1050


def test_a_share_is_read_with_its_memory_and_model() -> None:
    labels = {"request": "0.5", "mem": str(GIB), "model": "A100"}
    named = {f"sharedgpu/gpu_{name}": text for name, text in labels.items()}
    assert gpu_sharing.share(named) == Share(500, GIB, "A100")
    assert gpu_sharing.share({"sharedgpu/gpu_limit": "1.0"}) is None


@pytest.mark.parametrize(
    ("headcount", "threshold", "least"), [("5", "0.5", 3), ("4", "1.0", 4), ("10", "0.33", 3)]
)
def test_a_group_asks_for_a_part_of_its_headcount(
    headcount: str, threshold: str, least: int
) -> None:
    labels = dict(zip(contract.SHARED_GPU_GROUP, ("ring", headcount, threshold), strict=True))
    assert gpu_sharing.group(labels) == gpu_sharing.SharedGpuGroup("ring", least)
    assert gpu_sharing.group(labels | {contract.SHARED_GPU_GROUP[2]: "0.1"}) is None


def grouped(headcount: str) -> TrainingJob:
    """A worker of 1 to 4 pods in a group, all of which must be there."""
    labels = dict(zip(contract.SHARED_GPU_GROUP, ("ring", headcount, "1.0"), strict=True))
    share = {"sharedgpu/gpu_limit": "0.5", "sharedgpu/gpu_request": "0.5"}
    manifest = manifests.member("worker")
    manifest["spec"]["template"]["metadata"] = {"labels": labels | share}
    facts_ = job_facts.job(msgspec.json.encode(manifest), ShapeInterner())
    (found,) = observe(ClusterFacts(jobs=[facts_]), datetime(2026, 1, 1, tzinfo=UTC)).jobs
    return found


def test_a_group_starts_with_as_many_pods_as_kubeshare_waits_for() -> None:
    assert grouped("3").roles[0].spec.min == 3
    assert not problem_of(grouped("3"))


def test_a_group_that_is_never_whole_is_held_with_the_way_out() -> None:
    assert problem_of(grouped("9")) == (
        "KubeShare starts its group ring with 9 pods, and it has 1: raise edl.dev/max, or lower "
        "sharedgpu/group_headcount or sharedgpu/group_threshold"
    )
