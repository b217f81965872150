"""Installations on a cluster in memory, and what tests look at in them."""

from collections.abc import Mapping
from typing import Any

from certs.secrets import WEBHOOK_KINDS
from edl import contract
from edl.inject import ttl_after_finished
from edl.kube.cluster import PluginCluster
from edl.kube.cluster_decorator import PluginClusterDecorator
from edl.model import ObjectRef
from edl.spec.job_spec import HELD_TTL
from edl.writes import Json
from tests.kubectl_edl.stage import Run, Stage

SYSTEM = contract.SYSTEM_NAMESPACE
WEBHOOK = ObjectRef("Deployment", SYSTEM, "edl-webhook")
KEPT = ObjectRef("ConfigMap", SYSTEM, "edl-values")
IMAGE = "registry.example/kubectl-edl:9"
HELD = {
    "metadata": {"annotations": {contract.TTL: "600"}},
    "spec": {ttl_after_finished.FIELD: HELD_TTL},
}


class Judging(PluginClusterDecorator):
    """A cluster that answers who may do what; `denied` are verbs with their plural."""

    def __init__(self, cluster: PluginCluster, *denied: str) -> None:
        super().__init__(cluster)
        self._denied = denied

    def create(
        self, target: ObjectRef, manifest: Mapping[str, Any], *, dry_run: bool = False
    ) -> Json:
        if target.kind != "SelfSubjectAccessReview":
            return super().create(target, manifest, dry_run=dry_run)
        asked = manifest["spec"]["resourceAttributes"]
        allowed = f"{asked['verb']} {asked['resource']}" not in self._denied
        return {"status": {"allowed": allowed and not (self._denied and asked["verb"] == "*")}}

    def apply(self, target: ObjectRef, manifest: Mapping[str, Any], **how: bool) -> Json:
        """Server-side apply leaves a caBundle that another client wrote."""
        body = super().apply(target, manifest, **how)
        if target.kind in WEBHOOK_KINDS and not how.get("dry_run"):
            return self.patch(target, {"webhooks": [trusted(w) for w in body["webhooks"]]})
        return body


def trusted(webhook: Json) -> Json:
    return webhook | {"clientConfig": webhook["clientConfig"] | {"caBundle": "UEVN"}}


def stage(*denied: str) -> Stage:
    return Stage(wrapped=lambda cluster: Judging(cluster, *denied))


def install(stage: Stage, *words: str) -> Run:
    image = () if "--image" in words else ("--image", IMAGE)
    return stage.run("install", "--no-wait", *image, *words)


def deployment(stage: Stage, name: str = "edl-webhook") -> Json:
    return stage.cluster.get(ObjectRef("Deployment", SYSTEM, name))


def arguments(stage: Stage) -> list[str]:
    (container,) = deployment(stage, "edl-reconciler")["spec"]["template"]["spec"]["containers"]
    words: list[str] = container["args"]
    return words


def image(stage: Stage) -> str:
    return str(deployment(stage)["spec"]["template"]["spec"]["containers"][0]["image"])


def applied_by_hand(*settings: str) -> Stage:
    """As kustomize leaves it: without the values that the plugin keeps."""
    on = stage()
    install(on, *settings)
    on.cluster.delete(KEPT)
    return on


def ready(on: Stage, name: str) -> None:
    target = ObjectRef("Deployment", SYSTEM, name)
    wanted = on.cluster.get(target)["spec"]["replicas"]
    names = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
    counts = dict.fromkeys(names, wanted)
    on.cluster.patch(target, {"status": counts})


def ours(on: Stage, **status: object) -> Json:
    """A pod of the webhook as it is installed now."""
    template = deployment(on)["spec"]["template"]
    names = {"name": "edl-webhook", "part-of": contract.MANAGED_BY}
    labels = {f"app.kubernetes.io/{key}": value for key, value in names.items()}
    metadata = {"name": "edl-webhook-1", "namespace": SYSTEM, "labels": labels}
    return {"kind": "Pod", "metadata": metadata, "spec": template["spec"], "status": status}


def left(on: Stage) -> list[str]:
    """Everything in the cluster but Jobs."""
    listed = on.run("uninstall", "--dry-run", "client").out
    return [line for line in listed.splitlines() if line.endswith("(dry run)")]
