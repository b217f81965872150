"""`doctor` as a whole: its order, its output, and what a missing right hides."""

import json
from dataclasses import replace

import pytest

from edl import contract
from edl.errors import Unreachable
from edl.kube.cluster import ListOptions, RawList
from edl.model import ObjectRef
from kubectl_edl.cli.context import ClusterConnection, Scope
from kubectl_edl.doctor.checks import SECTIONS
from kubectl_edl.main import run
from tests.kubectl_edl.cluster_wrappers import ClusterWrapper, fenced, hidden, recorded, warning_of
from tests.kubectl_edl.doctor.fake_installation import FakeApi
from tests.kubectl_edl.doctor.findings import ASK, checked, only
from tests.kubectl_edl.stage import Stage, mnist


def test_a_healthy_installation_passes_all_checks(stage: Stage) -> None:
    found = stage.run("doctor")
    assert found.code == 0
    assert found.err == ""
    assert found.out == (
        "Kubernetes API\n"
        "  ✓ https://cluster answers: Kubernetes v1.37.2 (1.33 to 1.37 are tested)\n"
        "\n"
        "Installation\n"
        "  ✓ kubectl-edl is installed: both webhook configurations are there\n"
        "  ✓ edl-webhook: 2 of 2 replicas ready\n"
        "  ✓ edl-reconciler: 2 of 2 replicas ready\n"
        "  ✓ the cluster runs the plugin's own release, 0.1.0\n"
        "\n"
        "Webhook\n"
        "  ✓ the API server calls it for labelled objects only\n"
        "  ✓ the API server reaches it: a labelled Job was mutated in a dry run (default)\n"
        "\n"
        "Certificates\n"
        '  ✓ the API server trusts "kubectl-edl webhook authority", 3650 days left\n'
        "  ✓ the serving certificate in Secret edl-system/edl-webhook-tls has 365 days left, "
        "signed by the trusted authority\n"
        "\n"
        "Reconciler\n"
        "  ✓ one leads, and renewed its Lease 0s ago\n"
        "  ✓ it decides by policy fair, load ceiling 97 %\n"
        "  ✓ admission policies limit the reconciler's writes\n"
        "  ✓ no teams are configured\n"
        "\n"
        "Rights\n"
        "  ✓ edl-webhook and edl-reconciler have all rights that they need\n"
        "\n"
        "Training jobs\n"
        "  ✓ there are none yet\n"
        "  ✓ no queued job waits for capacity\n"
        "  ✓ no object older than 2m is left by a deleted Job\n"
        "\n"
        "Your rights\n"
        "  ✓ you have all rights that the plugin needs\n"
        "\n"
        "All checks passed: 18 checks.\n"
    )


def test_the_probe_is_a_dry_run_in_the_users_namespace(stage: Stage, server: FakeApi) -> None:
    assert stage.run("doctor", "-n", "team").code == 0
    (probe,) = server.probes
    assert probe["metadata"]["namespace"] == "team"


def test_no_warnings_about_the_probe_are_printed(stage: Stage, server: FakeApi) -> None:
    """Policies may warn of anything: an image without a tag, missing limits, its name."""
    warned: list[ObjectRef] = []
    stage.wrapped = lambda cluster: warning_of(warned)(server(cluster))
    assert stage.run("doctor").code == 0
    assert len(server.probes) == 1
    assert [target for target in warned if target.kind == "Job"] == []


def test_what_an_uninstalled_kubectl_edl_has_left_is_reported_with_uninstall() -> None:
    stage = replace(Stage(), wrapped=FakeApi())
    managed = {"app.kubernetes.io/managed-by": contract.MANAGED_BY, contract.JOB: "train"}
    metadata = {"name": "train-first-2", "labels": managed}
    stage.create({"kind": "PodDisruptionBudget", "metadata": metadata})
    found = stage.run("doctor", "--context", "prod")
    assert found.code == 1
    assert (
        "  ! an earlier installation has left leases (1), poddisruptionbudgets (1); its "
        "poddisruptionbudgets block drains\n"
        "      fix: kubectl edl uninstall --context prod\n"
    ) in found.out


def test_a_missing_installation_is_a_failure_with_the_install_command() -> None:
    stage = replace(Stage(), wrapped=FakeApi())
    stage.cluster.delete(ObjectRef("Lease", contract.SYSTEM_NAMESPACE, contract.RECONCILER_LEASE))
    found = stage.run("doctor")
    assert found.code == 1
    assert found.out.endswith(
        "Installation\n"
        "  ✗ kubectl-edl is not installed here: there is no MutatingWebhookConfiguration and no "
        "ValidatingWebhookConfiguration edl\n"
        "      fix: kubectl edl install --image IMAGE\n"
        "\n"
        "Remaining checks skipped: they depend on this one.\n"
        "\n"
        "1 failure, 1 check passed.\n"
    )


def test_an_api_server_that_is_away_is_one_failure() -> None:
    def unreachable(_: Scope) -> ClusterConnection:
        raise Unreachable("no answer from the API server https://x; is it up?")

    cli = replace(Stage().cli(), connect=unreachable)
    assert run(["doctor", "-o", "json"], cli, {}) == 1
    found = json.loads(cli.out.getvalue())  # type: ignore[attr-defined]
    assert found["result"] == "failure"
    assert found["complete"] is False
    (only_one,) = found["checks"]
    assert only_one["name"] == "api"
    assert only_one["message"].startswith("no answer from the API server")
    assert "kubectl config get-contexts" in only_one["remediation"]


@pytest.mark.parametrize("release", ["v1.32.2", "v1.9"])
def test_an_old_cluster_is_a_failure(stage: Stage, release: str) -> None:
    stage.cluster.release = release
    (one,) = checked(stage)["api"]
    assert one["result"] == "failure"
    assert one["message"].endswith(f"runs Kubernetes {release}: 1.33 or newer is needed")


def test_a_distributions_release_is_read_by_its_numbers(stage: Stage) -> None:
    stage.cluster.release = "v1.37.1+k3s1"
    assert only(stage, "api")[0] == "ok"
    stage.cluster.release = "unreleased"
    assert only(stage, "api")[0] == "warning"


def test_each_missing_right_is_named_once_after_what_was_checked(
    stage: Stage, server: FakeApi
) -> None:
    """With the sections that lack it, and its fix once for all that have the same."""
    kinds = ("MutatingWebhookConfiguration", "Lease")
    stage.wrapped = lambda cluster: hidden(*kinds)(server(cluster))
    server.denied = frozenset({("", "patch", "jobs")})
    found = stage.run("doctor")
    *ran, yours, unchecked, counted = found.out.split("\n\n")
    assert yours.startswith("Your rights\n  ! you may not patch jobs.batch in namespace default: ")
    assert unchecked == (
        "Not checked\n"
        "  ! Installation, Webhook, Certificates: "
        '"ann" may not get MutatingWebhookConfiguration (kubectl auth can-i …)\n'
        '  ! Reconciler: "ann" may not get Lease (kubectl auth can-i …)\n'
        "      fix: ask a cluster administrator to run: kubectl edl doctor"
    )
    assert not [part for part in ran if "may not" in part]
    assert found.out.count("  ! ") == int(counted.split()[0])
    titles = [part.splitlines()[0] for part in ran]
    assert "Certificates" not in titles, "none of its checks ran"
    assert "Reconciler" in titles
    said = [one["message"] for one in checked(stage)["webhook-configuration"]]
    assert said == [
        'not checked: "ann" may not get MutatingWebhookConfiguration (kubectl auth can-i …)'
    ]


def test_without_the_right_to_list_nodes_the_other_checks_run(
    stage: Stage, server: FakeApi
) -> None:
    fence = fenced("Node")
    stage.wrapped = lambda cluster: server(fence(cluster))
    found = checked(stage)
    assert found["never"][0]["result"] == "warning"
    assert found["leftovers"][0]["result"] == "ok"


def test_a_terminal_without_unicode_reads_words(stage: Stage) -> None:
    cli = replace(stage.cli(), unicode=False)
    assert run(["doctor"], cli, {}) == 0
    out = cli.out.getvalue()  # type: ignore[attr-defined]
    assert "  ok   it decides by policy fair" in out
    assert out.isascii()


def test_failures_and_warnings_are_coloured(stage: Stage, server: FakeApi) -> None:
    server.asks = False
    cli = replace(stage.cli(), coloured=True)
    assert run(["doctor"], cli, {}) == 1
    assert "\x1b[31m✗\x1b[0m a labelled Job was not mutated" in cli.out.getvalue()  # type: ignore[attr-defined]


def test_check_names_are_unique() -> None:
    names = [check.name for section in SECTIONS for check in section.checks]
    assert len(set(names)) == len(names)


def test_the_training_jobs_are_listed_once_for_all_checks(stage: Stage) -> None:
    listed: list[str] = []

    class Counting(ClusterWrapper):
        def list(self, selection: ListOptions) -> RawList:
            listed.append(selection.kind)
            return super().list(selection)

    before = stage.wrapped
    stage.wrapped = lambda cluster: Counting(before(cluster))
    stage.run("doctor", "-o", "json")
    assert listed.count("LimitRange") == 1, "of the whole cluster, for them and for its plan"


@pytest.mark.parametrize(
    "refused", [(), ("Job",), ("Node", "CronJob", "Pod", "Namespace", "Event")]
)
def test_each_list_is_requested_once_also_if_it_is_refused(
    stage: Stage, server: FakeApi, refused: tuple[str, ...]
) -> None:
    lists: list[ListOptions] = []
    mnist(stage)
    stage.wrapped = lambda cluster: recorded(lists)(fenced(*refused)(server(cluster)))
    checked(stage)
    kinds = refused or ("Job", "Node", "Pod", "Namespace")
    asked = [(one.kind, one.namespace, one.labels) for one in lists if one.kind in kinds]
    assert sorted(asked) == sorted(set(asked))
    assert {kind for kind, *_ in asked} == set(kinds)


def test_a_user_of_another_namespace_is_told_to_name_it(stage: Stage, server: FakeApi) -> None:
    """The namespace may not be readable if it was named."""
    fence = fenced("Job")
    stage.wrapped = lambda cluster: server(fence(cluster))
    own = f"{ASK}kubectl edl doctor"
    other = f"name a namespace that you may read (-n NAMESPACE), or {own}"
    assert checked(stage)["stuck"][0]["remediation"] == other
    assert checked(stage, "-n", "default")["stuck"][0]["remediation"] == own
