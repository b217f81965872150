"""Checks of the leader, its Lease and its rights."""

from datetime import timedelta

import pytest

from edl import contract
from edl.model import ObjectRef
from edl.writes import Json
from tests.kubectl_edl.doctor.fake_installation import FakeApi, installed, target
from tests.kubectl_edl.doctor.findings import ASK, checked, only
from tests.kubectl_edl.stage import NOW, Stage


@pytest.mark.parametrize(
    ("minutes", "verdict", "says"),
    [
        (
            10,
            "failure",
            (
                "no reconciler leads, the last was one: "
                "Lease edl-system/edl-reconciler was renewed 10m ago"
            ),
        ),
        (-10, "warning", "one leads, its clock 10m ahead of the API server's"),
    ],
)
def test_the_leader_check_reads_the_lease(
    stage: Stage, minutes: int, verdict: str, says: str
) -> None:
    stage.now = [NOW + timedelta(minutes=minutes)]
    found = only(stage, "leader")
    assert found[:2] == (verdict, says)


def test_a_clock_that_is_ahead_is_that_of_the_reconcilers_node(stage: Stage) -> None:
    stage.now = [NOW - timedelta(minutes=10)]
    assert only(stage, "leader")[2] == (
        "kubectl get pods -n edl-system -l app.kubernetes.io/name=edl-reconciler -o wide  "
        "# set the clock of its node by NTP"
    )


def test_a_renewal_slightly_ahead_of_the_clock_is_recent(stage: Stage) -> None:
    stage.now = [NOW - timedelta(seconds=3)]
    assert only(stage, "leader")[:2] == ("ok", "one leads, and renewed its Lease 0s ago")


def test_an_overdue_lease_is_a_warning(stage: Stage) -> None:
    stage.now = [NOW + timedelta(seconds=17)]
    assert only(stage, "leader")[:2] == (
        "warning",
        "one leads, and is overdue: it renewed its Lease 17s ago, for 15s",
    )
    stage.now = [NOW + timedelta(seconds=15)]
    assert only(stage, "leader")[0] == "ok"


def test_a_lease_that_lasts_for_an_hour_is_overdue_as_soon(stage: Stage) -> None:
    taken = {"holderIdentity": "thief", "leaseDurationSeconds": 3600}
    target = ObjectRef("Lease", contract.SYSTEM_NAMESPACE, contract.RECONCILER_LEASE)
    stage.cluster.patch(target, {"spec": taken})
    stage.now = [NOW + timedelta(seconds=91)]
    assert only(stage, "leader")[:2] == (
        "warning",
        "thief leads, and is overdue: it renewed its Lease 91s ago, for 60m",
    )


def test_no_reconciler_leads_by_a_released_lease(stage: Stage) -> None:
    lease = ObjectRef("Lease", contract.SYSTEM_NAMESPACE, contract.RECONCILER_LEASE)
    stage.cluster.patch(lease, {"spec": {"holderIdentity": ""}})
    assert only(stage, "leader")[:2] == (
        "failure",
        "no reconciler leads: Lease edl-system/edl-reconciler was released",
    )
    stage.cluster.delete(lease)
    assert "no reconciler has ever led" in only(stage, "leader")[1]
    verdict, message, fix = only(stage, "settings")
    assert (verdict, message) == ("warning", "its settings are unknown while no reconciler leads")
    assert fix.startswith("kubectl logs -n edl-system -l app.kubernetes.io/name=edl-reconciler")


FENCE = (
    ("ValidatingAdmissionPolicy", "edl-reconciler"),
    ("ValidatingAdmissionPolicyBinding", "edl-reconciler"),
)


@pytest.mark.parametrize(("named", "account"), [("wrong", "wrong"), (None, "default")])
def test_the_rights_are_those_of_the_deployments_own_service_account(
    server: FakeApi, named: str | None, account: str
) -> None:
    def change(manifest: Json) -> None:
        if (manifest["kind"], manifest["metadata"]["name"]) == ("Deployment", "edl-reconciler"):
            manifest["spec"]["template"]["spec"]["serviceAccountName"] = named

    server.denied = frozenset({(account, "patch", "jobs")})
    assert only(installed(Stage(), server, change), "rights") == (
        "failure",
        f"ServiceAccount edl-system/{account} may not patch jobs.batch",
        "kubectl edl upgrade --force-conflicts",
    )


def test_a_right_that_a_service_account_lacks_is_a_failure(stage: Stage, server: FakeApi) -> None:
    server.denied = frozenset({("edl-reconciler", "patch", "jobs")})
    assert only(stage, "rights") == (
        "failure",
        "ServiceAccount edl-system/edl-reconciler may not patch jobs.batch",
        "kubectl edl upgrade --force-conflicts",
    )


def test_rights_that_an_installation_without_the_fence_leaves_out_are_not_missed(
    stage: Stage, server: FakeApi
) -> None:
    provisioning = ("pods", "podtemplates", "provisioningrequests")
    server.denied = frozenset(("edl-reconciler", "create", one) for one in provisioning)
    assert "create pods" in only(stage, "rights")[1]
    for kind, name in (*FENCE, ("ClusterRoleBinding", "edl-reconciler-provisioning")):
        stage.cluster.delete(target(kind, name))
    assert only(stage, "rights")[0] == "ok"
    assert "fence" not in checked(stage), "its values or its component say so"


def test_a_fence_that_only_warns_is_a_failure(stage: Stage) -> None:
    stage.cluster.patch(target(*FENCE[1]), {"spec": {"validationActions": ["Warn", "Audit"]}})
    verdict, message, fix = only(stage, "fence")
    assert (verdict, fix) == ("failure", "kubectl edl upgrade --force-conflicts")
    assert message == (
        "ValidatingAdmissionPolicyBinding edl-reconciler does not have the validation action Deny: "
        "nothing limits the reconciler's writes"
    )


@pytest.mark.parametrize("lost", [FENCE[:1], FENCE[1:], FENCE])
def test_a_lost_half_of_the_fence_is_a_failure_while_its_rights_are_granted(
    stage: Stage, lost: tuple[tuple[str, str], ...]
) -> None:
    assert only(stage, "fence")[0] == "ok"
    for kind, name in lost:
        stage.cluster.delete(target(kind, name))
    verdict, message, fix = only(stage, "fence")
    assert (verdict, fix) == ("failure", "kubectl edl upgrade")
    assert message == (
        f"{' and '.join(f'{kind} {name}' for kind, name in lost)} "
        f"{'is' if len(lost) == 1 else 'are'} missing: nothing limits the "
        "reconciler's writes, and its token may create any pod"
    )


def test_a_missing_right_to_review_access_is_named(stage: Stage, server: FakeApi) -> None:
    server.may_review_others = False
    verdict, message, fix = only(stage, "rights")
    assert verdict == "warning"
    assert "may not create subjectaccessreviews" in message
    assert fix == f"{ASK}kubectl edl doctor"


def test_missing_user_rights_name_commands_and_the_fix(stage: Stage, server: FakeApi) -> None:
    server.denied = frozenset({("", "patch", "jobs"), ("", "list", "nodes")})
    change, plan = checked(stage)["your-rights"]
    assert change["message"] == (
        "you may not patch jobs.batch in namespace default: scale, pause, resume need it"
    )
    assert change["remediation"] == (
        "ask an administrator of namespace default to run: "
        "kubectl create rolebinding edl-editor-ann -n default --clusterrole=edl-editor --user=ann"
    )
    assert plan["message"].startswith("you may not list nodes: plan, explain")
    assert plan["remediation"] == (
        f"{ASK}kubectl create clusterrolebinding edl-viewer-ann --clusterrole=edl-viewer --user=ann"
    )
    assert stage.run("doctor").code == 0


def test_a_shell_reads_the_name_of_a_user_as_one_word(stage: Stage, server: FakeApi) -> None:
    server.user, server.denied = "$(reboot)@x.test", frozenset({("", "patch", "jobs")})
    assert checked(stage)["your-rights"][0]["remediation"].endswith(
        "kubectl create rolebinding 'edl-editor-$(reboot)@x.test' -n default "
        "--clusterrole=edl-editor --user='$(reboot)@x.test'"
    )
