from collections.abc import Mapping
from typing import Any

import pytest

from edl.writes import Json
from tests.edl.manifests import cast, created, labels, pod, pod_spec, template

GPU = "nvidia.com/gpu"


def shared(manifest: Json) -> dict[str, Any]:
    """KubeShare's labels on the pods."""
    found = labels(template(manifest) if "template" in manifest["spec"] else manifest)
    return {name: value for name, value in found.items() if name.startswith("sharedgpu/")}


def worker(annotations: Mapping[str, str] | None = None, **fields: Any) -> Json:  # noqa: ANN401
    """A worker, with these annotations on its pod template."""
    manifest = cast("worker", **fields)
    if annotations:
        manifest["spec"]["template"]["metadata"] = {"annotations": dict(annotations)}
    return created(manifest)


def resources(manifest: Json) -> list[Any]:
    return [container.get("resources") for container in pod_spec(manifest)["containers"]]


def test_whole_gpus_go_to_the_first_container() -> None:
    two = [{"name": "main", "image": "a"}, {"name": "log", "image": "b"}]
    found = worker(gpu="2", pod={"containers": two})
    assert resources(found) == [{"limits": {GPU: "2"}, "requests": {GPU: "2"}}, None]
    assert shared(found) == {}
    assert "schedulerName" not in pod_spec(found)


def test_other_resources_stay_beside_the_gpus() -> None:
    own = {"name": "main", "image": "a", "resources": {"limits": {"cpu": "4"}}}
    found = worker(gpu="1", pod={"containers": [own]})
    assert resources(found) == [{"limits": {"cpu": "4", GPU: "1"}, "requests": {GPU: "1"}}]


def test_gpus_that_a_container_asks_for_itself_win() -> None:
    own = {"limits": {GPU: "4"}}
    two = [{"name": "main", "image": "a"}, {"name": "log", "image": "b", "resources": own}]
    assert resources(worker(gpu="1", pod={"containers": two})) == [None, own]


def test_a_share_is_asked_for_in_kubeshares_words() -> None:
    found = worker(gpu="0.5", gpu_memory="3Gi")
    assert shared(found) == {
        "sharedgpu/gpu_limit": "0.5",
        "sharedgpu/gpu_request": "0.5",
        "sharedgpu/gpu_mem": str(3 * 2**30),
    }
    assert pod_spec(found)["schedulerName"] == "kubeshare-scheduler"
    assert resources(found) == [None]


def test_a_share_may_be_exceeded_up_to_its_limit() -> None:
    manifest = cast("worker", gpu="0.5", annotations={"gpu-limit": "1.0"})
    assert shared(created(manifest))["sharedgpu/gpu_limit"] == "1.0"


def test_kubeshare_1_annotations_are_translated() -> None:
    told = {"kubeshare/gpu_limit": "0.8", "kubeshare/gpu_request": "0.3", "kubeshare/gpu_mem": "9"}
    found = worker(told)
    assert shared(found) == {
        "sharedgpu/gpu_limit": "0.8",
        "sharedgpu/gpu_request": "0.3",
        "sharedgpu/gpu_mem": "9",
    }
    assert pod_spec(found)["schedulerName"] == "kubeshare-scheduler"


@pytest.mark.parametrize(
    ("told", "limit"),
    [({"kubeshare/gpu_request": "0.3"}, "0.3"), ({"kubeshare/gpu_mem": "9"}, "1.0")],
)
def test_kubeshare_2_always_needs_a_limit(told: Mapping[str, str], limit: str) -> None:
    assert shared(worker(told))["sharedgpu/gpu_limit"] == limit


def test_our_label_wins_over_old_annotations() -> None:
    found = shared(worker({"kubeshare/gpu_request": "0.3"}, gpu="0.5"))
    assert found["sharedgpu/gpu_request"] == "0.5"


@pytest.mark.parametrize(
    ("own", "scheduler"),
    [("mine", "mine"), ("default-scheduler", "kubeshare-scheduler"), ("", "kubeshare-scheduler")],
)
def test_only_the_default_scheduler_is_replaced(own: str, scheduler: str) -> None:
    assert pod_spec(worker(gpu="0.5", pod={"schedulerName": own}))["schedulerName"] == scheduler


def test_labels_of_kubeshare_that_the_user_wrote_win() -> None:
    manifest = cast("worker", gpu="0.5")
    manifest["spec"]["template"]["metadata"] = {"labels": {"sharedgpu/gpu_limit": "0.9"}}
    assert shared(created(manifest))["sharedgpu/gpu_limit"] == "0.9"


def test_a_bare_pod_gets_its_share_on_itself() -> None:
    found = created(pod(framework="none", gpu="0.5"))
    assert shared(found)["sharedgpu/gpu_request"] == "0.5"
    assert pod_spec(found)["schedulerName"] == "kubeshare-scheduler"
