"""Whole GPUs of a DeviceClass: a claim from a template, which the reconciler makes."""

from copy import deepcopy
from decimal import Decimal

import pytest

from edl import contract
from edl.errors import Denied
from edl.writes import Json
from tests.edl.inject.policies import create, look_again, saying
from tests.edl.inject.policies import created as created_by
from tests.edl.manifests import created, job, pod, pod_spec, role_manifest, update

CLASS = "gpu.example.com"
TEMPLATE = "net-gpus-2.gpu.example.com"


def net(gpu: str | None = "2", **annotations: str) -> Json:
    labels: Json = {"gpu": gpu} if gpu else {}
    notes = {name.replace("_", "-"): text for name, text in annotations.items()}
    return job("net", framework="pytorch", annotations=notes, **labels)


def test_gpus_of_a_class_are_a_claim_that_the_first_container_uses() -> None:
    found = pod_spec(created(net(gpu_class=CLASS)))
    claim = {"name": "edl-gpus", "resourceClaimTemplateName": TEMPLATE}
    assert found["resourceClaims"] == [claim]
    assert found["containers"][0]["resources"] == {"claims": [{"name": "edl-gpus"}]}
    assert "affinity" not in found or "nodeAffinity" not in found["affinity"]


def test_other_claims_and_resources_stay_beside_it() -> None:
    own = {"limits": {"cpu": "4"}, "claims": [{"name": "nic"}]}
    nic = {"name": "nic", "resourceClaimTemplateName": "nics"}
    spec = {"containers": [{"name": "main", "image": "a", "resources": own}]}
    manifest = role_manifest("worker", gpu="2", annotations={"gpu-class": CLASS}, pod=spec)
    manifest["spec"]["template"]["spec"]["resourceClaims"] = [nic]
    found = pod_spec(created(manifest))
    assert [one["name"] for one in found["resourceClaims"]] == ["nic", "edl-gpus"]
    names = [{"name": "nic"}, {"name": "edl-gpus"}]
    assert found["containers"][0]["resources"] == {"limits": {"cpu": "4"}, "claims": names}


def test_gpus_that_a_container_asks_for_itself_win() -> None:
    own = {"name": "main", "image": "a", "resources": {"limits": {"nvidia.com/gpu": "4"}}}
    manifest = role_manifest(
        "worker", gpu="2", annotations={"gpu-class": CLASS}, pod={"containers": [own]}
    )
    assert "resourceClaims" not in pod_spec(created(manifest))


@pytest.mark.parametrize(
    ("manifest", "path", "what"),
    [
        (net(None, gpu_class=CLASS), "metadata.annotations[edl.dev/gpu-class]", "is absent"),
        (net("0.5", gpu_class=CLASS), "metadata.annotations[edl.dev/gpu-class]", "is a share"),
        (net("2", gpu_class="No/Class"), "metadata.annotations[edl.dev/gpu-class]", '"No/Class"'),
        (net("2", gpu_class="a" * 161), "metadata.annotations[edl.dev/gpu-class]", "aaa"),
        (net("33", gpu_class=CLASS), "metadata.labels[edl.dev/gpu]", "33 devices"),
        (
            pod(framework="none", job="net", gpu="2", annotations={"gpu-class": CLASS}),
            "metadata.annotations[edl.dev/gpu-class]",
            "a bare pod",
        ),
    ],
)
def test_a_class_that_cannot_be_is_refused(manifest: Json, path: str, what: str) -> None:
    with pytest.raises(Denied) as denied:
        created(manifest)
    (finding,) = denied.value.findings
    assert finding.path == path
    assert what in str(finding)


def test_a_job_without_a_name_yet_is_asked_for_one() -> None:
    """Its template is named after it."""
    manifest = net(gpu_class=CLASS)
    del manifest["metadata"]["name"]
    manifest["metadata"]["generateName"] = "net-"
    with pytest.raises(Denied, match="named after the training job"):
        created(manifest)


def test_the_class_never_changes() -> None:
    stored = created(net(gpu_class=CLASS))
    again = deepcopy(stored)
    again["metadata"]["annotations"][contract.GPU_CLASS] = "other"
    with pytest.raises(Denied, match="cannot change after creation"):
        update(again, stored)


def test_a_namespace_names_the_class_of_jobs_that_ask_for_whole_gpus() -> None:
    lab = saying(default_gpu_class=CLASS)
    stored = created_by(net("2"), lab)
    assert pod_spec(stored)["resourceClaims"][0]["resourceClaimTemplateName"] == TEMPLATE
    look_again(stored, lab)
    other = created_by(net("2", gpu_class="other"), lab)
    (claim,) = pod_spec(other)["resourceClaims"]
    assert claim["resourceClaimTemplateName"] == "net-gpus-2.other"
    for gpu in (None, "0.5"):
        assert "resourceClaims" not in pod_spec(created_by(net(gpu), lab))


@pytest.mark.parametrize(
    ("gpu", "metadata", "why"),
    [
        ("2", {"generateName": "net-"}, "metadata.name, or the label edl.dev/job"),
        ("33", {"name": "net"}, "a ResourceClaim holds no more than 32"),
        ("0.5", {"generateName": "net-"}, ""),
    ],
)
def test_a_default_class_that_does_not_fit_is_named_in_a_warning(
    gpu: str, metadata: dict[str, str], why: str
) -> None:
    manifest = net(gpu)
    del manifest["metadata"]["name"]
    manifest["metadata"] |= metadata
    manifest["metadata"]["labels"][contract.FRAMEWORK] = "none"
    found = create(manifest, saying(default_gpu_class=CLASS)).warnings
    named = [one for one in found if contract.DEFAULT_GPU_CLASS in one]
    assert [why in one for one in named] == [True] * bool(why)
    assert all("of the namespace is not applied" in one for one in named)


def test_gpus_of_a_class_count_in_a_budget_of_gpus() -> None:
    lab = saying(gpu_budget=Decimal(3))
    created_by(net(gpu_class=CLASS), lab)
    larger = net(gpu_class=CLASS)
    larger["metadata"]["labels"][contract.MAX] = "2"
    with pytest.raises(Denied, match="2 pods × 2 GPUs = 4 GPUs, above 3"):
        create(larger, lab)
