"""`doctor` checks exactly the rights that the manifests grant."""

import pytest

from edl.kube.auth.access_review import AccessRight
from kubectl_edl.doctor.checks.permissions import granted
from manifests import installation, values
from manifests.documents import load


def test_rights_granted_by_the_manifests_are_checked() -> None:
    reconciler = granted("edl-reconciler", load())
    assert AccessRight("patch", "jobs", "batch") in reconciler
    assert (
        AccessRight("bind", "clusterroles", "rbac.authorization.k8s.io", name="edl-launcher")
        in reconciler
    )
    assert AccessRight("patch", "leases", "coordination.k8s.io", "edl-system") in {
        AccessRight(one.verb, one.resource, one.group, one.namespace) for one in reconciler
    }
    for name in ("edl-webhook-authority", "edl-webhook-tls"):
        assert AccessRight("patch", "secrets", namespace="edl-system", name=name) in reconciler
    webhook = granted("edl-webhook", load())
    assert AccessRight("get", "secrets", namespace="edl-system", name="edl-webhook-tls") in webhook


@pytest.mark.parametrize("account", ["edl-webhook", "edl-reconciler"])
def test_with_cert_manager_neither_reads_a_secret(account: str) -> None:
    chosen = values.read({"certManager": {"enabled": True}})
    rights = granted(account, installation.documents(chosen))
    assert rights
    secrets = {right.verb for right in rights if right.resource == "secrets"}
    assert secrets <= {"create"}
    assert not [right for right in rights if right.group == "admissionregistration.k8s.io"]


def test_only_rights_of_our_service_accounts_are_checked() -> None:
    assert granted("somebody", load()) == []


def test_a_right_is_printed_as_in_rbac() -> None:
    right = AccessRight("get", "pods/log", namespace="team")
    assert str(right) == "get pods/log in namespace team"
    assert (right.attributes["resource"], right.attributes["subresource"]) == ("pods", "log")
