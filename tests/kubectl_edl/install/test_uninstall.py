"""`uninstall`: what is deleted, and what stays for users."""

import json
from contextlib import suppress

import pytest

from edl import contract
from edl.errors import NotFound
from edl.inject import ttl_after_finished
from edl.kube.cluster import RESOURCES, ListOptions
from edl.model import ObjectRef
from edl.visibility.namespace_queue import CONFIG_MAP
from edl.visibility.queue_writes import LABELS
from kubectl_edl.install.prune import AMONG_USERS, IN_ITS_NAMESPACE, REQUESTS, installed
from manifests import installation
from manifests.documents import load
from tests.integration.support.rights import grants
from tests.kubectl_edl.install.installations import HELD, SYSTEM, deployment, install, left, stage
from tests.kubectl_edl.stage import job


def test_budgets_of_training_jobs_are_deleted_and_those_of_users_kept() -> None:
    on = stage()
    install(on)
    managed = {"app.kubernetes.io/managed-by": contract.MANAGED_BY}
    for name, labels in (("train-first-2", managed), ("theirs", {})):
        metadata = {"name": name, "labels": labels | {contract.JOB: "train"}}
        on.create({"kind": "PodDisruptionBudget", "metadata": metadata})
    run = on.run("uninstall", "--yes")
    assert "poddisruptionbudget.policy/train-first-2 in default deleted" in run.out.splitlines()
    left = on.cluster.list(ListOptions("PodDisruptionBudget")).items
    assert [json.loads(one)["metadata"]["name"] for one in left] == ["theirs"]


def test_a_provisional_pod_on_a_lost_node_delays_no_uninstallation() -> None:
    on = stage()
    install(on)
    labels = {contract.PROVISIONAL: "asks", "app.kubernetes.io/managed-by": contract.MANAGED_BY}
    stays = {"name": "asks", "namespace": "team-b", "labels": labels, "finalizers": ["x.test/y"]}
    on.create({"kind": "Pod", "metadata": stays, "spec": {"nodeName": "lost"}})
    run = on.run("uninstall", "--yes", "--timeout", "5s")
    assert (run.code, "still there" in run.err) == (0, False)
    assert on.cluster.get(ObjectRef("Pod", "team-b", "asks"))["metadata"]["deletionTimestamp"]


def test_leftovers_of_a_partial_installation_are_deleted() -> None:
    """As Helm and `kubectl delete -k` leave it."""
    on = stage()
    said = "lease.coordination.k8s.io/edl-reconciler deleted"
    assert left(on) == [f"{said} (dry run)"]
    assert on.run("uninstall", "--yes").out.splitlines() == [said]
    assert left(on) == []


def test_objects_that_the_reconciler_creates_are_deleted_or_owned() -> None:
    """A new right to create objects must be assigned to one of the two lists."""
    kinds = {(known.group, known.plural): kind for kind, known in RESOURCES.items()}
    roles = {one["metadata"]["name"] for one in load() if one["kind"] in ("Role", "ClusterRole")}
    made = {
        kinds[grant.group, grant.resource]
        for grant in grants(load(), *(role for role in roles if "reconciler" in role))
        if grant.verb == "create"
    }
    with_jobs = {"Service", "ServiceAccount", "RoleBinding"}
    with_jobs |= {"ResourceClaimTemplate"}
    ours = {kind for kind, _ in IN_ITS_NAMESPACE}
    ours |= {options.kind for options in (*AMONG_USERS, *REQUESTS)}
    assert made == ours | with_jobs | {"Event"}


def test_uninstalling_takes_everything_but_jobs() -> None:
    on = stage()
    install(on, "--set", "networkPolicy.enabled=true")
    on.put(job("runs", framework="none"), suspend=False)
    on.put(job("waits", framework="none"))
    on.patch("waits", HELD)
    theirs = {"metadata": {"name": CONFIG_MAP, "namespace": "other"}, "kind": "ConfigMap"}
    ours = {"name": CONFIG_MAP, "namespace": "default", "labels": LABELS}
    on.create(theirs)
    on.create(theirs | {"metadata": ours})
    asks = {"app.kubernetes.io/managed-by": contract.MANAGED_BY, contract.PROVISIONAL: "waits"}
    for name, labels in (("asks", asks), ("other", {contract.PROVISIONAL: "waits"})):
        on.create(
            {"kind": "Pod", "metadata": {"name": name, "namespace": "default", "labels": labels}}
        )
    # Six are of the reconciler and of users' namespaces; the namespace stays.
    assert len(left(on)) == len(installation.documents()) - 1 + 6
    tried = on.run("uninstall", "--dry-run", "server").out
    assert tried.replace("(server dry run)", "(dry run)").splitlines() == left(on)
    run = on.run("uninstall", "--yes")
    assert run.code == 0, run.err
    pods = on.cluster.list(ListOptions("Pod")).items
    assert [json.loads(one)["metadata"]["name"] for one in pods] == ["other"]
    assert run.out.splitlines()[0].startswith("mutatingwebhookconfiguration")
    assert run.out.splitlines()[-4:] == [
        "priorityclass.scheduling.k8s.io/edl-provisional deleted",
        "lease.coordination.k8s.io/edl-reconciler deleted",
        "configmap/edl-queue in default deleted",
        "pod/asks in default deleted",
    ]
    assert left(on) == []
    kept = on.cluster.list(ListOptions("ConfigMap")).items
    assert [json.loads(one)["metadata"]["namespace"] for one in kept] == ["other"]
    assert on.job("runs")["spec"]["suspend"] is False
    assert run.err == (
        "1 elastic Job keeps running at the current size, no longer resized or ended.\n"
        "1 suspended: no longer started. To start them by hand:\n"
        """  kubectl patch job waits -n default -p '{"spec":{"suspend":false}}'\n"""
        "1 with edl.dev/ttl-seconds-after-finished (default/waits): each is deleted "
        "that long after its own end.\n"
        "namespace/edl-system stays, with what others have put into it. To delete it with "
        "everything in it: kubectl delete namespace edl-system\n"
    )
    assert on.job("waits")["spec"][ttl_after_finished.FIELD] == 600
    assert contract.TTL not in on.job("waits")["metadata"]["annotations"]


def test_uninstall_needs_confirmation() -> None:
    on = stage()
    install(on)
    assert on.run("uninstall").code == 1
    assert "No terminal can answer: add --yes" in on.run("uninstall").err
    on.answers = "n\n"
    assert "kubectl-edl was not uninstalled" in on.run("uninstall").err
    assert deployment(on)
    on.answers = "yes\n"
    assert on.run("uninstall").code == 0
    assert left(on) == []


def test_the_namespace_is_kept_with_objects_of_any_kind() -> None:
    on = stage()
    install(on)
    for kind, name in (
        ("ConfigMap", contract.TEAMS_CONFIG_MAP),
        ("ServiceAccount", "backup"),
        ("Certificate", "theirs"),
    ):
        on.create({"kind": kind, "metadata": {"name": name, "namespace": SYSTEM}})
    dry = on.run("uninstall", "--dry-run", "client")
    assert dry.err.splitlines()[-1] == (
        "namespace/edl-system stays, with what others have put into it. To delete it with "
        "everything in it: kubectl delete namespace edl-system"
    )
    run = on.run("uninstall", "--yes")
    assert (run.code, "namespace/" in run.out, "configmap edl-teams" in run.err) == (0, False, True)
    assert on.cluster.get(ObjectRef("Namespace", "", SYSTEM))
    assert on.cluster.get(ObjectRef("Certificate", SYSTEM, "theirs"))
    assert left(on) == []


def test_a_namespace_of_the_administrator_is_not_offered_for_deletion() -> None:
    on = stage()
    install(on)
    unlabelled = {"metadata": {"labels": {"app.kubernetes.io/part-of": None}}}
    on.cluster.patch(ObjectRef("Namespace", "", SYSTEM), unlabelled)
    assert "namespace" not in on.run("uninstall", "--yes").err


@pytest.mark.parametrize("verb", ["upgrade", "uninstall"])
def test_objects_of_the_administrator_stay_whatever_they_are_part_of(verb: str) -> None:
    on = stage()
    install(on)
    labels = {"app.kubernetes.io/part-of": contract.MANAGED_BY}
    teams = ObjectRef("ConfigMap", SYSTEM, contract.TEAMS_CONFIG_MAP)
    viewers = ObjectRef("ClusterRoleBinding", "", "edl: viewers;")
    for target in (teams, viewers):
        metadata = {"name": target.name, "namespace": target.namespace, "labels": labels}
        on.cluster.create(target, {"kind": target.kind, "metadata": metadata})
    words = {"upgrade": ("--no-wait", "--set", "logLevel=debug"), "uninstall": ("--yes",)}
    run = on.run(verb, *words[verb], "--context", "prod")
    assert run.code == 0
    assert (
        "left in the cluster: 1 object with app.kubernetes.io/part-of=kubectl-edl and without "
        "edl.dev/installed. To delete what is not yours: kubectl delete -n edl-system "
        "'clusterrolebinding.rbac.authorization.k8s.io/edl: viewers;' --context prod"
    ) in run.err.splitlines()
    assert on.cluster.get(teams)
    assert on.cluster.get(viewers)


def test_uninstall_is_not_done_while_objects_without_the_label_are_there() -> None:
    on = stage()
    install(on)
    for target in installed(on.cluster):
        on.cluster.patch(target, {"metadata": {"labels": {contract.INSTALLED: None}}})
    for kind, name in IN_ITS_NAMESPACE:
        with suppress(NotFound):
            on.cluster.delete(ObjectRef(kind, SYSTEM, name))
    run = on.run("uninstall", "--yes")
    assert (run.code, run.out) == (0, "")
    for name in ("deployment.apps/edl-webhook", "configmap/edl-values"):
        assert f" {name} " in run.err


def test_uninstalling_nothing_is_done_at_once() -> None:
    on = stage()
    on.cluster.delete(ObjectRef("Lease", SYSTEM, contract.RECONCILER_LEASE))
    run = on.run("uninstall", "--yes")
    assert (run.code, run.out) == (0, "nothing of kubectl-edl is installed in this cluster\n")
