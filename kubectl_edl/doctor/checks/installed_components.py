"""Checks that kubectl-edl is installed: its webhook configurations, Deployments and release."""

from collections import Counter
from collections.abc import Iterator
from importlib.metadata import version as installed
from typing import Final

from certs.secrets import CONFIGURATION, WEBHOOK_KINDS
from edl import contract
from edl.errors import Forbidden
from edl.kube.cluster import RESOURCES
from edl.messages import container_messages
from edl.messages.scarcity_messages import listed
from edl.model import ObjectRef
from kubectl_edl.cli.suggested_commands import FixCommand, by_administrator
from kubectl_edl.doctor.checks.check import (
    CheckContext,
    CheckResults,
    failure,
    ok,
    warning,
)
from kubectl_edl.install.components import (
    DEPLOYMENTS,
    Component,
    image_of_release,
    is_of_other_release,
    is_of_release,
    stalled,
    tag,
)
from kubectl_edl.install.installer import INSTALL, PLUGIN, UNKNOWN, readable_elsewhere
from kubectl_edl.install.prune import created
from kubectl_edl.install.rollout import image_remedy

_MINE: Final = installed(contract.MANAGED_BY)
"""The plugin's release."""


def configurations(context: CheckContext) -> CheckResults:
    there = {kind: context.find(ObjectRef(kind, "", CONFIGURATION)) for kind in WEBHOOK_KINDS}
    missing = [kind for kind, manifest in there.items() if manifest is None]
    here = context.system_namespace
    if home := readable_elsewhere(context.cluster):
        fix = f"export {contract.SYSTEM_NAMESPACE_ENV}={home}"
        yield failure(f"kubectl-edl is installed in namespace {home}, not in {here}", fix)
        return
    if missing:
        whole = len(missing) == len(WEBHOOK_KINDS)
        what = "kubectl-edl is not installed here" if whole else "kubectl-edl is installed in part"
        unknown = whole and context.installer is UNKNOWN
        fix = by_administrator(INSTALL) if unknown else context.installer.again
        yield failure(f"{what}: there is no {' and no '.join(missing)} {CONFIGURATION}", fix)
        if whole:
            yield from _remains(context)
        return
    yield ok("kubectl-edl is installed: both webhook configurations are there")


def _remains(context: CheckContext) -> CheckResults:
    """What the reconciler of an earlier installation created, and only `uninstall` deletes."""
    try:
        if context.components:
            return
        counts = Counter(target.kind for target in created(context.cluster))
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
        if component := context.components.get(name):
            yield from _replicas(component, context)
        elif not outside:
            what = f"Deployment {name} does not exist in namespace {here}"
            yield failure(what, context.installer.again)
    if outside:
        yield ok(f"the webhook is served from {outside}, by no Deployment of this cluster")


def release(context: CheckContext) -> CheckResults:
    """Compare releases: plugin and cluster make the same decisions only in the same release."""
    deployed = context.components.values()
    by_name = {component.name: [*_images(component)] for component in deployed}
    tagged = [image for images in by_name.values() for _, image in images if tag(image)]
    others = [
        (says, name, image)
        for name, images in by_name.items()
        for says, image in images
        if is_of_other_release(image, _MINE)
    ]
    for says, name, image in others:
        fix = _other_image(context.components[name], context)
        yield warning(f"{says} {tag(image)}, and this plugin is {_MINE}", fix)
    if tagged and not others and all(component.rolled_out for component in deployed):
        yield ok(f"the cluster runs the plugin's own release, {_MINE}")


def _images(component: Component) -> Iterator[tuple[str, str]]:
    """The images of its ready pods, and of its template while no pod of that is ready.

    Ready pods do not count while a rollout to the plugin's release replaces them; `deployments`
    reports a template whose pods do not start.
    """
    template = component.image
    replaced = is_of_release(template, _MINE) and not component.rolled_out
    running = dict.fromkeys(pod.image for pod in component.pods if pod.ready)
    for image in () if replaced else running:
        yield f"{component.name} runs", image
    if template not in (*running, *(pod.image for pod in component.stuck)):
        yield f"Deployment {component.name} has the image tag", template


def _other_image(component: Component, context: CheckContext) -> str:
    """The command for an image of the plugin's release, or how to provide one first."""
    pods = [pod for component in context.components.values() for pod in component.pods]
    image = image_of_release(pods, component.image, _MINE)
    if not image and context.installer is PLUGIN:
        return FixCommand(image_remedy("upgrade", ""))
    return context.installer.with_image(image or "IMAGE")


def _replicas(component: Component, context: CheckContext) -> CheckResults:
    namespace, name = context.system_namespace, component.name
    message = f"{name}: {component.ready} of {component.wanted} replicas ready"
    pods = FixCommand(f"kubectl describe pods -n {namespace} -l app.kubernetes.io/name={name}")
    late = warning if component.ready else failure
    if not component.wanted:
        scale = FixCommand(f"kubectl scale deployment {name} -n {namespace} --replicas=2")
        yield failure(f"{name} is scaled to 0 replicas", scale)
    elif component.stuck:
        yield late(f"{message}; {stalled(component.stuck)}", _remedy(component, context))
    elif component.refusal:
        again = context.installer.again
        fix = f"change what refuses them, or a value of the installation: {again}"
        what = f"the API server refuses new ones: {component.refusal}"
        yield late(f"{message}; {what}", FixCommand(fix))
    elif component.ready < component.wanted:
        yield late(message, pods)
    elif component.rolled_out:
        yield ok(message)
    elif component.overdue:
        yield warning(f"{message}, but {_unfinished(component)}", pods)
    else:
        yield ok(f"{message}; its rollout is under way")


def _remedy(component: Component, context: CheckContext) -> str:
    """Another image if this one cannot be pulled or is not of the plugin's release."""
    worst = component.stuck[0]
    if worst.lacks_image or is_of_other_release(worst.image, _MINE):
        return _other_image(component, context)
    here = f"-n {context.system_namespace}"
    return FixCommand(container_messages.next_command(worst.name, worst.waits, here))


def _unfinished(component: Component) -> str:
    if component.updated < component.wanted:
        return "not all of them are of its newest template"
    return "its rollout did not end in time"
