import pytest
from msgspec.structs import replace

from edl import contract
from edl.contract import pod_limits, registry
from edl.errors import Denied
from edl.frameworks.base import ModeRight
from edl.inject.handlers import AdmissionRequest, mutate, validate
from edl.inject.warnings import request_warnings
from edl.parsing.parser import parse
from edl.writes import Json
from tests.edl.manifests import (
    CONTEXT,
    HOROVOD_ROLES,
    USER,
    annotations,
    changed,
    create,
    created,
    horovod,
    job,
    labels,
    pod,
    refusals,
    role_manifest,
    template,
)


def check(manifest: Json) -> None:
    validate(AdmissionRequest("CREATE", manifest, None, USER), CONTEXT)


def test_an_unlabelled_object_comes_back_as_it_is() -> None:
    given = job()
    assert create(given).manifest is given
    check(given)


@pytest.mark.parametrize("kind", ["Job", "Pod"])
def test_what_was_completed_is_within_the_limits_that_it_was_completed_for(kind: str) -> None:
    """The second pass and the last look count the labels that the first pass has added."""
    serving = replace(CONTEXT, release="r1")
    manifest = job("sweep", framework="none") if kind == "Job" else pod(framework="none")
    path = "spec template metadata labels" if kind == "Job" else "metadata labels"
    most = pod_limits.MAX_LABELS - len(labels(manifest) if kind == "Pod" else {})
    for number in range(most):
        manifest = changed(manifest, f"{path} {number}", "")
    done = mutate(AdmissionRequest("CREATE", manifest, None, USER), serving).manifest
    part = template(done) if kind == "Job" else done
    assert len(labels(part)) > pod_limits.MAX_LABELS
    again = AdmissionRequest("CREATE", done, None, USER)
    assert mutate(again, serving).manifest == done
    validate(again, serving)


@pytest.mark.parametrize("mark", ["", contract.COMPLETED_BY, contract.INJECTED_MAX])
def test_marks_that_a_client_writes_raise_no_limit(mark: str) -> None:
    manifest = job("sweep", framework="none")
    for number in range(pod_limits.MAX_LABELS + 1):
        manifest = changed(manifest, f"spec template metadata labels {number}", "")
    if mark:
        manifest = changed(manifest, f"metadata annotations {mark}", "3")
    with pytest.raises(Denied, match="257 labels; at most 256"):
        create(manifest)


@pytest.mark.parametrize(
    ("gpu", "path", "value"),
    [
        ("0.5", "nodeSelector", {f"k{one}": "" for one in range(pod_limits.MAX_NAMES)}),
        (
            "2",
            f"affinity nodeAffinity {contract.REQUIRED_AFFINITY} nodeSelectorTerms",
            [
                {
                    "matchExpressions": [
                        {"key": f"k{one}", "operator": "Exists"}
                        for one in range(pod_limits.MAX_RULES - 1)
                    ]
                }
            ],
        ),
    ],
)
def test_rules_that_keep_pods_on_their_kind_of_gpu_nodes_exceed_no_limit(
    gpu: str, path: str, value: object
) -> None:
    serving = replace(CONTEXT, release="r1")
    manifest = changed(job("sweep", framework="none", gpu=gpu), f"spec template spec {path}", value)
    done = mutate(AdmissionRequest("CREATE", manifest, None, USER), serving).manifest
    again = AdmissionRequest("CREATE", done, None, USER)
    assert mutate(again, serving).manifest == done
    validate(again, serving)


def test_labels_of_the_webhook_raise_no_limit_of_other_labels() -> None:
    """Each name counts once, so pods never have more labels than plans follow."""
    manifest = job("sweep", framework="none")
    for number in range(pod_limits.MAX_LABELS):
        manifest = changed(manifest, f"spec template metadata labels edl.dev/x{number}", "")
    create(manifest)
    with pytest.raises(Denied, match="257 labels; at most 256"):
        create(changed(manifest, "spec template metadata labels edl.dev/another", ""))


def test_a_users_suspend_becomes_a_pause() -> None:
    stored = created(role_manifest("worker", spec={"suspend": True}))
    assert annotations(stored)[contract.PAUSED] == contract.TRUE


def test_suspending_a_new_job_does_not_mark_it_paused() -> None:
    stored = created(role_manifest("worker"))
    assert contract.PAUSED not in annotations(stored)
    assert contract.PAUSED not in annotations(created(stored))


@pytest.mark.parametrize("name", sorted(registry.OWNED_ANNOTATIONS))
def test_forged_annotations_are_dropped_with_a_warning(name: str) -> None:
    manifest = role_manifest("chief", annotations={name: "forged"})
    manifest["spec"]["template"]["metadata"] = {"annotations": {name: "forged"}}
    verdict = create(manifest)
    found = {**annotations(template(verdict.manifest)), **annotations(verdict.manifest)}
    assert found.get(name) != "forged"
    assert set(verdict.warnings) == {
        f"{name} is written only by kubectl-edl: your value was dropped"
    }


def test_a_second_pass_of_ours_warns_of_nothing() -> None:
    assert create(created(horovod("launcher"))).warnings == ()


def test_a_copy_that_would_join_the_originals_training_job_warns() -> None:
    """As of `kubectl get -o yaml` with another name: the label of the original is still there."""
    first = created(job("bert", framework="pytorch", min="2", max="8"))
    stored = changed(first, f"metadata annotations {contract.REASON}", "IdleCapacity")
    copy = stored | {"metadata": stored["metadata"] | {"name": "copy"}}
    left_out = "puts this copy into bert, which leaves it out if started, else both wait;"
    assert any(left_out in one for one in create(copy).warnings)
    assert not any("copy" in one for one in create(stored).warnings)


@pytest.mark.parametrize("framework", ["pytorch", "tensorflow", "paddle", "none"])
def test_a_copy_under_another_name_is_refused_for_what_it_has_of_the_original(
    framework: str,
) -> None:
    copied = created(job("mnist", framework=framework, min="2", max="8"))
    copied = changed(copied, f"metadata labels {contract.JOB}", None)
    copied = changed(copied, "metadata name", "mnist2")
    with pytest.raises(Denied) as denied:
        create(copied)
    (finding,) = denied.value.findings
    assert finding.path == "spec.template"
    assert finding.allowed == "apply the original file of mnist with this name"


@pytest.mark.parametrize("framework", ["pytorch", "tensorflow", "paddle"])
def test_so_is_one_without_the_labels_and_the_subdomain(framework: str) -> None:
    copied = created(job("mnist", framework=framework, min="2", max="8"))
    for path in (
        f"metadata labels {contract.JOB}",
        f"spec template metadata labels {contract.JOB}",
        "spec template spec subdomain",
    ):
        copied = changed(copied, path, None)
    with pytest.raises(Denied, match="this is a copy of mnist: "):
        create(changed(copied, "metadata name", "mnist2"))
    assert create(copied).warnings == (), "under its own name it is restored"


def test_a_job_that_prefers_nodes_of_another_is_none() -> None:
    """On the second pass as well, when it has the webhook's annotation."""
    near = template(created(job("mnist", framework="pytorch")))["spec"]["affinity"]
    stored = created(job("eval", framework="pytorch", pod={"affinity": near}))
    assert create(stored).manifest == stored


def test_a_copy_under_generate_name_is_told_to_drop_the_label() -> None:
    first = created(job("sweep", framework="none"))
    stored = changed(first, f"metadata annotations {contract.REASON}", "IdleCapacity")
    copy = changed(changed(stored, "metadata name", None), "metadata generateName", "sweep-")
    (warning,) = (one for one in create(copy).warnings if "copy" in one)
    assert warning.endswith("apply the original's file instead, without this label")


def test_a_second_pass_does_not_take_a_job_in_another_training_job_for_a_copy() -> None:
    """Another webhook changed the Job, so the API server calls ours again on its own result."""
    manifest = job(framework="none")
    manifest["metadata"]["labels"][contract.JOB] = "sweep"
    del manifest["metadata"]["name"]
    manifest["metadata"]["generateName"] = "trial-"
    assert create(created(manifest)).warnings == ()


@pytest.mark.parametrize("owner", ["example.com/controller", "kueue.x-k8s.io/multikueue"])
def test_a_job_of_another_controller_is_refused(owner: str) -> None:
    with pytest.raises(Denied, match=f'spec.managedBy: this Job belongs to "{owner}"'):
        create(role_manifest("worker", spec={"managedBy": owner}))


def test_the_job_controllers_own_name_is_fine() -> None:
    stored = created(role_manifest("worker", spec={"managedBy": "kubernetes.io/job-controller"}))
    assert stored["spec"]["suspend"] is True


def test_a_job_in_another_queue_is_refused() -> None:
    with pytest.raises(Denied, match="this Job waits in a Kueue queue"):
        create(role_manifest("worker", **{contract.KUEUE_QUEUE: "team"}))


def test_a_queue_that_kueue_may_have_chosen_is_named_as_its_default() -> None:
    with pytest.raises(Denied, match=r"one queue; Kueue adds it in a namespace with a LocalQueue"):
        create(role_manifest("worker", **{contract.KUEUE_QUEUE: "default"}))


def test_another_queue_hides_no_other_finding() -> None:
    wrong = job("a", framework="Tensorflow")
    wrong["metadata"]["labels"][contract.KUEUE_QUEUE] = "team"
    with pytest.raises(Denied) as found:
        create(wrong)
    assert [one.path for one in found.value.findings] == [
        f"metadata.labels[{contract.KUEUE_QUEUE}]",
        f"metadata.labels[{contract.FRAMEWORK}]",
    ]


def test_a_refused_pod_of_a_deployment_names_what_its_user_wrote() -> None:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1", "controller": True}
    metadata: Json = {"generateName": "web-1-", "ownerReferences": [owner]}
    metadata["labels"] = {contract.FRAMEWORK: "pytorch"}
    pod = {"kind": "Pod", "metadata": metadata, "spec": {"containers": [{"name": "main"}]}}
    with pytest.raises(Denied) as found:
        create(pod)
    assert str(found.value.findings[-1]) == (
        "metadata.labels[edl.dev/framework]: ReplicaSet web-1 creates this pod, but only Jobs "
        "and bare pods can be training jobs; remove it from the pod template of the Deployment"
    )


def test_a_cronjobs_job_works() -> None:
    manifest = job("nightly-29001", framework="tensorflow")
    manifest["metadata"]["ownerReferences"] = [{"kind": "CronJob", "name": "nightly"}]
    assert labels(created(manifest))[contract.JOB] == "nightly-29001"


@pytest.mark.parametrize(
    "manifest", [role_manifest("worker"), horovod("launcher"), job("r", framework="none")]
)
def test_a_mutated_job_passes_the_validation(manifest: Json) -> None:
    assert refusals(check, created(manifest)) == []


def test_a_generated_name_is_not_taken_for_a_change_by_another_webhook() -> None:
    nameless = job(framework="none")
    del nameless["metadata"]["name"]
    nameless["metadata"]["generateName"] = "sweep-"
    stored = changed(created(nameless), "metadata name", "sweep-x7k2p")
    check(stored)
    with pytest.raises(Denied, match="another webhook"):
        check(changed(stored, "metadata annotations edl.dev/injected-max", "99"))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("spec suspend", False),
        ("spec completionMode", "NonIndexed"),
        ("spec template spec subdomain", None),
        ("metadata annotations edl.dev/injected-max", "99"),
    ],
)
def test_what_another_webhook_undid_is_refused(path: str, value: object) -> None:
    with pytest.raises(Denied, match="another webhook changed what kubectl-edl completed"):
        check(changed(created(role_manifest("worker")), path, value))


def test_an_invalid_object_is_refused_with_its_findings() -> None:
    with pytest.raises(Denied) as denied:
        check(role_manifest("worker", min="0"))
    assert [finding.path for finding in denied.value.findings] == ["metadata.labels[edl.dev/min]"]


def test_updates_of_pods_are_left_alone() -> None:
    old = created(pod(framework="none"))
    new = changed(old, "metadata labels example.com/a", "b")
    assert mutate(AdmissionRequest("UPDATE", new, old, USER), CONTEXT).manifest is new


def elastic(**container: object) -> Json:
    containers = [{"name": "main", "image": "a"} | container]
    return job(framework="none", max="60", pod={"containers": containers})


def test_pods_that_request_nothing_are_warned_of_once() -> None:
    verdict = create(elastic())
    assert verdict.warnings == (
        (
            "no container of worker requests CPU or memory: its pods count as nothing, "
            "and all 60 start regardless of free capacity, unless a LimitRange gives them requests "
            "or a ResourceQuota refuses them; "
            "set resources.requests"
        ),
    )
    assert create(verdict.manifest).warnings == ()


@pytest.mark.parametrize(
    "resources",
    [
        {"requests": {"cpu": "1"}},
        {"limits": {"memory": "1Gi"}},
        {"limits": {"nvidia.com/gpu": "1"}},
    ],
)
def test_pods_that_request_something_are_counted(resources: Json) -> None:
    assert create(elastic(resources=resources)).warnings == ()


@pytest.mark.parametrize(
    "manifest",
    [job(framework="none"), job(framework="none", max="4", gpu="1")],
    ids=["of one size", "with a GPU"],
)
def test_pods_that_cannot_multiply_are_not_warned_of(manifest: Json) -> None:
    assert create(manifest).warnings == ()


@pytest.mark.parametrize("resources", [None, [], {"requests": {"ephemeral-storage": "1Gi"}}])
def test_resources_that_keep_no_pods_apart_count_as_no_request(resources: object) -> None:
    pod = {"containers": [{"name": "main", "image": "a", "resources": resources}]}
    spec = parse(job(framework="none", max="4", pod=pod))
    assert len(request_warnings.warnings(job(framework="none", max="4", pod=pod), spec)) == 1


OR_ACCOUNT = ", or an account of your own in each pod template"


def refused(right: ModeRight, role: str, framework: str, mode: str = "", account: str = "") -> str:
    """Why a Job is refused if the reconciler has the right no more; empty if it is not."""
    roles = {"paddle": "pserver=1,trainer=2", "none": ""}.get(framework, HOROVOD_ROLES)
    notes = {name: text for name, text in (("mode", mode), ("roles", roles)) if text}
    manifest = job(f"one-{role}", role=role, job="one", annotations=notes, framework=framework)
    if account:
        manifest["spec"]["template"]["spec"]["serviceAccountName"] = account
    request = AdmissionRequest("CREATE", manifest, None, USER)
    try:
        mutate(request, replace(CONTEXT, withheld=frozenset({right})))
    except Denied as denied:
        return str(denied)
    return ""


@pytest.mark.parametrize(
    ("right", "framework", "role", "mode", "remedy"),
    [
        (ModeRight.ROLEBINDINGS, "horovod", "launcher", "kubexec", f"one of ssh{OR_ACCOUNT}"),
        (ModeRight.ROLEBINDINGS, "horovod", "worker", "kubexec", f"one of ssh{OR_ACCOUNT}"),
        (ModeRight.ROLEBINDINGS, "paddle", "trainer", "cloud", f"one of ps{OR_ACCOUNT}"),
        (ModeRight.SECRETS, "horovod", "worker", "ssh", "one of kubexec"),
    ],
)
def test_a_mode_whose_right_is_withheld_is_refused_with_the_value_that_withholds_it(
    right: ModeRight, framework: str, role: str, mode: str, remedy: str
) -> None:
    what = f'"{mode}" is disabled by the installation: rights.{right}=false; {remedy}'
    expected = f"metadata.annotations[edl.dev/mode]: {what}"
    assert refused(right, role, framework=framework, mode=mode) == expected


@pytest.mark.parametrize("right", ModeRight)
def test_modes_that_need_no_right_are_not_refused(right: ModeRight) -> None:
    assert refused(right, "worker", framework="none") == ""
    other = {ModeRight.SECRETS: "kubexec", ModeRight.ROLEBINDINGS: "ssh"}[right]
    assert refused(right, "worker", framework="horovod", mode=other) == ""


@pytest.mark.parametrize(
    ("framework", "role", "mode"),
    [
        ("horovod", "launcher", "kubexec"),
        ("horovod", "worker", "kubexec"),
        ("paddle", "trainer", "cloud"),
    ],
)
def test_pods_with_an_account_of_their_own_need_no_rolebinding(
    framework: str, role: str, mode: str
) -> None:
    def denied(account: str) -> bool:
        return bool(refused(ModeRight.ROLEBINDINGS, role, framework, mode, account))

    assert not denied("mine")
    assert denied("one-launcher")
    assert denied("one-peers")


def test_an_account_of_its_own_replaces_no_ssh_keys() -> None:
    assert refused(ModeRight.SECRETS, "worker", framework="horovod", mode="ssh", account="mine")


def test_the_default_mode_is_refused_too() -> None:
    assert '"kubexec" is disabled' in refused(ModeRight.ROLEBINDINGS, "worker", framework="horovod")
