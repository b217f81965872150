"""What the installed objects must never lose: narrow scope, narrow rights, names that agree."""

from importlib.metadata import version

import pytest

from certs import secrets
from edl import contract
from edl.kube.listening_socket import EVERY_ADDRESS
from edl.visibility.namespace_queue import CONFIG_MAP
from edl.writes import Json
from manifests import render
from reconciler.command_line import main as reconciler_command
from tests.integration.support.rights import OF_RECONCILER
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


UNLABELLED, SETTINGS, KEYS = "namespaces.edl.dev", "settings.edl.dev", "keys.edl.dev"
TEAMS = "teams.edl.dev"
OF_OTHERS = [webhook for webhook in WEBHOOKS if webhook["name"] != TEAMS]
LABELLED = [webhook for webhook in OF_OTHERS if webhook["name"] not in (UNLABELLED, SETTINGS, KEYS)]


def entry(name: str) -> Json:
    webhook: Json
    (webhook,) = (each for each in WEBHOOKS if each["name"] == name)
    return webhook


def selected(selector: Json) -> dict[str, tuple[str, list[str]]]:
    """Operator and values by key."""
    found = selector["matchExpressions"]
    return {each["key"]: (each["operator"], each.get("values", [])) for each in found}


def conditions(webhook: Json) -> str:
    return "\n".join(each["expression"] for each in webhook.get("matchConditions", ()))


@pytest.mark.parametrize("webhook", OF_OTHERS)
def test_the_webhooks_never_match_system_namespaces(webhook: Json) -> None:
    operator, values = selected(webhook["namespaceSelector"])["kubernetes.io/metadata.name"]
    assert (operator, set(values)) == ("NotIn", {"kube-system", contract.SYSTEM_NAMESPACE})
    assert webhook["timeoutSeconds"] == 5
    assert webhook["sideEffects"] == "None"


@pytest.mark.parametrize("kind", ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"])
def test_aks_leaves_the_selectors_as_they_are_applied(kind: str) -> None:
    annotations = found(kind, "edl")["metadata"]["annotations"]
    assert annotations["admissions.enforcer/disabled"] == "true"


@pytest.mark.parametrize("webhook", LABELLED)
def test_labelled_objects_wait_for_us_in_every_other_namespace(webhook: Json) -> None:
    assert selected(webhook["objectSelector"]) == {contract.FRAMEWORK: ("Exists", [])}
    assert len(webhook["namespaceSelector"]["matchExpressions"]) == 1
    assert webhook["failurePolicy"] == "Fail"


def test_an_unlabelled_job_waits_for_us_only_where_its_namespace_wants_it() -> None:
    webhook = entry(UNLABELLED)
    assert selected(webhook["namespaceSelector"])[contract.INJECTION] == (
        "In",
        [contract.ENABLED],
    )
    assert selected(webhook["objectSelector"]) == {
        contract.FRAMEWORK: ("DoesNotExist", []),
        contract.INJECTION: ("NotIn", [contract.DISABLED]),
        contract.KUEUE_QUEUE: ("DoesNotExist", []),
    }
    (rule,) = webhook["rules"]
    assert (rule["resources"], rule["operations"]) == (["jobs"], ["CREATE"])
    assert webhook["failurePolicy"] == "Fail"
    for name in (*contract.HOOKS, contract.JOB_CONTROLLER):
        assert f"'{name}'" in conditions(webhook)


def test_other_objects_reach_us_only_where_they_name_us_and_none_waits_for_us() -> None:
    webhook = entry(KEYS)
    assert webhook["failurePolicy"] == "Ignore"
    assert "objectSelector" not in webhook, "a Deployment may have the label itself, too"
    names = [condition["name"] for condition in webhook["matchConditions"]]
    ours = "not-by-the-reconciler"
    others = ["not-of-a-controller", "not-a-training-job", "says-something"]
    assert names == ["not-being-deleted", ours, *others]
    for text in (contract.PREFIX, contract.INJECTION):
        assert f"'{text}'" in conditions(webhook)
    for pods in ("object.spec.template", "object.spec.jobTemplate.spec.template"):
        assert f"'{contract.FRAMEWORK}' in {pods}.metadata.labels" in conditions(webhook)
    assert [(rule["resources"], rule["operations"]) for rule in webhook["rules"]] == [
        (["jobs", "cronjobs"], ["CREATE", "UPDATE"]),
        (["pods"], ["CREATE"]),
        (["deployments", "statefulsets", "daemonsets"], ["CREATE", "UPDATE"]),
    ]


def test_a_job_that_is_labelled_by_an_entry_meets_that_for_labelled_ones() -> None:
    """Only an entry that was called is called again after another webhook's change."""
    names = [each["name"] for each in found("MutatingWebhookConfiguration", "edl")["webhooks"]]
    assert names.index(UNLABELLED) < names.index("jobs.edl.dev")


def test_no_namespace_waits_for_us() -> None:
    webhook = entry(SETTINGS)
    (rule,) = webhook["rules"]
    assert (rule["resources"], rule["operations"]) == (["namespaces"], ["CREATE", "UPDATE"])
    assert webhook["failurePolicy"] == "Ignore"
    assert "!has(object.metadata.deletionTimestamp)" in conditions(webhook)
    for part in ("annotations", "labels"):
        ours = f"object.metadata.{part}.exists(name, name.startsWith('{contract.PREFIX}'))"
        assert ours in conditions(webhook)


def test_of_the_installation_only_the_teams_are_looked_at_and_do_not_wait_for_us() -> None:
    webhook = entry(TEAMS)
    (rule,) = webhook["rules"]
    assert (rule["resources"], rule["operations"]) == (["configmaps"], ["CREATE", "UPDATE"])
    assert selected(webhook["namespaceSelector"]) == {
        "kubernetes.io/metadata.name": ("In", [contract.SYSTEM_NAMESPACE])
    }
    assert f"request.name == '{contract.TEAMS_CONFIG_MAP}'" in conditions(webhook)
    assert webhook["failurePolicy"] == "Ignore"


@pytest.mark.parametrize("webhook", LABELLED)
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


@pytest.mark.parametrize("document", all_of("PriorityClass"))
def test_two_appliers_own_no_field_that_the_api_server_does_not_store(document: Json) -> None:
    """`globalDefault: false` is not stored, so the next field manager conflicts over it."""
    assert "globalDefault" not in document


def test_the_process_that_faces_the_network_reads_its_certificate_and_namespaces() -> None:
    """It writes nothing: no key of an authority, no Secret, no webhook configuration."""
    rules = [
        rule for kind in ("Role", "ClusterRole") for rule in found(kind, "edl-webhook")["rules"]
    ]
    certificate, read = rules
    assert (certificate["resources"], certificate["verbs"]) == (["secrets"], ["get"])
    assert certificate["resourceNames"] == [secrets.SECRET]
    assert (read["resources"], read["verbs"]) == (["namespaces"], ["get", "list", "watch"])


def test_only_the_reconciler_reaches_the_authoritys_key() -> None:
    roles = [
        role["metadata"]["name"]
        for role in (*all_of("Role"), *all_of("ClusterRole"))
        for rule in role["rules"]
        if "secrets" in rule["resources"]
        and {"get", "patch"} & set(rule["verbs"])
        and secrets.AUTHORITY_SECRET in rule.get("resourceNames", [secrets.AUTHORITY_SECRET])
    ]
    assert roles == ["edl-reconciler-certificates"]
    bound = [
        subject["name"]
        for binding in (*all_of("RoleBinding"), *all_of("ClusterRoleBinding"))
        if binding["roleRef"]["name"] in roles
        for subject in binding["subjects"]
    ]
    assert set(bound) == {"edl-reconciler"}


def test_only_accounts_of_the_installation_get_rights() -> None:
    """A binding to a group such as `system:authenticated` would reach each pod's account."""
    subjects = [
        (subject["kind"], subject["name"], subject["namespace"])
        for binding in (*all_of("RoleBinding"), *all_of("ClusterRoleBinding"))
        for subject in binding["subjects"]
    ]
    assert set(subjects) == {
        ("ServiceAccount", name, contract.SYSTEM_NAMESPACE)
        for name in ("edl-webhook", "edl-reconciler")
    }


def test_the_reconciler_elects_a_leader_by_its_own_role_alone() -> None:
    """A binding that lets other accounts read the Lease can be removed."""
    rules = [
        rule for rule in found("Role", "edl-reconciler")["rules"] if rule["resources"] == ["leases"]
    ]
    named = {verb for rule in rules if "resourceNames" in rule for verb in rule["verbs"]}
    assert {tuple(rule.get("resourceNames", ())) for rule in rules} == {
        (contract.RECONCILER_LEASE,),
        (),
    }
    assert named == {"get", "patch"}


def test_the_reconciler_can_give_pods_these_rights_and_no_others() -> None:
    rules = found("ClusterRole", "edl-reconciler-rolebindings")["rules"]
    roles = [rule for rule in rules if "clusterroles" in rule["resources"]]
    (rule,) = roles
    # What edl-peers gives, the reconciler has itself: no right to bind is needed for that.
    given = [contract.LAUNCHER_CLUSTER_ROLE]
    assert (rule["verbs"], rule["resourceNames"]) == (["bind"], given)
    assert all(found("ClusterRole", name) for name in given)


def test_peers_may_only_list_pods() -> None:
    (rule,) = found("ClusterRole", contract.PEERS_CLUSTER_ROLE)["rules"]
    assert (rule["resources"], rule["verbs"]) == (["pods"], ["list"])


def test_the_reconciler_writes_what_its_steps_write_and_no_more() -> None:
    """Patches of Jobs and pods, what asks for nodes, what surrounds Jobs; Events are counted."""
    rules = [rule for name in OF_RECONCILER for rule in found("ClusterRole", name)["rules"]]
    written: dict[str, set[str]] = {}
    for rule in rules:
        for resource in rule["resources"]:
            verbs = set(rule["verbs"]) - {"get"}
            if verbs and not {"list", "watch"} & verbs and resource != "clusterroles":
                written.setdefault(resource, set()).update(rule["verbs"])
    assert written == {
        "jobs": {"patch"},
        "pods": {"patch", "create", "delete"},
        "pods/status": {"patch"},
        "services": {"create"},
        "serviceaccounts": {"create"},
        "secrets": {"create"},
        "rolebindings": {"create"},
        "resourceclaimtemplates": {"create"},
        "provisioningrequests": {"create", "delete"},
        "podtemplates": {"create", "delete"},
        "poddisruptionbudgets": {"create", "delete"},
        "events": {"get", "create", "patch"},
        "configmaps": {"create"},
    }


def test_the_reconciler_sees_no_secrets_of_users_and_enters_no_pods() -> None:
    """It makes key pairs for mode ssh, and can read no Secret, not even those."""
    roles = [("Role", "edl-reconciler"), *(("ClusterRole", name) for name in OF_RECONCILER)]
    for kind, name in roles:
        for rule in found(kind, name)["rules"]:
            assert "pods/exec" not in rule["resources"]
            assert "secrets" not in rule["resources"] or rule["verbs"] == ["create"]


def test_of_config_maps_it_reads_and_changes_the_published_queue_alone() -> None:
    rules = found("ClusterRole", "edl-reconciler")["rules"]
    given = [rule for rule in rules if "configmaps" in rule["resources"]]
    assert [(rule["verbs"], rule.get("resourceNames")) for rule in given] == [
        (["list", "patch", "delete"], [CONFIG_MAP]),
        (["create"], None),
    ]


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
    assert given["secret"] == f"{secret['namespace']}/{secret['name']}"
    assert secret["name"] == secrets.SECRET
    assert given["trusted"] == (contract.RECONCILER_USER,)
    (port,) = found("Service", "edl-webhook")["spec"]["ports"]
    (container,) = found("Deployment", "edl-webhook")["spec"]["template"]["spec"]["containers"]
    assert container["ports"] == [
        {"name": port["targetPort"], "containerPort": given["port"]},
        {"name": "probes", "containerPort": given["probe_port"]},
    ]


def test_the_reconciler_understands_its_arguments() -> None:
    package, *words = arguments("edl-reconciler")
    assert package == "reconciler"
    given = reconciler_command.make_context("reconciler", words).params
    assert given["leader_elect"] is True
    assert given["certificates"] is True
    assert found("Secret", secrets.AUTHORITY_SECRET)["metadata"]["namespace"] == (
        contract.SYSTEM_NAMESPACE
    )
    assert given["namespace"] == contract.SYSTEM_NAMESPACE
    (container,) = found("Deployment", "edl-reconciler")["spec"]["template"]["spec"]["containers"]
    assert container["ports"] == [{"name": "http", "containerPort": given["metrics_port"]}]


def test_names_agree_with_the_code() -> None:
    account = found("ServiceAccount", "edl-reconciler")["metadata"]
    user = f"system:serviceaccount:{account['namespace']}:{account['name']}"
    assert user == contract.RECONCILER_USER
    assert found("Service", secrets.SERVICE)["metadata"]["namespace"] == (contract.SYSTEM_NAMESPACE)
    for webhook in WEBHOOKS:
        assert webhook["clientConfig"]["service"]["name"] == secrets.SERVICE
    for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
        assert found(kind, secrets.CONFIGURATION)


def test_the_image_is_of_this_version() -> None:
    (container,) = found("Deployment", "edl-webhook")["spec"]["template"]["spec"]["containers"]
    assert container["image"] == f"kubectl-edl:{version('kubectl-edl')}"


def test_of_a_jobs_pods_only_kubeshares_are_seen_and_only_to_be_completed() -> None:
    (completing,) = (
        condition["expression"]
        for webhook in found("MutatingWebhookConfiguration", "edl")["webhooks"]
        for condition in webhook["matchConditions"]
        if condition["name"] == "not-of-a-job"
    )
    assert "owner.apiVersion == 'batch/v1' && owner.kind == 'Job'" in completing
    assert completing.endswith(f"|| object.spec.schedulerName == '{contract.KUBESHARE_SCHEDULER}'")
    judging = str(found("ValidatingWebhookConfiguration", "edl"))
    assert contract.KUBESHARE_SCHEDULER not in judging


@pytest.mark.parametrize(
    ("name", "flag"), [("webhook", "--host"), ("reconciler", "--metrics-host")]
)
def test_pods_listen_on_ipv4_and_ipv6(name: str, flag: str) -> None:
    (container,) = found("Deployment", f"edl-{name}")["spec"]["template"]["spec"]["containers"]
    assert container["args"][container["args"].index(flag) + 1] == EVERY_ADDRESS


@pytest.mark.parametrize("deployment", DEPLOYMENTS, ids=lambda one: one["metadata"]["name"])
def test_the_pods_stay_off_nodes_of_windows(deployment: Json) -> None:
    selector = deployment["spec"]["template"]["spec"]["nodeSelector"]
    assert selector == {"kubernetes.io/os": "linux"}
