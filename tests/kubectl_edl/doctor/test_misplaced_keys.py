"""Checks of labels and annotations that do nothing where they are."""

import pytest

from edl import contract
from edl.model import ObjectRef
from edl.planner.published_settings import Settings, render
from edl.writes import Json
from tests.kubectl_edl.cluster_wrappers import fenced, one_namespace
from tests.kubectl_edl.doctor.fake_installation import FakeApi
from tests.kubectl_edl.doctor.findings import ASK, checked, named, only
from tests.kubectl_edl.stage import Stage, job, lease, mnist, role_manifests


def ring(stage: Stage, name: str, **spec: object) -> None:
    for manifest in role_manifests(name, "launcher=1,worker=2"):
        manifest["metadata"]["labels"]["edl.dev/framework"] = "horovod"
        stage.put(manifest, **spec)


def test_namespaces_that_keep_launchers_from_their_workers_are_warned_of(
    stage: Stage, server: FakeApi
) -> None:
    here = ObjectRef("Namespace", "", "default")
    stage.cluster.create(here, {"metadata": {"name": "default"}})
    mnist(stage)
    assert "kubexec" not in checked(stage)
    ring(stage, "ring")
    ring(stage, "wheel", suspend=False)
    assert only(stage, "kubexec") == (
        "warning",
        (
            "namespace default does not let launchers exec into workers: ring, wheel cannot start "
            "without"
        ),
        "kubectl label namespace default edl.dev/kubexec=enabled",
    )
    assert not any("exec into" in one["message"] for one in checked(stage)["stuck"])
    server.denied = frozenset({("", "patch", "namespaces")})
    assert only(stage, "kubexec")[2].startswith(f"{ASK}kubectl label namespace default ")
    server.may_review_own = False
    assert only(stage, "kubexec")[2].startswith(f"{ASK}kubectl label namespace default ")
    server.may_review_own = True
    stage.cluster.patch(here, {"metadata": {"labels": {"edl.dev/kubexec": "enabled"}}})
    assert only(stage, "kubexec")[0] == "ok"


def test_labels_on_a_cron_job_itself_are_warned_of(stage: Stage) -> None:
    labels = {contract.FRAMEWORK: "none"}
    for name, own in (("nightly", labels), ("other", {})):
        stage.create({"kind": "CronJob", "metadata": {"name": name, "labels": own}, "spec": {}})
    assert only(stage, "cronjobs") == (
        "warning",
        (
            "CronJob default/nightly: edl.dev/framework does nothing on a CronJob itself: "
            "its Jobs get spec.jobTemplate.metadata"
        ),
        (
            "kubectl get cronjob nightly -n default -o yaml | kubectl edl adopt -f - "
            "| kubectl apply -f -"
        ),
    )
    inner = stage.wrapped
    stage.wrapped = lambda cluster: fenced("CronJob")(inner(cluster))
    assert "cronjobs" not in checked(stage)


def test_labelled_jobs_in_an_ignored_namespace_are_warned_of(stage: Stage) -> None:
    mnist(stage)
    assert "ignored" not in checked(stage)
    lease(stage, render(Settings(ignored_namespaces=("default",))))
    result, said, fix = only(stage, "ignored")
    assert result == "warning"
    names = "mnist-chief, mnist-ps, mnist-worker are ordinary Jobs"
    assert said == f"webhook and reconciler ignore namespace default: {names}"
    assert fix == "remove the label edl.dev/framework, or use another namespace"


def test_a_missing_priority_class_of_a_queued_job_has_a_command_as_fix(stage: Stage) -> None:
    waits = job("waits", framework="none")
    waits["spec"]["template"]["spec"]["priorityClassName"] = "nope"
    stage.put(waits)
    (found,) = checked(stage, "--context", "prod")["stuck"]
    assert found["remediation"] == (
        "create the PriorityClass: kubectl create priorityclass nope --value=VALUE --context prod"
    )


def test_a_default_priority_class_that_does_not_exist_is_a_warning(stage: Stage) -> None:
    assert "default-priority" not in checked(stage)
    metadata = {"name": "lab", "annotations": {contract.DEFAULT_PRIORITY: "nosuch"}}
    stage.cluster.create(ObjectRef("Namespace", "", "lab"), {"metadata": metadata})
    result, said, fix = only(stage, "default-priority")
    assert (result, fix) == ("warning", "kubectl create priorityclass nosuch --value=VALUE")
    assert said == (
        'namespace lab: edl.dev/default-priority is "nosuch", but no PriorityClass has that name: '
        "its Jobs that name none cannot start"
    )
    target = ObjectRef("PriorityClass", "", "nosuch")
    stage.cluster.create(target, {"metadata": {"name": "nosuch"}, "value": 5})
    assert only(stage, "default-priority")[0] == "ok"
    inner = stage.wrapped
    stage.wrapped = lambda cluster: fenced("Namespace")(inner(cluster))
    assert "default-priority" not in checked(stage)


DID_YOU_MEAN = "edl.dev/framwork is unknown, and does nothing: did you mean edl.dev/framework?"


def test_misspelt_keys_are_found_on_jobs_and_bare_pods(stage: Stage) -> None:
    over = {"conditions": [{"type": "Complete", "status": "True"}]}
    stage.create(named("Job", "over", spec={}, status=over))
    assert "keys" not in checked(stage)
    stage.create(named("Job", "mnist", spec={}))
    stage.create(named("Pod", "alone", spec={}))
    stage.put(job("other", framework="none", maximum="4"))
    stage.put(job("ours", framework="none", min="1", max="4", maxx="2"))
    placed = {"edl.dev/required-topolgy": "topology.kubernetes.io/zone"}
    stage.put(job("placed", framework="none", min="1", max="4"))
    stage.patch("placed", {"metadata": {"annotations": placed}})
    again = "correct its manifest, then: kubectl {} -f FILE"
    assert [
        (one["result"], one["message"], one["remediation"]) for one in checked(stage)["keys"]
    ] == [
        ("warning", f"Job default/mnist: {DID_YOU_MEAN}", again.format("replace --force")),
        (
            "warning",
            (
                "Job default/other: edl.dev/maximum is unknown, and does nothing: "
                "did you mean edl.dev/max?"
            ),
            again.format("apply"),
        ),
        (
            "warning",
            (
                "Job default/ours: edl.dev/maxx is unknown, and does nothing: "
                "did you mean edl.dev/max?"
            ),
            again.format("apply"),
        ),
        (
            "warning",
            (
                "Job default/placed: edl.dev/required-topolgy is unknown, and does nothing: "
                "did you mean edl.dev/required-topology?"
            ),
            again.format("replace --force"),
        ),
        ("warning", f"Pod default/alone: {DID_YOU_MEAN}", again.format("replace --force")),
    ]


def test_a_job_of_a_namespace_that_is_being_deleted_is_a_warning(stage: Stage) -> None:
    stage.put(job("mine", framework="none"))
    kept = {"name": "default", "namespace": "", "finalizers": ["example.com/kept"]}
    stage.create({"kind": "Namespace", "metadata": kept})
    stage.cluster.delete(ObjectRef("Namespace", "", "default"))
    assert only(stage, "stuck") == (
        "warning",
        "default/mine: its namespace is being deleted: no pod can be created in it",
        "kubectl describe namespace default",
    )


def test_settings_of_a_namespace_that_mean_nothing_are_warned_of(stage: Stage) -> None:
    says = {"edl.dev/larges-max": "4", contract.GPU_BUDGET: "many"}
    stage.create({"kind": "Namespace", "metadata": {"name": "lab", "annotations": says}})
    budget, largest = checked(stage)["namespaces"]
    assert budget["message"] == (
        'namespace lab metadata.annotations[edl.dev/gpu-budget]: "many"; '
        "GPUs, such as 8 or 2.5; 0 for none"
    )
    assert (
        "[edl.dev/larges-max]: a namespace has no such setting; did you mean"
        in (largest["message"])
    )
    assert largest["remediation"] == "kubectl edit namespace lab"


def test_a_released_job_is_not_killed_for_an_annotation_that_was_left(stage: Stage) -> None:
    stage.put(job("sweep", framework="none", min="1", max="4"))
    stage.run("release", "sweep")
    assert "keys" not in checked(stage)
    stage.patch("sweep", {"metadata": {"annotations": {contract.PAUSED: "true"}}})
    assert only(stage, "keys") == (
        "warning",
        "Job default/sweep: edl.dev/paused does nothing without the label edl.dev/framework",
        "remove them from its manifest: kubectl edl release -f FILE | kubectl apply -f -",
    )


def test_misspelt_keys_are_checked_in_readable_namespaces(stage: Stage) -> None:
    stage.create(named("Job", "mnist", spec={}))
    inner = stage.wrapped
    stage.wrapped = lambda cluster: fenced("Pod")(inner(cluster))
    assert only(stage, "keys")[1] == f"Job default/mnist: {DID_YOU_MEAN}"


def test_a_misspelt_key_in_a_cron_job_template_is_found(stage: Stage) -> None:
    template = {"metadata": {"labels": {"edl.dev/framwork": "none"}}}
    nightly = {"kind": "CronJob", "metadata": {"name": "nightly"}}
    stage.create(nightly | {"spec": {"jobTemplate": template}})
    assert only(stage, "cronjobs") == (
        "warning",
        f"CronJob default/nightly: {DID_YOU_MEAN}",
        "correct spec.jobTemplate.metadata of its manifest, then: kubectl apply -f FILE",
    )


@pytest.mark.parametrize("in_pods", [False, True])
def test_a_cron_job_whose_jobs_are_refused_is_named_with_the_errors(
    stage: Stage, *, in_pods: bool
) -> None:
    made = job("unused", framework="none", min="8", max="6")
    labels = made.pop("metadata")["labels"]
    made["spec"]["template"]["metadata"] = {"labels": labels if in_pods else {}}
    template = made | {"metadata": {} if in_pods else {"labels": labels}}
    for name, own in (("nightly", template), ("plain", {"spec": {}})):
        stage.create({"kind": "CronJob", "metadata": {"name": name}, "spec": {"jobTemplate": own}})
    assert only(stage, "cronjobs") == (
        "warning",
        (
            "CronJob default/nightly: spec.jobTemplate.metadata.labels[edl.dev/min]: min 8 is "
            "above max 6; 1 ≤ min ≤ max: each of its Jobs is refused"
        ),
        "kubectl edit cronjob nightly -n default",
    )


def pod_labelled(max_replicas: str, framework: str = "none") -> Json:
    """A CronJob that labels its pods alone; its Jobs have another label."""
    made = job("unused", framework=framework, max=max_replicas)
    made["spec"]["template"]["metadata"] = {"labels": made["metadata"]["labels"]}
    template = {"metadata": {"labels": {"app": "sweep"}}, "spec": made["spec"]}
    return {"kind": "CronJob", "metadata": {"name": "nightly"}, "spec": {"jobTemplate": template}}


def adopting(stage: Stage, **annotations: str) -> None:
    """The namespace of the stage adopts all Jobs."""
    texts = {
        f"{contract.PREFIX}{name.replace('_', '-')}": text for name, text in annotations.items()
    }
    metadata = {"labels": {contract.INJECTION: contract.ENABLED}, "annotations": texts}
    stage.cluster.create(ObjectRef("Namespace", "", "default"), {"metadata": metadata})


@pytest.mark.parametrize("adopts", [False, True])
def test_a_cron_job_that_labels_its_pods_alone_is_named_with_the_remedy(
    stage: Stage, *, adopts: bool
) -> None:
    stage.create(pod_labelled("4"))
    if adopts:
        adopting(stage, default_framework="none")
    assert only(stage, "cronjobs") == (
        "warning",
        (
            "CronJob default/nightly: edl.dev/framework, edl.dev/max do nothing in spec.template: "
            "write this on the Job's own metadata"
        ),
        (
            "kubectl get cronjob nightly -n default -o yaml | kubectl edl adopt -f - "
            "| kubectl apply -f -"
        ),
    )


def test_labels_of_pods_that_keep_a_job_from_being_adopted_are_not_without_effect(
    stage: Stage,
) -> None:
    """The webhook says the same when the CronJob is applied."""
    stage.create(pod_labelled("4", "tensorflow"))
    adopting(stage, default_framework="none")
    _, message, _ = only(stage, "cronjobs")
    assert message.startswith(
        "CronJob default/nightly: Job nightly-00000000: an ordinary Job, not elastic: it does not"
    )
    assert '"tensorflow" on the pods and "none" on the Job; leave it out' in message


def test_a_cron_job_of_a_namespace_that_adopts_all_jobs_is_checked_by_its_settings(
    stage: Stage,
) -> None:
    made = job("unused", min="1", max="6")
    template = {"metadata": {"labels": made["metadata"]["labels"]}, "spec": made["spec"]}
    stage.create(
        {"kind": "CronJob", "metadata": {"name": "nightly"}, "spec": {"jobTemplate": template}}
    )
    assert "do nothing without the label edl.dev/framework" in only(stage, "cronjobs")[1]
    adopting(stage, default_framework="none", largest_max="4")
    found = only(stage, "cronjobs")
    assert found[1].startswith("CronJob default/nightly: spec.jobTemplate.metadata.labels[edl.dev")
    assert found[1].endswith(": each of its Jobs is refused")


def test_cron_jobs_of_all_namespaces_are_checked_by_those_who_may_list_them(
    stage: Stage, server: FakeApi
) -> None:
    """Others have those of their own namespace checked, and get commands for it."""
    labels = {contract.FRAMEWORK: "none"}
    for number in range(11):
        for namespace in ("default", "team"):
            metadata = {"name": f"nightly-{number}", "namespace": namespace, "labels": labels}
            stage.create({"kind": "CronJob", "metadata": metadata, "spec": {}})
    *_, last = checked(stage)["cronjobs"]
    assert (last["message"], last["remediation"]) == (
        "and 12 more like them",
        "kubectl get cronjobs -A",
    )
    inside = one_namespace()
    stage.wrapped = lambda cluster: inside(server(cluster))
    *_, last = checked(stage)["cronjobs"]
    assert (last["message"], last["remediation"]) == (
        "and 1 more like them",
        "kubectl get cronjobs -n default",
    )


def test_the_limits_of_its_namespace_hold_for_the_jobs_of_a_cron_job(stage: Stage) -> None:
    made = job("unused", framework="none", min="1", max="6")
    template = made | {"metadata": {"labels": made["metadata"]["labels"]}}
    stage.create(
        {"kind": "CronJob", "metadata": {"name": "nightly"}, "spec": {"jobTemplate": template}}
    )
    assert "cronjobs" not in checked(stage)
    stage.cluster.create(
        ObjectRef("Namespace", "", "default"),
        {"metadata": {"annotations": {contract.LARGEST_MAX: "4"}}},
    )
    assert only(stage, "cronjobs")[1].endswith(": each of its Jobs is refused")
