"""Whole GPUs and shares on the pods of a Job, and the nodes where they are."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from edl.errors import Denied
from edl.inject.handlers import AdmissionRequest, Context, mutate
from edl.writes import Json
from tests.edl.manifests import (
    changed,
    created,
    job,
    labels,
    pod,
    pod_spec,
    role_manifest,
    template,
    update,
)

GPU = "nvidia.com/gpu"
APART = {"key": "SharedGPU", "operator": "NotIn", "values": ["true"]}


def shared(manifest: Json) -> dict[str, Any]:
    """KubeShare's labels on the pods."""
    found = labels(template(manifest) if "template" in manifest["spec"] else manifest)
    return {name: value for name, value in found.items() if name.startswith("sharedgpu/")}


def worker(annotations: Mapping[str, str] | None = None, **fields: Any) -> Json:  # noqa: ANN401
    """A worker, with these annotations on its pod template."""
    manifest = role_manifest("worker", **fields)
    if annotations:
        manifest["spec"]["template"]["metadata"] = {"annotations": dict(annotations)}
    return created(manifest)


def resources(manifest: Json) -> list[Any]:
    return [container.get("resources") for container in pod_spec(manifest)["containers"]]


@pytest.mark.parametrize(
    ("own", "warned"), [("4", True), (2, False), ("2000m", False), ("0", False), (None, False)]
)
def test_gpus_that_differ_from_a_containers_own_do_nothing(
    own: str | int | None, *, warned: bool
) -> None:
    limits = {} if own is None else {"limits": {GPU: own}}
    containers = [{"name": "main", "image": "a", "resources": limits}]
    manifest = role_manifest("worker", gpu="2", pod={"containers": containers})
    done = mutate(AdmissionRequest("CREATE", manifest, None, "ann"), Context(frozenset(), "edl:1"))
    said = "edl.dev/gpu: 2 does nothing: its containers ask for 4 nvidia.com/gpu themselves"
    assert (said in done.warnings) == warned


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
    manifest = role_manifest("worker", gpu="0.5")
    manifest["spec"]["template"]["metadata"] = {"labels": {"sharedgpu/gpu_limit": "0.9"}}
    assert shared(created(manifest))["sharedgpu/gpu_limit"] == "0.9"


def required(manifest: Json) -> Any:  # noqa: ANN401
    """The alternatives of the required node affinity, None without it."""
    affinity = pod_spec(manifest).get("affinity", {}).get("nodeAffinity", {})
    found = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    return found and found["nodeSelectorTerms"]


def with_terms(*terms: Json) -> Json:
    """A pod's fields: its user's own required node affinity."""
    rule = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [*terms]}}
    return {"affinity": {"nodeAffinity": rule}}


ZONE = {"key": "zone", "operator": "In", "values": ["a"]}
DISK = {"key": "disk", "operator": "Exists"}
ON_NODE_1 = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}


@pytest.mark.parametrize("field", ["containers", "initContainers"])
def test_so_do_gpus_that_a_container_asks_for_itself(field: str) -> None:
    own = {"name": "own", "image": "a", "resources": {"limits": {GPU: "1"}}}
    found = worker(pod={"containers": [{"name": "main", "image": "a"}]} | {field: [own]})
    assert required(found) == [{"matchExpressions": [APART]}]


def test_each_alternative_of_the_users_affinity_says_so() -> None:
    own = with_terms({"matchExpressions": [ZONE]}, {"matchExpressions": [DISK]}, ON_NODE_1)
    assert required(worker(gpu="2", pod=own)) == [
        {"matchExpressions": [ZONE, APART]},
        {"matchExpressions": [DISK, APART]},
        ON_NODE_1 | {"matchExpressions": [APART]},
    ]


def test_an_alternative_that_matches_no_node_goes_on_so() -> None:
    assert required(worker(gpu="2", pod=with_terms({}))) == [{}]


def test_an_affinity_that_the_api_server_refuses_stays_as_it_is() -> None:
    assert required(worker(gpu="2", pod=with_terms())) == []


DECIDED = [
    {"nodeSelector": {"SharedGPU": "true"}},
    {"nodeSelector": {"SharedGPU": "false"}},
    {"nodeName": "n1"},
    with_terms({"matchExpressions": [{"key": "SharedGPU", "operator": "Exists"}]}, {}),
]


@pytest.mark.parametrize("own", DECIDED)
@pytest.mark.parametrize("gpu", ["2", "0.5"])
def test_a_user_who_speaks_of_these_nodes_has_decided(gpu: str, own: Json) -> None:
    found = worker(gpu=gpu, pod=own)
    assert pod_spec(found).get("nodeSelector") == own.get("nodeSelector")
    terms = own.get("affinity", {}).get("nodeAffinity", {})
    assert pod_spec(found).get("affinity", {}).get("nodeAffinity", {}) == terms


def test_a_share_goes_to_kubeshares_nodes() -> None:
    found = worker(gpu="0.5", pod={"nodeSelector": {"disk": "ssd"}})
    assert pod_spec(found)["nodeSelector"] == {"disk": "ssd", "SharedGPU": "true"}
    assert required(found) is None


def test_a_job_without_gpus_runs_anywhere() -> None:
    found = worker(pod=with_terms({"matchExpressions": [ZONE]}))
    assert required(found) == [{"matchExpressions": [ZONE]}]
    assert "nodeSelector" not in pod_spec(worker())


OWN = with_terms({"matchExpressions": [ZONE]})


def test_applying_the_file_again_changes_no_place() -> None:
    stored = worker(gpu="2", pod=OWN)
    applied = changed(
        stored, "spec template spec affinity nodeAffinity", OWN["affinity"]["nodeAffinity"]
    )
    assert applied != stored
    assert update(applied, stored).manifest == stored
    share = worker(gpu="0.5")
    applied = changed(share, "spec template spec schedulerName", "default-scheduler")
    assert update(applied, share).manifest == share


def test_another_affinity_is_the_api_servers_to_judge() -> None:
    stored = worker(gpu="2", pod=OWN)
    other = with_terms({"matchExpressions": [DISK]})["affinity"]["nodeAffinity"]
    applied = changed(stored, "spec template spec affinity nodeAffinity", other)
    assert required(update(applied, stored).manifest) == [{"matchExpressions": [DISK]}]


def test_a_job_from_before_keeps_its_place() -> None:
    stored = changed(worker(gpu="2"), "spec template spec affinity", None)
    assert update(stored, stored).manifest == stored


def test_a_container_that_asks_for_no_gpu_has_none() -> None:
    """Templates that serve nodes with and without GPUs say 0."""
    none = {"name": "own", "image": "a", "resources": {"limits": {GPU: "0"}}}
    assert required(worker(pod={"containers": [none]})) is None
    found = worker(gpu="2", pod={"containers": [none]})
    assert pod_spec(found)["containers"][0]["resources"]["limits"] == {GPU: "2"}


@pytest.mark.parametrize("kind", [job, pod])
def test_a_share_is_refused_beside_whole_gpus_of_a_container(kind: Callable[..., Json]) -> None:
    own = {"name": "own", "image": "a", "resources": {"limits": {GPU: "2"}}}
    fields = {"pod": {"containers": [own]}} if kind is job else {"spec": {"containers": [own]}}
    with pytest.raises(Denied) as denied:
        created(kind(framework="none", gpu="0.5", **fields))
    (finding,) = denied.value.findings
    assert finding.path == "metadata.labels[edl.dev/gpu]"
    assert finding.what == '"0.5" of a GPU beside whole ones of a container\'s own'
