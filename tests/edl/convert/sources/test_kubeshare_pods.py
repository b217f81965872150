from typing import Any

import pytest

from edl import contract
from edl.convert import convert
from edl.convert.diagnostics import Malformed
from edl.convert.parts import gpu_share_labels
from edl.spec.job_spec import UNLIMITED
from edl.writes import Json
from tests.edl.convert.documents import admitted, jobs, only, paths

HALF = {"request": "0.5", "limit": "1.0", "mem": "1073741824"}


def share_pod(api: str = "kubeshare.nthu/v1", prefix: str = "kubeshare", **spec: object) -> Json:
    notes = {f"{prefix}/gpu_{word}": text for word, text in HALF.items()}
    return {
        "apiVersion": api,
        "kind": "SharePod",
        "metadata": {"name": "cuda", "labels": {"app": "cuda"}, "annotations": notes},
        "spec": {"containers": [{"name": "cuda", "image": "cuda"}]} | spec,
    }


def pod(labels: Json | None = None, **spec: object) -> Json:
    words = {"sharedgpu/gpu_request": "0.4", "sharedgpu/gpu_limit": "0.8"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "cuda", "labels": words | (labels or {})},
        "spec": {
            "schedulerName": "kubeshare-scheduler",
            "restartPolicy": "Never",
            "containers": [{"name": "cuda", "image": "cuda"}],
        }
        | spec,
    }


@pytest.mark.parametrize(
    ("api", "prefix"), [("kubeshare.nthu/v1", "kubeshare"), ("sharedgpu.goc/v1", "sharedgpu")]
)
def test_a_share_pod_is_a_job_of_one_with_a_share(api: str, prefix: str) -> None:
    job = only(jobs(share_pod(api, prefix)))
    assert job["metadata"]["labels"] == {
        "app": "cuda",
        contract.FRAMEWORK: "none",
        contract.GPU: "0.5",
        contract.GPU_MEMORY: "1073741824",
    }
    assert job["metadata"]["annotations"] == {contract.GPU_LIMIT: "1.0"}
    assert job["spec"]["template"]["metadata"] == {"labels": {"app": "cuda"}}
    labels = admitted(job)["spec"]["template"]["metadata"]["labels"]
    assert labels["sharedgpu/gpu_request"] == "0.5"
    assert labels["app"] == "cuda"


def test_a_pods_share_is_said_once_and_its_other_words_stay_on_it() -> None:
    words = {"sharedgpu/gpu_model": "V100", "sharedgpu/priority": "100", "app": "cuda"}
    found = jobs(pod(words))
    job = only(found)
    assert found.dropped == ()
    assert job["metadata"]["labels"] == {
        "app": "cuda",
        contract.FRAMEWORK: "none",
        contract.GPU: "0.4",
    }
    assert job["spec"]["template"]["metadata"]["labels"] == words
    assert job["spec"]["template"]["spec"]["schedulerName"] == "kubeshare-scheduler"


@pytest.mark.parametrize("text", ["1.0", "2.0"])
def test_whole_gpus_of_kubeshare_stay_kubeshares(text: str) -> None:
    words = {"sharedgpu/gpu_request": text, "sharedgpu/gpu_limit": text}
    job = only(jobs(pod(words)))
    assert contract.GPU not in job["metadata"]["labels"]
    assert job["spec"]["template"]["metadata"]["labels"] == words


@pytest.mark.parametrize(
    ("policy", "restart", "limit", "lost"),
    [
        (None, "OnFailure", UNLIMITED, []),
        ("Always", "OnFailure", UNLIMITED, ["spec.restartPolicy"]),
        ("OnFailure", "OnFailure", UNLIMITED, []),
        ("Never", "Never", 0, []),
    ],
)
def test_a_pod_is_started_again_as_it_was(
    policy: str | None, restart: str, limit: int, lost: list[str]
) -> None:
    found = jobs(pod(restartPolicy=policy))
    spec = only(found)["spec"]
    assert spec["template"]["spec"]["restartPolicy"] == restart
    assert spec["backoffLimit"] == limit
    assert paths(found) == lost


def test_what_a_share_pod_says_in_20s_words_is_said_in_labels() -> None:
    document = share_pod("sharedgpu.goc/v1", "sharedgpu")
    whole = {"sharedgpu/gpu_request": "1.0", "sharedgpu/gpu_limit": "1.0"}
    document["metadata"]["annotations"] = dict(whole)
    pods = only(jobs(document))["spec"]["template"]["metadata"]
    assert pods == {"labels": {"app": "cuda"} | whole}


def test_a_device_is_no_longer_chosen_by_its_user() -> None:
    document = share_pod(nodeName="node01")
    document["metadata"]["annotations"]["kubeshare/GPUID"] = "abcde"
    document["metadata"]["annotations"]["kubeshare/sched_affinity"] = "red"
    found = jobs(document)
    assert paths(found) == [
        "metadata.annotations[kubeshare/GPUID]",
        "metadata.annotations[kubeshare/sched_affinity]",
    ]
    spec = only(found)["spec"]["template"]["spec"]
    assert not {"nodeName", "nodeSelector"} & spec.keys()
    assert "left out nodeName node01: KubeShare's scheduler writes it" in str(found.notes[-2])


def test_a_node_that_kubeshares_scheduler_chose_binds_no_job() -> None:
    live = pod(nodeName="node01", nodeSelector={"disk": "ssd"})
    live["metadata"]["annotations"] = {"sharedgpu/gpu_uuid": "GPU-1"}
    spec = only(jobs(live))["spec"]["template"]["spec"]
    assert (spec["nodeSelector"], "nodeName" in spec) == ({"disk": "ssd"}, False)


@pytest.mark.parametrize("document", [share_pod(nodeName="node01"), pod(nodeName="node01")])
def test_a_node_without_a_device_is_the_users(document: Json) -> None:
    spec = only(jobs(document))["spec"]["template"]["spec"]
    assert spec["nodeSelector"] == {"kubernetes.io/hostname": "node01"}
    assert "nodeName" not in spec


def test_a_group_is_still_kubeshares() -> None:
    group = {"name": "ring", "headcount": "4", "threshold": "1.0"}
    words = {f"sharedgpu/group_{word}": text for word, text in group.items()}
    found = jobs(pod(words))
    assert only(found)["spec"]["template"]["metadata"]["labels"] == words
    assert found.dropped == ()
    assert "group ring: apply all of them" in str(found.notes[0])


def test_a_bound_pod_is_better_not_converted() -> None:
    document = pod()
    document["metadata"]["annotations"] = {"sharedgpu/gpu_uuid": "GPU-1", "team": "vision"}
    found = jobs(document)
    assert only(found)["spec"]["template"]["metadata"] == {"annotations": {"team": "vision"}}
    assert "convert the file that the pod was made from" in str(found.notes[0])


def test_annotations_of_the_user_are_the_pods() -> None:
    document = share_pod()
    document["metadata"]["annotations"]["team"] = "vision"
    job = only(jobs(document))
    assert job["spec"]["template"]["metadata"]["annotations"] == {"team": "vision"}
    assert "team" not in job["metadata"]["annotations"]


@pytest.mark.parametrize(
    "metadata",
    [
        {"name": "plain", "labels": {"app": "web"}},
        {"name": "ours", "labels": {"sharedgpu/gpu_limit": "1", contract.FRAMEWORK: "none"}},
        {
            "name": "a-controllers",
            "labels": {"sharedgpu/gpu_limit": "1"},
            "ownerReferences": [{"kind": "ReplicaSet", "name": "web"}],
        },
        None,
    ],
)
def test_other_pods_are_not_ours(metadata: Json | None) -> None:
    assert convert(pod() | {"metadata": metadata}) is None


def test_a_share_pod_without_containers_is_refused() -> None:
    with pytest.raises(Malformed, match="spec: has no containers"):
        convert(share_pod(containers=[]))


@pytest.mark.parametrize("limit", [None, 1, ["0.5"], {}])
def test_a_share_that_is_not_a_string_stays_where_it_is(limit: object) -> None:
    words: dict[str, Any] = {"kubeshare/gpu_request": "0.5", "kubeshare/gpu_limit": limit}
    assert gpu_share_labels.of(words, "kubeshare") == gpu_share_labels.ShareLabels(words)
