"""Shares in KubeShare's words, and pods that its scheduler binds by creating them again."""

import copy
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edl.errors import Denied
from edl.inject.handlers import AdmissionRequest, mutate, validate
from edl.inject.namespace_limits import gpus
from edl.inject.pods import kubeshare
from edl.writes import Json
from tests.edl.manifests import (
    CONTEXT,
    USER,
    annotations,
    create,
    created,
    horovod,
    labels,
    pod,
    pod_spec,
    role_manifest,
    template,
)
from tests.integration.support.kubeshare import Gpu, recreated

LAW = settings(deadline=None, max_examples=100)
FINALIZER = "batch.kubernetes.io/job-tracking"
JOB_CONTROLLER = "system:serviceaccount:kube-system:job-controller"
GROUP = {
    "sharedgpu/group_name": "a",
    "sharedgpu/group_headcount": "5",
    "sharedgpu/group_threshold": "0.2",
}
TAKES = re.compile(r"[0]+.[0-9]+|[1-9]+[0-9]*[.]+[0]+|[1-9]+")
"""`valueFormat` of KubeShare 2.0 (pkg/scheduler/pod.go): what its FindString finds must be all."""


def takes(text: str) -> bool:
    found = TAKES.search(text)
    return found is not None and len(found[0]) == len(text)


def worker(metadata: Mapping[str, Any] | None = None, **fields: Any) -> Json:  # noqa: ANN401
    """A worker's Job; `metadata` is its pod template's."""
    manifest = role_manifest("worker", **fields)
    manifest["spec"]["template"]["metadata"] = dict(metadata or {})
    return manifest


def shared(manifest: Json) -> dict[str, Any]:
    found = labels(template(created(manifest)))
    return {name: value for name, value in found.items() if name.startswith("sharedgpu/")}


def refusal(manifest: Json) -> str:
    with pytest.raises(Denied) as denied:
        created(manifest)
    return str(denied.value)


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        *((text, True) for text in ("0.5", "1", "2.0", "12", "1.0", "0.0", "10.0")),
        *((text, False) for text in ("10", "1.5", ".5", "0", "0x5", "1.", "a", "")),
    ],
)
def test_values_are_those_that_kubeshare_takes(text: str, taken: bool) -> None:  # noqa: FBT001
    manifest = worker({"labels": {"sharedgpu/gpu_limit": text}})
    if taken:
        assert takes(text)
        assert shared(manifest) == {"sharedgpu/gpu_limit": text}
    else:
        assert f'"{text}" is refused by KubeShare' in refusal(manifest)


@LAW
@given(st.integers(1, 9999), st.integers(0, 9999), st.integers(1, 2**40))
def test_every_share_of_ours_is_taken(request: int, more: int, memory: int) -> None:
    limit = min(request + more, 10_000)
    told = {"gpu-limit": "1.0" if limit == 10_000 else f"0.{limit:04}"}
    manifest = worker(gpu=f"0.{request:04}", gpu_memory=str(memory), annotations=told)
    found = shared(manifest)
    assert takes(found["sharedgpu/gpu_request"])
    assert takes(found["sharedgpu/gpu_limit"])
    assert found["sharedgpu/gpu_mem"] == str(memory)


@LAW
@given(
    st.decimals(0, 1, places=3).map(str),
    st.sampled_from([lambda text: text, lambda text: text.lstrip("0") or "0", "{}e0".format]),
)
def test_every_share_of_1_0_is_taken_by_2_0(number: str, spelled: Any) -> None:  # noqa: ANN401
    text = spelled(number)
    told = {"kubeshare/gpu_limit": text, "kubeshare/gpu_request": text}
    found = shared(worker({"annotations": told}))
    assert takes(found["sharedgpu/gpu_limit"])
    assert float(found["sharedgpu/gpu_request"]) == float(number)


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"gpu_limit": "1.5"}, "a share from 0 to 1.0"),
        ({"gpu_request": "half"}, "a share from 0 to 1.0"),
        ({"gpu_request": "nan"}, "a share from 0 to 1.0"),
        ({"gpu_mem": "3Gi"}, "whole bytes"),
        ({"gpu_request": "0.6", "gpu_limit": "0.5"}, "0.6 is above 0.5"),
    ],
)
def test_what_1_0_refuses_is_refused(told: Mapping[str, str], said: str) -> None:
    named = {f"kubeshare/{name}": text for name, text in told.items()}
    message = refusal(worker({"annotations": named}))
    assert message.startswith("spec.template.metadata.annotations[kubeshare/gpu_")
    assert said in message


@pytest.mark.parametrize(
    ("own", "said"),
    [
        ({"gpu_request": "0.5"}, "[sharedgpu/gpu_limit]: missing"),
        ({"gpu_limit": "0.5", "gpu_request": "0.6"}, "0.6 with the limit 0.5"),
        ({"gpu_limit": "3.0", "gpu_request": "2.0"}, "2.0 with the limit 3.0"),
        ({"gpu_limit": "0.5", "gpu_mem": "3Gi"}, "whole bytes"),
        ({"gpu_limit": "0.5", "priority": "101"}, "0 (opportunistic) to 100"),
        ({"gpu_limit": "0.5", "group_name": "a"}, "a group has a name, headcount, threshold"),
        ({"gpu_limit": "0.5"} | {"group_headcount": "0"}, "a whole number from 1"),
        ({"gpu_limit": "0.5"} | {"group_threshold": "0.0"}, "the part of the group"),
    ],
)
def test_what_2_0_would_never_schedule_is_refused(own: Mapping[str, str], said: str) -> None:
    named = {f"sharedgpu/{name}": text for name, text in own.items()}
    assert said in refusal(worker({"labels": named}))


def test_a_value_that_is_not_a_string_is_refused_with_the_fix() -> None:
    words = {"labels": {"sharedgpu/gpu_limit": 0.5}, "annotations": {"kubeshare/gpu_mem": 9}}
    said = refusal(worker(words))
    assert 'labels[sharedgpu/gpu_limit]: 0.5 is not a string; quote it: "0.5"' in said
    assert 'annotations[kubeshare/gpu_mem]: 9 is not a string; quote it: "9"' in said


def test_a_number_that_would_be_written_out_for_ever_is_refused() -> None:
    told = {"kubeshare/gpu_limit": "1e-999999"}
    assert "a share from 0 to 1.0" in refusal(worker({"annotations": told}))


def test_priority_model_and_group_pass_beside_our_share() -> None:
    own = GROUP | {"sharedgpu/priority": "100", "sharedgpu/gpu_model": "NVIDIA-GeForce-GTX-1080"}
    share = {"sharedgpu/gpu_limit": "0.5", "sharedgpu/gpu_request": "0.5"}
    assert shared(worker({"labels": own}, gpu="0.5")) == own | share


@pytest.mark.parametrize("limit", ["0.5", "2.0"])
def test_labels_of_kubeshare_alone_make_a_share(limit: str) -> None:
    found = pod_spec(created(worker({"labels": {"sharedgpu/gpu_limit": limit}})))
    assert found["schedulerName"] == "kubeshare-scheduler"
    assert found["nodeSelector"] == {"SharedGPU": "true"}


def test_a_share_of_zero_is_not_a_gpu_share() -> None:
    found = pod_spec(created(worker({"labels": {"sharedgpu/gpu_limit": "0.0"}})))
    assert {"schedulerName", "nodeSelector"}.isdisjoint(found)


def test_1_0s_words_are_written_when_they_are_asked_for() -> None:
    told = {"kubeshare": "1", "gpu-limit": "1.0"}
    stored = created(worker(gpu="0.5", gpu_memory="3Gi", annotations=told))
    assert annotations(template(stored)) == {
        "kubeshare/gpu_limit": "1.0",
        "kubeshare/gpu_request": "0.5",
        "kubeshare/gpu_mem": str(3 * 2**30),
    }
    assert shared(stored) == {}
    assert {"schedulerName", "nodeSelector"}.isdisjoint(pod_spec(stored))


@pytest.mark.parametrize("kubeshare", ["1", "2"])
def test_a_share_counts_in_either_words(kubeshare: str) -> None:
    told = {"kubeshare": kubeshare}
    assert gpus(created(worker(gpu="0.5", gpu_memory="3Gi", annotations=told))) == Decimal("0.5")


def test_1_0_takes_no_share_without_its_memory() -> None:
    assert "edl.dev/gpu-memory" in refusal(worker(gpu="0.5", annotations={"kubeshare": "1"}))


def test_1_0s_own_annotations_stay_as_they_are_when_its_words_are_asked_for() -> None:
    own = {"kubeshare/gpu_request": "0.3", "kubeshare/GPUID": "abcde"}
    manifest = worker({"annotations": own}, annotations={"kubeshare": "1"})
    assert annotations(template(created(manifest))) == own
    assert shared(manifest) == {}


@pytest.mark.parametrize(
    "manifest",
    [
        worker(gpu="0.5", gpu_memory="3Gi", annotations={"kubeshare": "1"}),
        worker({"annotations": {"kubeshare/gpu_request": "0.3"}}, annotations={"kubeshare": "1"}),
    ],
    ids=["our label", "its annotations"],
)
def test_a_share_of_1_0_is_warned_of_as_it_reads_no_pods(manifest: Json) -> None:
    (warning,) = create(manifest).warnings
    assert warning.startswith("edl.dev/kubeshare: 1 only annotates the pods")
    assert "SharePods" in warning


def test_without_a_share_nothing_is_said_of_1_0() -> None:
    warnings = create(worker(annotations={"kubeshare": "1"})).warnings
    assert not [warning for warning in warnings if "kubeshare" in warning]


def test_what_2_0_has_no_word_for_is_warned_of_once() -> None:
    own = {"kubeshare/gpu_request": "0.3", "kubeshare/GPUID": "abcde"}
    verdict = create(worker({"annotations": own}))
    (warning,) = verdict.warnings
    assert warning.startswith("kubeshare/GPUID has no counterpart in KubeShare 2.0")
    assert create(verdict.manifest).warnings == ()


def test_an_unknown_kubeshare_is_refused() -> None:
    assert 'unknown "3"; one of 1, 2' in refusal(worker(gpu="0.5", annotations={"kubeshare": "3"}))


def test_a_launchers_share_is_refused_because_kubeshare_ignores_its_gate() -> None:
    assert "scheduling gate" in refusal(horovod("launcher", gpu="0.5"))
    assert pod_spec(created(horovod("launcher", gpu="1")))["schedulingGates"]
    assert shared(horovod("worker", gpu="0.5"))


# -- bound by being created again ------------------------------------------------------------------


def of_job(manifest: Json) -> Json:
    """A pod as the Job controller makes it from a completed Job."""
    made = template(created(manifest))
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "mnist-worker", "uid": "1"}
    metadata = made["metadata"] | {
        "name": "mnist-worker-0-abcde",
        "generateName": "mnist-worker-0-",
        "namespace": "lab",
        "finalizers": [FINALIZER],
        "ownerReferences": [owner | {"controller": True, "blockOwnerDeletion": True}],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": made["spec"]}


def admitted(manifest: Json, user: str = JOB_CONTROLLER) -> Json:
    return mutate(AdmissionRequest("CREATE", manifest, None, user), CONTEXT).manifest


def stored_as(manifest: Json) -> Json:
    """What a scheduler reads of it."""
    copied = copy.deepcopy(manifest)
    copied["metadata"] |= {"resourceVersion": "1", "uid": "2"}
    return copied


def bound(manifest: Json) -> Json:
    """What KubeShare creates in place of it."""
    return recreated(stored_as(manifest), Gpu("n1", "GPU-1"), 50051)


def test_a_jobs_share_waits_without_the_finalizer_and_is_bound_with_it() -> None:
    waiting = admitted(of_job(worker(gpu="0.5")))
    assert "finalizers" not in waiting["metadata"]
    running = admitted(bound(waiting), "kubeshare")
    assert running["metadata"]["finalizers"] == [FINALIZER]
    assert running["metadata"]["ownerReferences"][0]["controller"] is True


def test_finalizers_of_others_stay() -> None:
    manifest = of_job(worker(gpu="0.5"))
    manifest["metadata"]["finalizers"] = ["example.com/a", FINALIZER, "example.com/b"]
    waiting = admitted(manifest)
    assert waiting["metadata"]["finalizers"] == ["example.com/a", "example.com/b"]
    assert FINALIZER in admitted(bound(waiting))["metadata"]["finalizers"]


@pytest.mark.parametrize(
    "manifest",
    [
        worker(),
        worker(gpu="2"),
        worker(pod={"schedulerName": "kubeshare-scheduler"}),
        worker(gpu="0.5", pod={"schedulerName": "mine"}),
        worker(
            {"labels": {"sharedgpu/gpu_limit": "0.0"}}, pod={"schedulerName": "kubeshare-scheduler"}
        ),
    ],
    ids=["none", "whole", "no share", "another scheduler", "a share of nothing"],
)
def test_pods_that_are_bound_as_usual_keep_the_finalizer(manifest: Json) -> None:
    made = of_job(manifest)
    assert admitted(made) == made
    validate(AdmissionRequest("CREATE", made, None, JOB_CONTROLLER), CONTEXT)


def test_unlabelled_pods_are_left_alone() -> None:
    made = of_job(worker(gpu="0.5"))
    del made["metadata"]["labels"]["edl.dev/framework"]
    assert admitted(made) == made


def test_an_update_of_a_pod_never_touches_its_finalizers() -> None:
    made = of_job(worker(gpu="0.5"))
    assert mutate(AdmissionRequest("UPDATE", made, made, USER), CONTEXT).manifest == made


SHARES = st.sampled_from(
    [{"gpu": "0.5"}, {"gpu": "0.25", "gpu_memory": "1Gi"}, {"gpu": "0.5", "pod": {"volumes": []}}]
)


@LAW
@given(SHARES)
def test_a_jobs_pod_seen_twice_is_seen_once(fields: Mapping[str, Any]) -> None:
    waiting = admitted(of_job(worker(**fields)))
    assert admitted(waiting) == waiting
    running = admitted(bound(waiting))
    assert admitted(running) == running
    assert kubeshare.with_tracking(running) == running


@LAW
@given(
    st.sampled_from(["tensorflow", "pytorch", "none"]),
    st.sampled_from(["0.5", "0.25"]),
    st.sampled_from([{}, {"nodeSelector": {"disk": "ssd"}}, {"volumes": [], "hostname": "a"}]),
)
def test_a_bare_pod_is_the_same_after_kubeshare_bound_it(
    framework: str, share: str, own: Json
) -> None:
    told = {"rank": "1", "size": "3"}
    waiting = created(
        pod("any", framework=framework, job="mnist", gpu=share, annotations=told, spec=own)
    )
    running = bound(waiting)
    assert admitted(running) == running
    assert create(running).warnings == ()
    validate(AdmissionRequest("CREATE", running, None, USER), CONTEXT)
    assert pod_spec(running)["nodeName"] == "n1"
