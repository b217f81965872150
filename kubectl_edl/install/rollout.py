"""Waits until webhook and reconciler are ready, and reports why they are not."""

from collections.abc import Iterator
from datetime import timedelta

from edl.durations import duration_text
from edl.kube.cluster import PluginCluster
from edl.messages import container_messages
from kubectl_edl.cli.command_errors import Refused, TimedOut
from kubectl_edl.cli.context import CliContext, Scope
from kubectl_edl.cli.interaction import waited
from kubectl_edl.client.certificate_store import trusted
from kubectl_edl.install.components import DEPLOYMENTS, WEBHOOK, ComponentPod, components, stalled
from manifests import values


def wait(cli: CliContext, cluster: PluginCluster, timeout: timedelta, scope: Scope) -> None:
    """Wait; raises Refused if a component cannot become ready by itself, TimedOut if it is late.

    `scope` is the cluster for suggested commands.
    """
    try:
        waiting = waited(cli, lambda: _missing(cluster, scope), timeout)
    except Refused:
        cli.warn(*_hints(cluster, scope))
        raise
    if waiting:
        cli.warn(*_hints(cluster, scope))
        late = f"not ready after {duration_text(timeout)}"
        raise TimedOut(f"{late}: {waiting}; kubectl edl doctor{scope.edl_flags}")


def _hints(cluster: PluginCluster, scope: Scope) -> Iterator[str]:
    """What fails in the cluster meanwhile, and values for pods that the API server refuses.

    The webhook configurations fail closed, and are applied before the webhook runs, because the
    reconciler writes its CA into them.
    """
    deployed, flags = components(cluster), scope.edl_flags
    if any(component.refusal for component in deployed.values()):
        yield (
            "hint: values that an admission policy may demand: pods.labels, pods.annotations, "
            "webhook.resources, reconciler.resources: "
            f"kubectl edl upgrade{flags} --set NAME=VALUE"
        )
    webhook = deployed.get(WEBHOOK)
    if webhook is None or not webhook.ready:
        yield (
            "hint: until edl-webhook is ready, the API server refuses new training jobs, and all "
            "new Jobs of namespaces that opted in; other Jobs are not affected; to undo the "
            f"installation: kubectl edl uninstall{flags}"
        )


def _missing(cluster: PluginCluster, scope: Scope) -> str:
    """The components that are not ready, and why; empty if all are. Raises Refused."""
    deployed = components(cluster)
    late = [name for name in DEPLOYMENTS if name not in deployed or not deployed[name].rolled_out]
    if not late:
        untrusted = dict.fromkeys(
            bundle.target.kind for bundle in trusted(cluster) if not bundle.certificates
        )
        what = "the API server has no caBundle for it yet"
        return f"{what} ({' and '.join(untrusted)})" if untrusted else ""
    pods = [pod for component in deployed.values() for pod in component.pods if pod.current]
    for pod in pods:
        if pod.lacks_image or pod.crash_loops:
            remedy = _remedy(pod, f"-n {cluster.system_namespace}{scope.cluster_flags}", scope)
            raise Refused(f"{stalled([pod])}; {remedy}")
    refusals = dict.fromkeys(one.refusal for one in deployed.values() if one.refusal)
    causes = [f"pod {pod.name}: {pod.unscheduled}" for pod in pods if pod.unscheduled]
    causes += [stalled([pod]) for pod in pods if pod.waits]
    are = "are" if len(late) > 1 else "is"
    return "; ".join([f"{' and '.join(late)} {are} not rolled out", *refusals, *causes])


def _remedy(pod: ComponentPod, options: str, scope: Scope) -> str:
    if pod.lacks_image:
        return image_remedy("upgrade", scope.edl_flags)
    return container_messages.next_command(pod.name, pod.waits, options)


def image_remedy(verb: str, flags: str) -> str:
    """How to provide the image: load it on kind, or push it to a registry."""
    local, pulled = values.DEFAULTS.image, f"REGISTRY/{values.DEFAULTS.image}"
    then = f"kubectl edl {verb}{flags} --image"
    return (
        f"build it from kubectl-edl's sources and load it on kind: docker build -t {local} . && "
        f"kind load docker-image {local} && {then} {local}; or push it to a registry of the "
        f"cluster: docker build -t {pulled} . && docker push {pulled} && {then} {pulled}"
    )
