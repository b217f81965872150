"""Optional parts: what they add, what they take away."""

import pytest

from certs.secrets import AUTHORITY_SECRET, SECRET
from edl import contract
from edl.frameworks.base import ModeRight
from edl.model import Requirement
from edl.writes import Json
from manifests import installation, values
from manifests.documents import Documents
from tests.integration.support.rights import OF_MODES, OF_RECONCILER, grants
from webhook.__main__ import webhook as webhook_command


def installed(**given: object) -> Documents:
    return installation.documents(values.read(given))


def found(documents: Documents, kind: str, name: str) -> Json:
    (document,) = (
        each for each in documents if (each["kind"], each["metadata"]["name"]) == (kind, name)
    )
    return document


def webhook_pod(documents: Documents) -> Json:
    pod: Json = found(documents, "Deployment", "edl-webhook")["spec"]["template"]["spec"]
    return pod


def test_whatever_is_installed_carries_our_label_and_has_its_place() -> None:
    """By the second label an upgrade finds what it no longer has, an uninstallation all."""
    everything = ("networkPolicy", "certManager", "monitoring")
    for document in installed(**{name: {"enabled": True} for name in everything}):
        metadata = document["metadata"]
        assert metadata["labels"]["app.kubernetes.io/part-of"] == contract.MANAGED_BY
        deletable = document["kind"] != installation.NAMESPACE
        assert (contract.INSTALLED in metadata["labels"]) is deletable
        assert metadata.get("namespace") in (None, contract.SYSTEM_NAMESPACE)


def test_labels_of_monitoring_do_not_replace_those_of_the_installation() -> None:
    theirs = {"release": "prometheus", contract.INSTALLED: "false"}
    documents = installed(monitoring={"enabled": True, "labels": theirs})
    own = found(documents, "PrometheusRule", "edl")["metadata"]["labels"]
    assert (own["release"], own[contract.INSTALLED]) == ("prometheus", "true")


@pytest.mark.parametrize("name", ["system-cluster-critical", "system-node-critical"])
def test_the_quota_admits_pods_of_each_critical_priority(name: str) -> None:
    documents = installed(pods={"priorityClassName": name})
    (quota,) = (one for one in documents if one["kind"] == "ResourceQuota")
    (selects,) = quota["spec"]["scopeSelector"]["matchExpressions"]
    assert webhook_pod(documents)["priorityClassName"] in selects["values"]


def test_secrets_name_no_type_so_that_one_of_cert_manager_is_taken_over() -> None:
    """The type of a Secret is immutable, and cert-manager's have another than the default."""
    secrets = [one for one in installed() if one["kind"] == "Secret"]
    assert [one["metadata"]["name"] for one in secrets] == [SECRET, AUTHORITY_SECRET]
    assert not any("type" in one for one in secrets)


def test_with_cert_manager_the_webhook_reads_a_volume() -> None:
    documents = installed(certManager={"enabled": True})
    (container,) = webhook_pod(documents)["containers"]
    package, *words = container["args"]
    mount = next(each for each in container["volumeMounts"] if each["name"] == "certificate")
    directory = words[words.index("--cert-dir") + 1]
    assert (package, directory, mount["readOnly"]) == ("webhook", mount["mountPath"], True)
    assert "--secret" not in words
    # The directory exists in the pod only, and click wants to see it.
    words[words.index("--cert-dir") + 1] = "/"
    assert (
        webhook_command.make_context("webhook", [*words, "--image", "x"]).params["secret"] is None
    )


def test_with_cert_manager_no_role_reaches_certificates_or_ca_bundles() -> None:
    documents = installed(certManager={"enabled": True})
    for kind, name in (
        ("Role", "edl-webhook"),
        ("Role", "edl-reconciler-certificates"),
        ("ClusterRole", "edl-reconciler-certificates"),
    ):
        assert found(documents, kind, name)["rules"] == []
    reconciler = found(documents, "Deployment", "edl-reconciler")["spec"]["template"]["spec"]
    (container,) = reconciler["containers"]
    assert "--certificates" not in container["args"]


def test_cert_managers_secret_is_the_one_that_is_mounted() -> None:
    documents = installed(certManager={"enabled": True})
    certificate = found(documents, "Certificate", "edl-webhook")["spec"]
    (volume,) = (
        each for each in webhook_pod(documents)["volumes"] if each["name"] == "certificate"
    )
    assert volume["secret"]["secretName"] == certificate["secretName"]
    issuer = found(documents, "Issuer", certificate["issuerRef"]["name"])["spec"]
    authority = found(documents, "Certificate", "edl-authority")["spec"]
    assert issuer["ca"]["secretName"] == authority["secretName"]
    assert authority["isCA"]
    for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
        notes = found(documents, kind, "edl")["metadata"]["annotations"]
        assert notes["cert-manager.io/inject-ca-from"] == "edl-system/edl-webhook"
        assert notes["admissions.enforcer/disabled"] == "true"
    service = found(documents, "Service", "edl-webhook")["metadata"]
    assert f"{service['name']}.{service['namespace']}.svc" in certificate["dnsNames"]


@pytest.mark.parametrize("right", ModeRight)
def test_a_withheld_right_is_given_by_no_role_and_known_to_the_webhook(
    right: ModeRight,
) -> None:
    documents = installed(rights={right.value: False})
    bound = [each["metadata"]["name"] for each in documents if each["kind"] == "ClusterRoleBinding"]
    given = {(one.verb, one.resource) for one in grants(documents, *bound)}
    withheld = {(one.verb, one.resource) for one in OF_MODES[right]}
    assert not given & withheld
    assert {(one.verb, one.resource) for one in grants(installed(), *OF_RECONCILER)} >= withheld
    pod = found(documents, "Deployment", "edl-webhook")["spec"]["template"]["spec"]
    _, *words = pod["containers"][0]["args"]
    given_options = webhook_command.make_context("edl-webhook", [*words, "--image", "x"]).params
    assert given_options["withheld_right"] == (right,)


def test_the_chosen_groups_and_no_others_read_the_reconcilers_lease() -> None:
    documents = installed(settingsReaders=["research", "oidc:ops"])
    role = found(documents, "Role", "edl-reconciler-settings")
    (rule,) = role["rules"]
    assert (rule["resources"], rule["verbs"]) == (["leases"], ["get"])
    assert rule["resourceNames"] == [contract.RECONCILER_LEASE]
    binding = found(documents, "RoleBinding", "edl-reconciler-settings")
    assert [(one["kind"], one["name"]) for one in binding["subjects"]] == [
        ("Group", "research"),
        ("Group", "oidc:ops"),
    ]
    names = {one["metadata"]["name"] for one in installed()}
    assert "edl-reconciler-settings" not in names


def test_the_network_lets_in_what_the_containers_listen_on() -> None:
    documents = installed(networkPolicy={"enabled": True})
    for name in ("edl-webhook", "edl-reconciler"):
        pod = found(documents, "Deployment", name)["spec"]["template"]
        policy = found(documents, "NetworkPolicy", name)["spec"]
        selected = policy["podSelector"]["matchLabels"]
        assert selected.items() <= pod["metadata"]["labels"].items()
        ports = {each["name"] for each in pod["spec"]["containers"][0]["ports"]}
        assert {port["port"] for rule in policy["ingress"] for port in rule["ports"]} == ports
        assert policy["policyTypes"] == ["Ingress", "Egress"]


def test_nothing_but_the_api_server_is_reached_once_its_address_is_known() -> None:
    chosen = {"enabled": True, "apiServerBlocks": ["10.0.0.2/32"], "apiServerPorts": [6443]}
    documents = installed(networkPolicy=chosen)
    block = [{"ipBlock": {"cidr": "10.0.0.2/32"}}]
    for name in ("edl-webhook", "edl-reconciler"):
        policy = found(documents, "NetworkPolicy", name)["spec"]
        assert policy["egress"] == [{"ports": [{"port": 6443}], "to": block}]
    reviews, metrics = found(documents, "NetworkPolicy", "edl-webhook")["spec"]["ingress"]
    assert reviews["from"] == block
    assert "namespaceSelector" in metrics["from"][0]


def test_ignored_namespaces_never_reach_the_webhook() -> None:
    webhooks = [
        webhook
        for document in installed(ignoredNamespaces=["istio-system"])
        for webhook in document.get("webhooks", ())
        if webhook["name"] != "teams.edl.dev"  # about one object of the installation
    ]
    assert len(webhooks) >= 4
    ours = {"app.kubernetes.io/name": "edl", "edl.dev/injection": "enabled"}
    for name in ("kube-system", "edl-system", "istio-system"):
        labels = ours | {"kubernetes.io/metadata.name": name}
        assert [one["name"] for one in webhooks if _selects(one, labels)] == []
    other = ours | {"kubernetes.io/metadata.name": "lab"}
    assert all(_selects(one, other) for one in webhooks), "others do reach it"


def test_the_reconciler_ignores_the_same_namespaces() -> None:
    reconciler = found(
        installed(ignoredNamespaces=["istio-system", "argocd"]), "Deployment", "edl-reconciler"
    )
    (container,) = reconciler["spec"]["template"]["spec"]["containers"]
    args = container["args"]
    places = [at for at, word in enumerate(args) if word == "--ignored-namespace"]
    assert [args[at + 1] for at in places] == ["istio-system", "argocd"]


def _selects(webhook: Json, labels: dict[str, str]) -> bool:
    """Whether a namespace with these labels is looked at, as the API server reads its selector."""
    return all(
        Requirement(each["key"], each["operator"], tuple(each.get("values", ()))).holds(
            labels.get(each["key"])
        )
        for each in webhook["namespaceSelector"]["matchExpressions"]
    )


def test_the_chosen_client_certificates_are_required() -> None:
    documents = installed(
        webhook={"clientCertificate": {"enabled": True, "names": ["one", "two"]}},
        certManager={"enabled": True},
    )
    (container,) = webhook_pod(documents)["containers"]
    _, *words = container["args"]
    for flag in ("--cert-dir", "--client-ca"):  # there in the pod only, and click wants to see it
        words[words.index(flag) + 1] = {"--cert-dir": "/", "--client-ca": __file__}[flag]
    given = webhook_command.make_context("webhook", [*words, "--image", "x"]).params
    assert tuple(given["client_name"]) == ("one", "two")
    assert any(mount["name"] == "clients" for mount in container["volumeMounts"])
