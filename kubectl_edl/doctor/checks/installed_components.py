"""Checks that kubectl-edl is installed: its webhook configurations, Deployments and release."""

from collections import Counter
from importlib.metadata import version as installed

from certs.secrets import CONFIGURATION, WEBHOOK_KINDS
from edl import contract
from edl.errors import Forbidden
from edl.kube.cluster import RESOURCES
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
from kubectl_edl.install.installer import INSTALL, readable_elsewhere
from kubectl_edl.install.prune import created
from kubectl_edl.install.rollout import DEPLOYMENTS, is_rolled_out, is_stalled


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
            yield from _replicas(name, deployment, here)
        elif not outside:
            yield failure(
                f"Deployment {name} does not exist in namespace {here}", context.reinstall
            )
    if outside:
        yield ok(f"the webhook is served from {outside}, by no Deployment of this cluster")


def release(context: CheckContext) -> CheckResults:
    """Compare releases: plugin and cluster make the same decisions only in the same release."""
    mine = installed(contract.MANAGED_BY)
    deployed = {name: one for name in DEPLOYMENTS if (one := context.deployment(name)) is not None}
    tags = {name: tag for name, one in deployed.items() if (tag := _tag(_image(one)))}
    others = {name: tag for name, tag in tags.items() if tag.removeprefix("v") != mine}
    for name, tag in others.items():
        yield warning(f"{name} runs {tag}, and this plugin is {mine}", context.reinstall)
    if tags and not others and all(map(is_rolled_out, deployed.values())):
        yield ok(f"the cluster runs the plugin's own release, {mine}")


def _replicas(name: str, deployment: Json, namespace: str) -> CheckResults:
    wanted = (deployment.get("spec") or {}).get("replicas", 1)
    ready = (deployment.get("status") or {}).get("readyReplicas") or 0
    message = f"{name}: {ready} of {wanted} replicas ready"
    pods = FixCommand(f"kubectl describe pods -n {namespace} -l app.kubernetes.io/name={name}")
    if not wanted:
        scale = FixCommand(f"kubectl scale deployment {name} -n {namespace} --replicas=2")
        yield failure(f"{name} is scaled to 0 replicas", scale)
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


def _unfinished(deployment: Json, wanted: int) -> str:
    if deployment["status"].get("updatedReplicas", 0) < wanted:
        return "not all of them are of its newest template"
    return "its rollout did not end in time"


def _image(deployment: Json) -> str:
    template: Json = (deployment.get("spec") or {}).get("template") or {}
    containers = (template.get("spec") or {}).get("containers") or ()
    return next((str(one.get("image") or "") for one in containers), "")


def _tag(image: str) -> str:
    """The image's tag; empty if it has none or is selected by digest."""
    name, colon, tag = image.rpartition("/")[2].partition(":")
    return tag if name and colon and "@" not in image else ""
