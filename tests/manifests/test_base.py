"""What the installed objects must never lose: narrow scope, narrow rights, names that agree."""

from importlib.metadata import version

import pytest

from certs import installation
from edl import contract
from edl.writes import Json
from manifests import render
from reconciler.main import main as reconciler_command
from webhook.__main__ import webhook as webhook_command

DOCUMENTS = render.load()


def found(kind: str, name: str) -> Json:
    (document,) = (
        each for each in DOCUMENTS if (each["kind"], each["metadata"]["name"]) == (kind, name)
    )
    return document


def all_of(*kinds: str) -> list[Json]:
    return [each for each in DOCUMENTS if each["kind"] in kinds]


WEBHOOKS = [
    webhook
    for configuration in all_of("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
    for webhook in configuration["webhooks"]
]
DEPLOYMENTS = all_of("Deployment")


@pytest.mark.parametrize("webhook", WEBHOOKS)
def test_only_labelled_objects_outside_the_system_ever_wait_for_us(webhook: Json) -> None:
    assert webhook["objectSelector"] == {
        "matchExpressions": [{"key": contract.FRAMEWORK, "operator": "Exists"}]
    }
    (namespaces,) = webhook["namespaceSelector"]["matchExpressions"]
    assert namespaces["operator"] == "NotIn"
    assert set(namespaces["values"]) == {"kube-system", contract.SYSTEM_NAMESPACE}
    assert webhook["failurePolicy"] == "Fail"
    assert webhook["timeoutSeconds"] == 5
    assert webhook["sideEffects"] == "None"


@pytest.mark.parametrize("webhook", WEBHOOKS)
def test_jobs_are_seen_when_they_change_and_pods_only_when_they_are_made(webhook: Json) -> None:
    (rule,) = webhook["rules"]
    assert (rule["resources"], rule["operations"]) in [
        (["jobs"], ["CREATE", "UPDATE"]),
        (["pods"], ["CREATE"]),
    ]


@pytest.mark.parametrize("document", all_of("Role", "ClusterRole"))
def test_no_right_is_given_by_wildcard_and_none_twice(document: Json) -> None:
    given = [
        (group, resource, verb, tuple(rule.get("resourceNames", ())))
        for rule in document["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    ]
    assert "*" not in {
        word for group, resource, verb, _ in given for word in (group, resource, verb)
    }
    assert len(given) == len(set(given))


def test_the_webhook_reaches_named_objects_only() -> None:
    for kind in ("Role", "ClusterRole"):
        for rule in found(kind, "edl-webhook")["rules"]:
            assert rule["resourceNames"]
            assert set(rule["verbs"]) == {"get", "patch"}


def test_the_reconciler_can_give_the_launchers_rights_and_no_others() -> None:
    rules = found("ClusterRole", "edl-reconciler")["rules"]
    roles = [rule for rule in rules if "clusterroles" in rule["resources"]]
    (rule,) = roles
    assert (rule["verbs"], rule["resourceNames"]) == (["bind"], [contract.LAUNCHER_CLUSTER_ROLE])
    assert found("ClusterRole", contract.LAUNCHER_CLUSTER_ROLE)


def test_the_reconciler_writes_what_its_steps_write_and_no_more() -> None:
    """Patches of Jobs and pods, and what surrounds them; Events are read to be counted."""
    reads = {"list", "watch"}
    rules = found("ClusterRole", "edl-reconciler")["rules"]
    assert {
        resource: set(rule["verbs"])
        for rule in rules
        for resource in rule["resources"]
        if not reads & set(rule["verbs"]) and resource != "clusterroles"
    } == {
        "jobs": {"patch"},
        "pods": {"patch", "delete"},
        "services": {"create"},
        "serviceaccounts": {"create"},
        "rolebindings": {"create"},
        "poddisruptionbudgets": {"create", "delete"},
        "events": {"get", "create", "patch"},
    }


def test_the_reconciler_sees_no_secrets_and_enters_no_pods() -> None:
    for kind in ("Role", "ClusterRole"):
        for rule in found(kind, "edl-reconciler")["rules"]:
            assert not {"secrets", "pods/exec", "configmaps"} & set(rule["resources"])


@pytest.mark.parametrize("deployment", DEPLOYMENTS)
def test_pods_meet_the_restricted_standard(deployment: Json) -> None:
    pod = deployment["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    for container in pod["containers"]:
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }


@pytest.mark.parametrize("deployment", DEPLOYMENTS)
def test_one_of_two_replicas_is_always_there(deployment: Json) -> None:
    spec = deployment["spec"]
    labels = spec["template"]["metadata"]["labels"]
    budget = found("PodDisruptionBudget", deployment["metadata"]["name"])["spec"]
    assert (spec["replicas"], budget["minAvailable"]) == (2, 1)
    assert spec["strategy"]["rollingUpdate"]["maxUnavailable"] == 0
    for selector in (spec["selector"], budget["selector"]):
        assert selector["matchLabels"].items() <= labels.items()


def test_the_quota_admits_every_pod_of_a_rolling_update() -> None:
    pods = sum(each["spec"]["replicas"] + 1 for each in DEPLOYMENTS)
    assert int(found("ResourceQuota", "edl-critical-pods")["spec"]["hard"]["pods"]) >= pods


def arguments(deployment: str) -> list[str]:
    (container,) = found("Deployment", deployment)["spec"]["template"]["spec"]["containers"]
    words: list[str] = container["args"]
    return words


def test_the_webhook_understands_its_arguments() -> None:
    package, *words = arguments("edl-webhook")
    assert package == "webhook"
    image = ["--image", "x"]  # an environment variable in the cluster
    given = webhook_command.make_context("webhook", words + image).params
    secret = found("Secret", "edl-webhook-tls")["metadata"]
    assert given["secret"] == f"{secret['namespace']}/{secret['name']}" == installation.SECRET
    assert given["trusted"] == (contract.RECONCILER_USER,)
    (port,) = found("Service", "edl-webhook")["spec"]["ports"]
    (container,) = found("Deployment", "edl-webhook")["spec"]["template"]["spec"]["containers"]
    assert container["ports"] == [{"name": port["targetPort"], "containerPort": given["port"]}]


def test_the_reconciler_understands_its_arguments() -> None:
    package, *words = arguments("edl-reconciler")
    assert package == "reconciler"
    given = reconciler_command.make_context("reconciler", words).params
    assert given["leader_elect"] is True
    assert given["namespace"] == contract.SYSTEM_NAMESPACE
    (container,) = found("Deployment", "edl-reconciler")["spec"]["template"]["spec"]["containers"]
    assert container["ports"] == [{"name": "http", "containerPort": given["metrics_port"]}]


def test_names_agree_with_the_code() -> None:
    account = found("ServiceAccount", "edl-reconciler")["metadata"]
    user = f"system:serviceaccount:{account['namespace']}:{account['name']}"
    assert user == contract.RECONCILER_USER
    assert found("Service", installation.SERVICE)["metadata"]["namespace"] == (
        contract.SYSTEM_NAMESPACE
    )
    for webhook in WEBHOOKS:
        assert webhook["clientConfig"]["service"]["name"] == installation.SERVICE
    for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
        assert found(kind, installation.CONFIGURATION)


def test_the_image_is_of_this_version() -> None:
    (container,) = found("Deployment", "edl-webhook")["spec"]["template"]["spec"]["containers"]
    assert container["image"] == f"kubectl-edl:{version('kubectl-edl')}"
