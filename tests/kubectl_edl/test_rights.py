"""What `doctor` asks about is what the manifests grant, right by right."""

from kubectl_edl.checks.rights import Right, granted
from manifests.components import with_components
from manifests.documents import load


def test_what_the_manifests_grant_is_asked_about() -> None:
    reconciler = granted("edl-reconciler", load())
    assert Right("patch", "jobs", "batch") in reconciler
    assert (
        Right("bind", "clusterroles", "rbac.authorization.k8s.io", name="edl-launcher")
        in reconciler
    )
    assert Right("patch", "leases", "coordination.k8s.io", "edl-system") in {
        Right(one.verb, one.resource, one.group, one.namespace) for one in reconciler
    }
    webhook = granted("edl-webhook", load())
    assert Right("get", "secrets", namespace="edl-system", name="edl-webhook-tls") in webhook


def test_with_cert_manager_the_webhook_needs_no_secret() -> None:
    webhook = granted("edl-webhook", with_components(load(), ("cert-manager",)))
    assert not [right for right in webhook if right.resource == "secrets"]
    assert webhook


def test_nobody_elses_rights_are_asked_about() -> None:
    assert granted("somebody", load()) == []


def test_a_right_reads_as_rbac_spells_it() -> None:
    right = Right("get", "pods/log", namespace="team")
    assert str(right) == "get pods/log in namespace team"
    assert (right.attributes["resource"], right.attributes["subresource"]) == ("pods", "log")
