"""With the fence, a stolen token of the reconciler cannot do what RBAC alone would let it."""

from typing import Final

import pytest
from kubernetes.client import ApiException, CoreV1Api
from kubernetes.config import new_client_from_config

from certs.secrets import usual
from dev.installation import Installation
from edl import contract
from edl.errors import ClusterError, NotFound
from edl.kube.api.client import connect
from edl.kube.cluster import Cluster
from edl.model import ObjectRef
from edl.visibility.queue_writes import LABELS
from edl.writes import Json
from tests.integration.support.provisional_variants import (
    ESCALATING,
    RAISED,
    RUNNING,
    UNCONFINED,
    WIDER,
    as_openshift_admits_it,
    provisional,
)
from tests.integration.support.stage import Stage, elastic, role_jobs, stage, tensorflow

pytestmark = pytest.mark.integration

STATUSES: Final[tuple[Json, ...]] = (
    {"phase": "Failed"},
    {"reason": "Evicted", "message": "no more"},
    {"startTime": "2020-01-01T00:00:00Z"},
    {"observedGeneration": 77},
    {"startTime": None},
)
"""Changes of a pod's status by which a thief could mislead its readers."""


@pytest.fixture(scope="module")
def thief(installation: Installation) -> Cluster:
    """A user with the token of the reconciler."""
    thief = connect(str(installation.folder / "reconciler.kubeconfig"))
    with stage(installation.cluster) as at:
        at.apply(foreign_pod())
        # The API server takes a moment until it follows a new policy.
        note = {"metadata": {"annotations": {"a": "b"}}}
        at.until(lambda: contract.FRAMEWORK in tried(thief, pod_of(at), note), "it holds")
    return thief


@pytest.fixture
def at(installed: Stage) -> Stage:
    return installed


def foreign_pod() -> Json:
    spec = {"containers": [{"name": "main", "image": "none"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": spec}


def pod_of(at: Stage) -> ObjectRef:
    return ObjectRef("Pod", at.namespace, "web")


def tried(thief: Cluster, target: ObjectRef, body: Json) -> str:
    """What is said to a patch; empty where it is done."""
    try:
        thief.patch(target, body)
    except ClusterError as error:
        return str(error)
    return ""


def made(thief: Cluster, target: ObjectRef, fields: Json, *, dry_run: bool = False) -> str:
    metadata = {"name": target.name, "namespace": target.namespace} | fields.pop("metadata", {})
    try:
        body = {"kind": target.kind, "metadata": metadata, **fields}
        thief.create(target, body, dry_run=dry_run)
    except ClusterError as error:
        return str(error)
    return ""


def test_the_reconciler_does_all_its_work_within_it(at: Stage) -> None:
    """Hosts, gates, keys, rights of both kinds, a named removal, budgets, sizes, and the end."""
    paddle = role_jobs("paddle", "cloud", "pserver=1,trainer=1", cpu="100m")
    for job in paddle:
        job["metadata"]["annotations"][contract.MODE] = "cloud"
    ssh = role_jobs("horovod", "keys", "launcher=1,worker=1", cpu="100m")
    for job in ssh:
        job["metadata"]["annotations"][contract.MODE] = "ssh"
    ring = role_jobs("horovod", "ring", "launcher=1,worker=1..2", cpu="100m")
    at.apply(*paddle, *ssh, *ring, *tensorflow("mnist", "1..2", cpu="100m"))
    at.apply(elastic("items", "100m", {"min": "2", "max": "3"}, parallelism=2, completions=9))
    at.until_runs("mnist-worker", 2)
    at.until(lambda: len(at.hosts("ring-launcher")) == 2, "hosts are published")
    at.until_runs("cloud-trainer", 1)
    at.until_runs("keys-launcher", 1)
    assert {"keys-ssh"} <= {each["metadata"]["name"] for each in at.all("Secret")}
    at.until_runs("items", 3)
    gone = at.pods("items")[0]["metadata"]["name"]
    at.annotate("items", remove=gone, replicas="2")
    at.until(lambda: not at.exists("Pod", gone), "the named one leaves")
    at.annotate("items", replicas="3")
    at.kubectl("label", "job", "items", f"{contract.MIN}=3", "--overwrite")
    at.until(lambda: not at.exists("PodDisruptionBudget", "items-first-1"), "its budget follows")
    at.complete("mnist-chief")
    at.until(lambda: at.is_complete("mnist-worker"), "it ends")


def test_the_reconcilers_token_writes_no_status_but_its_mark(
    at: Stage, thief: Cluster, installation: Installation
) -> None:
    at.apply(elastic("mine", "100m", completions=2))
    at.until_runs("mine", 1)
    target = ObjectRef("Pod", at.namespace, at.pods("mine")[0]["metadata"]["name"])
    times = {"status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    version = at.pods("mine")[0]["metadata"]["resourceVersion"]
    with pytest.raises(ClusterError, match="DisruptionTarget"):
        thief.add_condition(target, {"type": "Ready"} | times, version)
    kubeconfig = str(installation.folder / "reconciler.kubeconfig")
    stolen = new_client_from_config(kubeconfig)  # type: ignore[no-untyped-call]
    core, refusals = CoreV1Api(stolen), list[str]()
    for status in STATUSES:
        try:
            core.patch_namespaced_pod_status(target.name, at.namespace, {"status": status})
        except ApiException as refusal:
            refusals.append(str(refusal))
    assert all("DisruptionTarget" in refusal for refusal in refusals)
    if len(refusals) < len(STATUSES):  # on 1.33 the API server drops this field
        assert len(refusals) == len(STATUSES) - 1
        assert "observedGeneration" not in at.pods("mine")[0]["status"]
    version = at.pods("mine")[0]["metadata"]["resourceVersion"]
    found = thief.add_condition(target, {"type": "DisruptionTarget"} | times, version)
    assert "DisruptionTarget" in {one["type"] for one in found["status"]["conditions"]}


def test_the_reconcilers_token_reaches_no_foreign_pod(at: Stage, thief: Cluster) -> None:
    at.apply(foreign_pod())
    target = pod_of(at)
    assert "edl.dev/framework" in tried(thief, target, {"metadata": {"annotations": {"a": "b"}}})
    with pytest.raises(ClusterError, match=r"edl\.dev/framework"):
        thief.delete(target)
    assert at.exists("Pod", "web")


def test_it_changes_no_image(at: Stage, thief: Cluster) -> None:
    at.apply(elastic("items"))
    at.until_runs("items", 1)
    found = at.pods("items")[0]
    target = ObjectRef("Pod", at.namespace, found["metadata"]["name"])
    evil = [one | {"image": "evil"} for one in found["spec"]["containers"]]
    assert "may not change images" in tried(thief, target, {"spec": {"containers": evil}})
    assert at.pods("items")[0]["spec"]["containers"][0]["image"] == "none"


def test_it_changes_no_label_of_a_job_or_its_pods(at: Stage, thief: Cluster) -> None:
    at.apply(elastic("labels", completions=2), elastic("queued", "999", completions=2))
    at.until_runs("labels", 1)
    job, queued = (ObjectRef("Job", at.namespace, name) for name in ("labels", "queued"))
    pod = ObjectRef("Pod", at.namespace, at.pods("labels")[0]["metadata"]["name"])
    for name, value in ((contract.JOB, None), (contract.FRAMEWORK, "mxnet"), ("edl.dev/new", "x")):
        body: Json = {"metadata": {"labels": {name: value}}}
        for target in (job, pod):
            assert "may not change or remove labels" in tried(thief, target, body)
        assert "may not change or remove labels" in tried(thief, queued, of_template(body))


def test_policies_of_the_cluster_may_add_labels(at: Stage, thief: Cluster) -> None:
    at.apply(elastic("labels", completions=2), elastic("queued", "999", completions=2))
    at.until_runs("labels", 1)
    job, queued = (ObjectRef("Job", at.namespace, name) for name in ("labels", "queued"))
    pod = ObjectRef("Pod", at.namespace, at.pods("labels")[0]["metadata"]["name"])
    added: Json = {"metadata": {"labels": {"cost-center": "7"}}}
    for target, body in ((job, added), (pod, added), (queued, of_template(added))):
        assert tried(thief, target, body) == ""


def of_template(body: Json) -> Json:
    return {"spec": {"template": body}}


def test_it_makes_provisional_pods_and_leaves_them_as_they_are(at: Stage, thief: Cluster) -> None:
    target = ObjectRef("Pod", at.namespace, "provisional")
    assert made(thief, target, provisional(), dry_run=True) == ""
    assert made(thief, target, as_openshift_admits_it(), dry_run=True) == ""
    port = {"containerPort": 2222, "hostPort": 2222}  # of a role that has it
    assert made(thief, target, provisional(container={"ports": [port]}), dry_run=True) == ""
    # One of its own would be deleted as a job's that is not there.
    there = foreign_pod()
    there["metadata"] = {"name": target.name, "labels": {contract.PROVISIONAL: "web"}}
    at.apply(there)
    for change in RAISED:
        assert contract.FRAMEWORK in tried(thief, target, {"metadata": change})


def serves_claims(at: Stage) -> bool:
    try:
        at.all("ResourceClaim")
    except NotFound:
        return False
    return True


def test_a_provisional_pod_has_nothing_that_runs_or_reaches_further(
    at: Stage, thief: Cluster
) -> None:
    def refusal(pod: Json) -> str:
        return made(thief, ObjectRef("Pod", at.namespace, "evil"), dict(pod), dry_run=True)

    at.kubectl("create", "serviceaccount", "powerful")
    assert "edl.dev/framework" in refusal(provisional({"labels": None}))
    owner = provisional()["metadata"]["ownerReferences"][0]
    owned = {"ownerReferences": [owner | {"controller": True}]}
    for change in (*RAISED, owned):
        assert "with the labels and annotations of provisional pods" in refusal(
            provisional(change)
        ), change
    for change in WIDER:
        if "resourceClaims" in change and not serves_claims(at):
            continue  # the API server drops them
        assert "without rights, volumes or access to the host" in refusal(
            provisional(spec=change)
        ), change
    for change in RUNNING:
        assert "of one container, with the installed image" in refusal(
            provisional(container=change)
        ), change
    unsafe = [provisional(spec={"securityContext": change}) for change in UNCONFINED]
    unsafe += [provisional(container={"securityContext": change}) for change in ESCALATING]
    for pod in unsafe:
        assert "meet Pod Security restricted" in refusal(pod), pod["spec"]
    (own,) = provisional()["spec"]["containers"]
    two = [own, own | {"name": "more", "image": "evil"}]
    assert "one container" in refusal(provisional(spec={"containers": two}))


EXPOSED: Final[tuple[Json, ...]] = (
    *({"type": kind} for kind in ("NodePort", "LoadBalancer", "ClusterIP")),
    *({"clusterIP": "None"} | more for more in ({}, {"selector": {"app": "web"}})),
    {"clusterIP": "None", "selector": {contract.JOB: "web"}},
    {"clusterIP": "None", "selector": {contract.JOB_NAME_LABEL: "items"}},
    {"clusterIP": "None", "selector": {contract.JOB: "items"}, "externalIPs": ["192.0.2.1"]},
    {"clusterIP": "None", "selector": {contract.JOB: "items"}, "ports": [{"port": 53}]},
    {"type": "ExternalName", "externalName": "example.com"},
)
"""Services that reach further than those of a training job, whose name is `items`."""


def test_it_exposes_no_pod_by_a_service(at: Stage, thief: Cluster) -> None:
    at.apply(elastic("items"))

    def refusal(spec: Json, name: str = "items", **more: Json) -> str:
        body = {"apiVersion": "v1", "spec": spec, "metadata": owned_by_items(at) | more}
        return made(thief, ObjectRef("Service", at.namespace, name), body, dry_run=True)

    headless = {"clusterIP": "None", "selector": {contract.JOB: "items"}}
    first = {contract.JOB_NAME_LABEL: "items", contract.COMPLETION_INDEX_ANNOTATION: "0"}
    assert refusal(headless) == ""
    assert refusal({"clusterIP": "None", "selector": first}, "items-0") == ""
    assert refusal(headless, annotations={"cloud.google.com/neg": '{"ingress":true}'}) == ""  # GKE
    for spec in EXPOSED:
        ports = {} if "clusterIP" in spec else {"ports": [{"port": 53}]}
        assert "only create headless Services" in refusal({"selector": first} | ports | spec), spec
    assert "only create headless Services" in refusal(headless, "web")
    published = {"external-dns.alpha.kubernetes.io/hostname": "www.example.com"}
    assert "only create headless Services" in refusal(headless, annotations=published)
    at.apply({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": headless})
    with pytest.raises(ClusterError, match="may not patch services"):
        thief.patch(ObjectRef("Service", at.namespace, "web"), {"spec": {"type": "NodePort"}})


def test_its_budgets_hold_no_pod_of_others(at: Stage, thief: Cluster) -> None:
    at.apply(elastic("items"))
    target = ObjectRef("PodDisruptionBudget", at.namespace, "all")
    for selector in ({}, {"matchLabels": {"app": "web"}}, {"matchLabels": {"job-name": "items"}}):
        spec = {"minAvailable": "100%", "selector": selector}
        body = {"apiVersion": "policy/v1", "spec": spec, "metadata": owned_by_items(at)}
        assert "PodDisruptionBudgets for pods of the Job" in made(thief, target, body, dry_run=True)


def owned_by_items(at: Stage) -> Json:
    uid = at.job("items")["metadata"]["uid"]
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "items", "uid": uid}
    return {"labels": {contract.JOB: "items"}, "ownerReferences": [owner]}


def test_it_gives_rights_only_where_the_namespace_consents(at: Stage, thief: Cluster) -> None:
    at.apply(elastic("items"))
    owned = owned_by_items(at)
    (owner,) = owned["ownerReferences"]
    target = ObjectRef("RoleBinding", at.namespace, "items-launcher")
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edl-launcher"}
    api = {"apiVersion": "rbac.authorization.k8s.io/v1", "roleRef": role}
    here = {"kind": "ServiceAccount", "name": "items-launcher", "namespace": at.namespace}
    for other in ({"namespace": "kube-system"}, {"name": "default"}, {"kind": "Group"}):
        foreign = api | {"subjects": [here, here | other], "metadata": owned}
        assert "the account that it creates" in made(thief, target, foreign, dry_run=True)
    # No Job of a training job "other" owns it, and peers may not exec.
    for name, label in (("other-launcher", "other"), ("items-peers", "items"), ("mine", "items")):
        body = api | {"subjects": [here | {"name": name}]}
        body["metadata"] = owned | {"labels": {contract.JOB: label}}
        named = target._replace(name=name)
        assert "the account that it creates" in made(thief, named, body, dry_run=True)
    nobodys = api | {"subjects": [here]}
    namesake = owned | {"ownerReferences": [owner | {"apiVersion": "kubeflow.org/v1"}]}
    for lost in (nobodys, nobodys | {"metadata": namesake}):
        assert "Job or pod owns" in made(thief, target, dict(lost))
    at.kubectl_refused("get", "rolebinding", target.name)
    mine = api | {"subjects": [here], "metadata": owned}
    assert made(thief, target, dict(mine), dry_run=True) == ""
    at.cluster.kubectl("label", "namespace", at.namespace, f"{contract.KUBEXEC}-")
    # The API server takes a moment until it knows of the label.
    consent = "edl.dev/kubexec=enabled"
    at.until(lambda: consent in made(thief, target, dict(mine), dry_run=True), "it is refused")
    assert consent in made(thief, target, dict(mine))
    at.kubectl_refused("get", "rolebinding", target.name)


def test_it_has_no_token_made_for_itself(at: Stage, thief: Cluster) -> None:
    at.apply(elastic("items"))
    notes = {"kubernetes.io/service-account.name": "default"}
    owned = owned_by_items(at) | {"annotations": notes}
    token = {"apiVersion": "v1", "type": "kubernetes.io/service-account-token", "metadata": owned}
    assert "does not fill with tokens" in made(
        thief, ObjectRef("Secret", at.namespace, "token"), token
    )


def test_in_its_own_namespace_it_makes_the_secrets_of_the_certificate_and_no_others(
    installation: Installation, thief: Cluster
) -> None:
    own = ObjectRef("Secret", contract.SYSTEM_NAMESPACE, "other")
    assert "may not write to kube-system or edl-system" in made(thief, own, {"apiVersion": "v1"})
    notes = {"annotations": {"kubernetes.io/service-account.name": "edl-webhook"}}
    for secret in (usual().authority, usual().serving):
        connect(str(installation.cluster.kubeconfig)).delete(secret)
        token = {"apiVersion": "v1", "type": "kubernetes.io/service-account-token"}
        assert "does not fill with tokens" in made(thief, secret, token | {"metadata": notes})
        assert made(thief, secret, {"apiVersion": "v1"}) == ""


def test_it_writes_the_queues_that_it_made_and_no_other_config_map(
    at: Stage, thief: Cluster
) -> None:
    queue, other = (
        ObjectRef("ConfigMap", at.namespace, name) for name in ("edl-queue", "settings")
    )
    ours = {"apiVersion": "v1", "metadata": {"labels": LABELS}}
    assert "Job or pod owns" in made(thief, other, dict(ours))
    assert "edl-queue" in made(thief, queue, {"apiVersion": "v1"})
    assert "may not write to kube-system or edl-system" in made(
        thief, queue._replace(namespace="kube-system"), dict(ours)
    )
    assert made(thief, queue, dict(ours)) == ""
    assert tried(thief, queue, {"data": {"queue": "{}"}}) == ""
    thief.delete(queue)
    at.kubectl("create", "configmap", "edl-queue", "--from-literal=mine=alone")
    assert "edl-queue" in tried(thief, queue, {"data": {"mine": "theirs"}})
    assert "edl-queue" in tried(thief, queue, {"metadata": {"labels": LABELS}})
    with pytest.raises(ClusterError, match="edl-queue"):
        thief.delete(queue)


def test_in_its_own_namespace_it_writes_the_teams_that_it_decides_by_and_no_others(
    installation: Installation, thief: Cluster
) -> None:
    applied, teams, queue = (
        ObjectRef("ConfigMap", contract.SYSTEM_NAMESPACE, name)
        for name in ("edl-teams-applied", "edl-teams", "edl-queue")
    )
    for other in (teams, queue):
        assert "may not write to kube-system or edl-system" in made(
            thief, other, {"metadata": {"labels": LABELS}}
        )
    assert made(thief, applied, {"apiVersion": "v1"}) == ""
    assert tried(thief, applied, {"data": {"teams.yaml": "{}"}}) == ""
    connect(str(installation.cluster.kubeconfig)).delete(applied)


def test_it_stays_out_of_the_clusters_own_namespaces(thief: Cluster) -> None:
    made_there = made(thief, ObjectRef("Secret", "kube-system", "x"), {"apiVersion": "v1"})
    assert "may not write to kube-system or edl-system" in made_there
