"""Rollouts of webhook and reconciler whose new pods do not start."""

import pytest

from edl import contract
from edl.model import ObjectRef
from edl.writes import Json
from kubectl_edl.install.installation_values import VALUES_CONFIG_MAP
from tests.kubectl_edl.cluster_wrappers import fenced
from tests.kubectl_edl.doctor.fake_installation import FakeApi, installed, target
from tests.kubectl_edl.doctor.findings import WEBHOOKS, checked, only
from tests.kubectl_edl.stage import Stage

OURS = "registry:5000/kubectl-edl:0.1.0"
OLDER = "registry:5000/kubectl-edl:v0.0.9"
ABSENT = "registry:5000/kubectl-edl:nope"
UNPULLED = {"reason": "ErrImagePull", "message": "not found"}
CRASHES = {"reason": "CrashLoopBackOff"}
STARTS = {"reason": "ContainerCreating"}
UNDER_WAY = {"updatedReplicas": 1, "replicas": 3}


def pod(stage: Stage, name: str, image: str, waiting: Json | None = None) -> None:
    """A pod of the webhook: ready, or with a container that waits."""
    names = {"name": "edl-webhook", "part-of": "kubectl-edl"}
    ended = {"terminated": {"exitCode": 2, "reason": "Error"}} if waiting == CRASHES else {}
    stage.create(
        {
            "kind": "Pod",
            "metadata": {
                "name": name,
                "namespace": contract.SYSTEM_NAMESPACE,
                "labels": {f"app.kubernetes.io/{key}": value for key, value in names.items()},
            },
            "spec": {"nodeName": "node-0", "containers": [{"name": "webhook", "image": image}]},
            "status": {
                "phase": "Pending" if waiting else "Running",
                "conditions": [{"type": "Ready", "status": "False" if waiting else "True"}],
                "containerStatuses": [
                    {
                        "name": "webhook",
                        "restartCount": 4 if ended else 0,
                        "state": {"waiting": waiting} if waiting else {"running": {}},
                        "lastState": ended,
                    }
                ],
            },
        }
    )


def rollout(stage: Stage, image: str, ready: str, waiting: Json = UNPULLED) -> Stage:
    """A rollout to `image`, of which the first pod waits, while pods of `ready` answer."""
    webhook = target("Deployment", "edl-webhook")
    containers = stage.cluster.get(webhook)["spec"]["template"]["spec"]["containers"]
    template = {"spec": {"containers": [containers[0] | {"image": image}]}}
    stage.cluster.patch(webhook, {"spec": {"template": template}, "status": UNDER_WAY})
    for name in ("edl-webhook-a", "edl-webhook-b") if ready else ():
        pod(stage, name, ready)
    pod(stage, "edl-webhook-c", image, waiting)
    return stage


def test_an_image_that_no_node_gets_is_replaced_by_the_one_of_the_ready_pods(stage: Stage) -> None:
    found = checked(rollout(stage, ABSENT, OURS))
    webhook, _ = found["deployments"]
    assert webhook["message"] == (
        f"edl-webhook: 2 of 2 replicas ready; pod edl-webhook-c (image {ABSENT}) waits: "
        "container webhook: ErrImagePull: not found"
    )
    assert webhook["result"] == "warning"
    assert webhook["remediation"] == f"kubectl edl upgrade --image {OURS}"
    assert "release" not in found, "the ready pods run the plugin's own release"


def test_a_template_of_another_release_is_named_before_its_first_pod_fails(stage: Stage) -> None:
    """The kubelet takes a minute to report an image that no registry has."""
    verdict, message, fix = only(rollout(stage, ABSENT, OURS, STARTS), "release")
    assert (verdict, fix) == ("warning", f"kubectl edl upgrade --image {OURS}")
    assert message == "Deployment edl-webhook has the image tag nope, and this plugin is 0.1.0"


def test_new_pods_that_crash_are_named_with_their_log_command(stage: Stage) -> None:
    webhook, _ = checked(rollout(stage, OURS, OURS, CRASHES), "--context", "prod")["deployments"]
    assert webhook["message"] == (
        f"edl-webhook: 2 of 2 replicas ready; pod edl-webhook-c (image {OURS}) waits: "
        "container webhook: CrashLoopBackOff: Error, exit code 2, 4 restarts"
    )
    assert webhook["remediation"] == (
        "kubectl logs edl-webhook-c -c webhook -n edl-system --context prod"
    )


def test_new_pods_of_another_release_that_crash_need_the_image_of_this_one(stage: Stage) -> None:
    webhook, _ = checked(rollout(stage, OLDER, OURS, CRASHES))["deployments"]
    assert webhook["remediation"] == f"kubectl edl upgrade --image {OURS}"


def test_without_a_ready_pod_the_image_gets_the_tag_of_this_release(stage: Stage) -> None:
    rollout(stage, ABSENT, "")
    status = {"status": {"readyReplicas": None}}
    stage.cluster.patch(target("Deployment", "edl-webhook"), status)
    found = checked(stage)
    webhook, _ = found["deployments"]
    assert webhook["result"] == "failure"
    assert webhook["remediation"] == f"kubectl edl upgrade --image {OURS}"
    assert "release" not in found, "nothing runs, and the pods of the template are named above"


def test_an_image_of_this_release_that_no_node_gets_is_to_be_provided(stage: Stage) -> None:
    found = checked(rollout(stage, OURS, "registry:5000/kubectl-edl:0.0.9"), "--context", "prod")
    webhook, _ = found["deployments"]
    assert "docker build" in webhook["remediation"]
    assert "kubectl edl upgrade --image kubectl-edl:0.1.0 --context prod;" in webhook["remediation"]
    assert "release" not in found, "a rollout to this release is under way"


def test_the_release_of_ready_pods_is_named_and_not_that_of_the_template(stage: Stage) -> None:
    verdict, message, fix = only(rollout(stage, ABSENT, OLDER), "release")
    assert (verdict, message) == (
        "warning",
        "edl-webhook runs v0.0.9, and this plugin is 0.1.0",
    )
    assert fix == "kubectl edl upgrade --image registry:5000/kubectl-edl:v0.1.0"


@pytest.mark.parametrize(
    ("notes", "fix"),
    [
        (
            {"meta.helm.sh/release-name": "edl", "meta.helm.sh/release-namespace": "ops"},
            (
                f"helm upgrade edl CHART -n ops --reset-then-reuse-values --set image={OURS} "
                "--kube-context prod"
            ),
        ),
        (
            {},
            (
                "apply the manifests of the plugin's version (kubectl apply, kustomize) with the "
                f"image {OURS}"
            ),
        ),
    ],
    ids=["helm", "manifests"],
)
def test_the_image_is_replaced_by_what_installed_kubectl_edl(
    stage: Stage, notes: dict[str, str], fix: str
) -> None:
    stage.cluster.patch(target(WEBHOOKS, "edl"), {"metadata": {"annotations": notes}})
    stage.cluster.delete(ObjectRef("ConfigMap", contract.SYSTEM_NAMESPACE, VALUES_CONFIG_MAP))
    webhook, _ = checked(rollout(stage, ABSENT, OURS), "--context", "prod")["deployments"]
    assert webhook["remediation"] == fix


def test_without_the_right_to_list_the_pods_the_counts_of_the_deployment_are_read(
    server: FakeApi,
) -> None:
    stage = rollout(installed(Stage(), server), OURS, OURS)
    stage.wrapped = lambda cluster: server(fenced("Pod")(cluster))
    webhook, _ = checked(stage)["deployments"]
    assert webhook["message"] == "edl-webhook: 2 of 2 replicas ready; its rollout is under way"


@pytest.mark.parametrize(("ready", "verdict"), [(2, "warning"), (None, "failure")])
def test_pods_that_the_api_server_refuses_are_named_in_its_words(
    stage: Stage, ready: int | None, verdict: str
) -> None:
    why = 'pods "edl-webhook-7-" is forbidden: no PriorityClass with name nosuch was found'
    failed = {"type": "ReplicaFailure", "status": "True", "message": why}
    status = UNDER_WAY | {"readyReplicas": ready, "conditions": [failed]}
    stage.cluster.patch(target("Deployment", "edl-webhook"), {"status": status})
    webhook, _ = checked(stage)["deployments"]
    assert webhook["result"] == verdict
    assert webhook["message"].endswith(f"; the API server refuses new ones: {why}")
    assert webhook["remediation"] == (
        "change what refuses them, or a value of the installation: kubectl edl upgrade"
    )
