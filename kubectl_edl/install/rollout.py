"""Waits until webhook and reconciler are ready, and reports why they are not."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from edl import contract
from edl.durations import duration_text
from edl.kube.cluster import ListOptions, PluginCluster, find
from edl.messages.container_messages import NO_IMAGE
from edl.model import ObjectRef
from edl.writes import Json
from kubectl_edl.cli.command_errors import Refused, TimedOut
from kubectl_edl.cli.context import CliContext, Scope
from kubectl_edl.cli.interaction import waited
from kubectl_edl.client.certificate_store import trusted
from manifests import values

DEPLOYMENTS: Final = ("edl-webhook", "edl-reconciler")
_CRASHES: Final = 3


def wait(cli: CliContext, cluster: PluginCluster, timeout: timedelta, scope: Scope) -> None:
    """Wait; raises Refused if a component cannot become ready by itself, TimedOut if it is late.

    `scope` is the cluster for suggested commands.
    """

    def missing() -> str:
        waiting = _missing(cluster)
        for reason in _permanent_failures(cluster, scope) if waiting else ():
            raise Refused(reason)
        return waiting

    if waiting := waited(cli, missing, timeout):
        why = "; ".join([waiting, *_pending(cluster)])
        raise TimedOut(
            f"not ready after {duration_text(timeout)}: {why}; kubectl edl doctor{scope.edl_flags}"
        )


def _missing(cluster: PluginCluster) -> str:
    """The components that are not ready; empty if all are."""
    targets = (ObjectRef("Deployment", cluster.system_namespace, name) for name in DEPLOYMENTS)
    deployed = {target.name: find(cluster, target) for target in targets}
    late = [name for name, one in deployed.items() if one is None or not is_rolled_out(one)]
    if late:
        return f"{' and '.join(late)} {'are' if len(late) > 1 else 'is'} not rolled out"
    untrusted = dict.fromkeys(one.target.kind for one in trusted(cluster) if not one.certificates)
    if untrusted:
        return f"the API server has no caBundle for it yet ({' and '.join(untrusted)})"
    return ""


def is_rolled_out(deployment: Json) -> bool:
    """Whether all of its pods are of its newest template, and available."""
    status, wanted = deployment.get("status") or {}, deployment["spec"]["replicas"]
    seen = status.get("observedGeneration", 0) >= deployment["metadata"].get("generation", 0)
    counts = ("replicas", "updatedReplicas", "availableReplicas")
    return bool(seen and all(status.get(count, 0) == wanted for count in counts))


def is_stalled(deployment: Json) -> bool:
    """Whether its rollout has made no progress within `progressDeadlineSeconds`."""
    conditions = (deployment.get("status") or {}).get("conditions") or ()
    return any(one["type"] == "Progressing" and one["status"] == "False" for one in conditions)


def refused_pods(deployment: Json) -> str:
    """Why the API server refuses pods of its template, in its words; empty if it does not."""
    conditions = (deployment.get("status") or {}).get("conditions") or ()
    failed = (one for one in conditions if one["type"] == "ReplicaFailure")
    said = (one.get("message") or one.get("reason") for one in failed if one["status"] == "True")
    return " ".join(str(next(said, None) or "").split())


def _permanent_failures(cluster: PluginCluster, scope: Scope) -> Iterator[str]:
    for pod in _pods(cluster):
        for status in (pod.get("status") or {}).get("containerStatuses") or ():
            state = status.get("state") or {}
            waiting = state.get("waiting") or {}
            name = pod["metadata"]["name"]
            if waiting.get("reason") in NO_IMAGE:
                reason = " ".join(str(waiting.get("message", waiting["reason"])).split())
                remedy = image_remedy("upgrade", scope.edl_flags)
                yield f"no node gets the image {status['image']} ({reason}); {remedy}"
            if status.get("restartCount", 0) >= _CRASHES and not state.get("running"):
                yield (
                    f"pod {name} crashes again and again: "
                    f"kubectl logs -n {cluster.system_namespace} {name}"
                    f"{scope.cluster_flags}"
                )


def image_remedy(verb: str, flags: str) -> str:
    """How to provide the image: load it on kind, or push it to a registry."""
    local, pulled = values.DEFAULTS.image, f"REGISTRY/{values.DEFAULTS.image}"
    then = f"kubectl edl {verb}{flags} --image"
    return (
        f"build it from kubectl-edl's sources and load it on kind: docker build -t {local} . && "
        f"kind load docker-image {local} && {then} {local}; or push it to a registry of the "
        f"cluster: docker build -t {pulled} . && docker push {pulled} && {then} {pulled}"
    )


def _pending(cluster: PluginCluster) -> Iterator[str]:
    """The API server's messages about refused pods, and the scheduler's about unscheduled ones."""
    targets = (ObjectRef("Deployment", cluster.system_namespace, name) for name in DEPLOYMENTS)
    refusals = (refused_pods(one) for target in targets if (one := find(cluster, target)))
    yield from dict.fromkeys(filter(None, refusals))
    for pod in _pods(cluster):
        for condition in (pod.get("status") or {}).get("conditions") or ():
            if condition["type"] == "PodScheduled" and condition["status"] == "False":
                yield f"pod {pod['metadata']['name']}: {condition.get('message', 'has no node')}"


def _pods(cluster: PluginCluster) -> list[Json]:
    """Pods of the current templates; older pods are about to be deleted."""
    selection = ListOptions("Pod", cluster.system_namespace, PART_OF)
    targets = (ObjectRef("Deployment", cluster.system_namespace, name) for name in DEPLOYMENTS)
    deployed = (find(cluster, target) for target in targets)
    wanted = [_runs(one["spec"]["template"]) for one in deployed if one]
    return [pod for pod in cluster.list(selection).manifests() if _runs(pod) in wanted]


def _runs(pod: Json) -> list[tuple[str, list[str]]]:
    """Images and arguments of a pod or a pod template."""
    return [(each["image"], each.get("args", [])) for each in pod["spec"]["containers"]]


PART_OF: Final = f"app.kubernetes.io/part-of={contract.MANAGED_BY}"
