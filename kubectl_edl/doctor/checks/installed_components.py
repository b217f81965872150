"""Checks that kubectl-edl is installed: its webhook configurations, Deployments and release."""

from collections import Counter
from collections.abc import Iterator, Sequence
from importlib.metadata import version as installed
from typing import Final

from certs.secrets import CONFIGURATION, WEBHOOK_KINDS
from edl import contract
from edl.errors import Forbidden
from edl.kube.cluster import RESOURCES
from edl.messages import container_messages
from edl.messages.scarcity_messages import listed
from edl.model import ObjectRef
from edl.writes import Json
from kubectl_edl.cli.suggested_commands import FixCommand
from kubectl_edl.doctor.checks.check import (
    CheckContext,
    CheckResults,
    failure,
    ok,
    warning,
)
from kubectl_edl.install.component_pods import (
    ComponentPod,
    first_image,
    image_of_release,
    is_of_other_release,
    is_of_release,
    stalled,
    tag,
    worst_of,
)
from kubectl_edl.install.installer import INSTALL, readable_elsewhere
from kubectl_edl.install.prune import created
from kubectl_edl.install.rollout import DEPLOYMENTS, is_rolled_out, is_stalled, refused_pods

_MINE: Final = installed(contract.MANAGED_BY)
"""The plugin's release."""


def configurations(context: CheckContext) -> CheckResults:
    there = {kind: context.find(ObjectRef(kind, "", CONFIGURATION)) for kind in WEBHOOK_KINDS}
    missing = [kind for kind, one in there.items() if one is None]
    here = context.system_namespace
    if home := readable_elsewhere(context.connection.cluster):
        fix = f"export {contract.SYSTEM_NAMESPACE_ENV}={home}"
        yield failure(f"kubectl-edl is installed in namespace {home}, not in {here}", fix)
        return
    if missing:
        whole = len(missing) == len(WEBHOOK_KINDS)
        what = "kubectl-edl is not installed here" if whole else "kubectl-edl is installed in part"
        fix = context.reinstall_or(INSTALL) if whole else context.reinstall
        yield failure(f"{what}: there is no {' and no '.join(missing)} {CONFIGURATION}", fix)
        if whole:
            yield from _remains(context)
        return
    yield ok("kubectl-edl is installed: both webhook configurations are there")


def _remains(context: CheckContext) -> CheckResults:
    """What the reconciler of an earlier installation created, and only `uninstall` deletes."""
    try:
        if any(map(context.deployment, DEPLOYMENTS)):
            return
        counts = Counter(target.kind for target in created(context.connection.cluster))
    except Forbidden:
        return
    if not counts:
        return
    kinds = [f"{RESOURCES[kind].plural} ({count})" for kind, count in sorted(counts.items())]
    drains = "; its poddisruptionbudgets block drains" if counts["PodDisruptionBudget"] else ""
    yield warning(
        f"an earlier installation has left {listed(kinds)}{drains}",
        FixCommand("kubectl edl uninstall"),
    )


def deployments(context: CheckContext) -> CheckResults:
    """Check both Deployments. If the webhook runs outside of the cluster, there are none."""
    outside, here = context.outside_webhook, context.system_namespace
    for name in DEPLOYMENTS:
        deployment = context.deployment(name)
        if deployment is not None:
            yield from _replicas(name, deployment, context)
        elif not outside:
            yield failure(
                f"Deployment {name} does not exist in namespace {here}", context.reinstall
            )
    if outside:
        yield ok(f"the webhook is served from {outside}, by no Deployment of this cluster")


def release(context: CheckContext) -> CheckResults:
    """Compare releases: plugin and cluster make the same decisions only in the same release."""
    deployed = {name: one for name in DEPLOYMENTS if (one := context.deployment(name)) is not None}
    found = {name: list(_images(name, one, context)) for name, one in deployed.items()}
    tagged = [image for images in found.values() for _, image in images if tag(image)]
    others = [
        (says, name, image)
        for name, images in found.items()
        for says, image in images
        if is_of_other_release(image, _MINE)
    ]
    for says, name, image in others:
        fix = _other_image(deployed[name], context)
        yield warning(f"{says} {tag(image)}, and this plugin is {_MINE}", fix)
    if tagged and not others and all(map(is_rolled_out, deployed.values())):
        yield ok(f"the cluster runs the plugin's own release, {_MINE}")


def _images(name: str, deployment: Json, context: CheckContext) -> Iterator[tuple[str, str]]:
    """The images of its ready pods, and of its template while no pod of that is ready.

    Ready pods do not count while a rollout to the plugin's release replaces them; `deployments`
    reports a template whose pods do not start.
    """
    template = first_image(_template(deployment))
    replaced = is_of_release(template, _MINE) and not is_rolled_out(deployment)
    pods = [one for one in context.component_pods if one.component == name]
    running = dict.fromkeys(pod.image for pod in pods if pod.ready)
    for image in () if replaced else running:
        yield f"{name} runs", image
    if template not in (*running, *(pod.image for pod in pods if pod.waits)):
        yield f"Deployment {name} has the image tag", template


def _other_image(deployment: Json, context: CheckContext) -> str:
    """The command for an image of the plugin's release, which `upgrade` would else not choose."""
    template = first_image(_template(deployment))
    return context.reinstall_with(image_of_release(context.component_pods, template, _MINE))


def _template(deployment: Json) -> Json:
    template: Json = (deployment.get("spec") or {}).get("template") or {}
    return template


def _replicas(name: str, deployment: Json, context: CheckContext) -> CheckResults:
    namespace = context.system_namespace
    wanted = (deployment.get("spec") or {}).get("replicas", 1)
    ready = (deployment.get("status") or {}).get("readyReplicas") or 0
    message = f"{name}: {ready} of {wanted} replicas ready"
    pods = FixCommand(f"kubectl describe pods -n {namespace} -l app.kubernetes.io/name={name}")
    stuck = [one for one in context.component_pods if one.component == name and one.waits]
    if not wanted:
        scale = FixCommand(f"kubectl scale deployment {name} -n {namespace} --replicas=2")
        yield failure(f"{name} is scaled to 0 replicas", scale)
    elif stuck:
        found = warning if ready else failure
        yield found(f"{message}; {stalled(stuck)}", _remedy(stuck, deployment, context))
    elif refused := refused_pods(deployment):
        found = warning if ready else failure
        fix = f"change what refuses them, or a value of the installation: {context.reinstall}"
        yield found(f"{message}; the API server refuses new ones: {refused}", FixCommand(fix))
    elif not ready:
        yield failure(message, pods)
    elif ready < wanted:
        yield warning(message, pods)
    elif is_rolled_out(deployment):
        yield ok(message)
    elif is_stalled(deployment):
        yield warning(f"{message}, but {_unfinished(deployment, wanted)}", pods)
    else:
        yield ok(f"{message}; its rollout is under way")


def _remedy(stuck: Sequence[ComponentPod], deployment: Json, context: CheckContext) -> str:
    """Another image if this one cannot be pulled or is not of the plugin's release."""
    worst = worst_of(stuck)
    if worst.lacks_image or is_of_other_release(worst.image, _MINE):
        return _other_image(deployment, context)
    here = f"-n {context.system_namespace}"
    return FixCommand(container_messages.next_command(worst.name, worst.waits, here))


def _unfinished(deployment: Json, wanted: int) -> str:
    if deployment["status"].get("updatedReplicas", 0) < wanted:
        return "not all of them are of its newest template"
    return "its rollout did not end in time"
