"""Checks that a reconciler leads, and reads the settings that it publishes."""

from datetime import timedelta
from typing import Final

from edl.errors import Forbidden, NotFound
from edl.kube.auth.access_review import AccessRight
from edl.kube.cluster import ListOptions
from edl.model import ObjectRef
from edl.planner.decision_limits import Autoscaler, Provisioner
from edl.writes import Json
from kubectl_edl.cli.suggested_commands import FixCommand
from kubectl_edl.client.reconciler_lease import Lead, leadership
from kubectl_edl.client.reconciler_settings import deciding
from kubectl_edl.doctor.checks.check import (
    AS_ADMINISTRATOR,
    CheckContext,
    CheckResults,
    failure,
    ok,
    warning,
)
from kubectl_edl.output.age import duration

_LOGS: Final = "kubectl logs -n {namespace} -l app.kubernetes.io/name=edl-reconciler --tail 50"
_PODS: Final = "kubectl get pods -n {namespace} -l app.kubernetes.io/name=edl-reconciler -o wide"
_STATUS: Final = ObjectRef("ConfigMap", "kube-system", "cluster-autoscaler-status")
_LEASE: Final = ObjectRef("Lease", "kube-system", "cluster-autoscaler")
"""Two objects that cluster-autoscaler writes while it runs."""


def reconciler_remedy(
    context: CheckContext, outside: str = "look at its log", inside: str = ""
) -> str:
    """Where to look or what to do; `outside` applies if no Deployment runs the reconciler."""
    namespace = context.system_namespace
    log = FixCommand(_LOGS.format(namespace=namespace))
    try:
        if "edl-reconciler" in context.components:
            return inside or log
        if not context.outside_webhook:
            return context.installer.again
    except Forbidden:
        right = AccessRight("get", "pods/log", namespace=namespace)
        # Where the reconciler runs is unknown, and `doctor` of an administrator knows it.
        return (inside or log) if context.may(right) else AS_ADMINISTRATOR
    return (
        f"no Deployment edl-reconciler in namespace {namespace}: the reconciler "
        f"runs outside this cluster; {outside} on its host"
    )


def leads(context: CheckContext) -> CheckResults:
    """Check the Lease. Raises Forbidden if the user may not read it."""
    lease, here = leadership(context.connection, context.now), context.system_namespace
    if lease.refusal:
        raise lease.refusal
    if lease.stalled:
        what = {
            Lead.ABSENT: "no reconciler has ever led:",
            Lead.EXPIRED: f"no reconciler leads, the last was {lease.holder}:",
        }.get(lease.lead, "no reconciler leads:")
        yield failure(f"{what} {lease.why}", reconciler_remedy(context, "start it"))
    elif lease.clock_is_ahead:
        ahead = duration(-lease.silence)
        yield warning(
            f"{lease.holder} leads, its clock {ahead} ahead of the API server's",
            reconciler_remedy(
                context,
                "set the clock by NTP",
                FixCommand(f"{_PODS.format(namespace=here)}  # set the clock of its node by NTP"),
            ),
        )
    elif lease.overdue:
        ago, lasts = duration(lease.silence), duration(lease.lasts)
        yield warning(
            f"{lease.holder} leads, and is overdue: it renewed its Lease {ago} ago, for {lasts}",
            reconciler_remedy(context),
        )
    else:
        ago = duration(max(lease.silence, timedelta()))
        yield ok(f"{lease.holder} leads, and renewed its Lease {ago} ago")


def settings(context: CheckContext) -> CheckResults:
    """Check that settings are published, which `plan` and `explain` need. Raises Forbidden."""
    lease = leadership(context.connection, context.now)
    if lease.refusal:
        raise lease.refusal
    by = deciding(context.connection, context.now)
    if by.source == "reconciler" and not by.settings.unknown:
        decides = "the last leader decided" if by.stalled else "it decides"
        yield ok(f"{decides} by {by.settings}")
        return
    if by.stalled:
        fix = reconciler_remedy(context, "start it")
        yield warning("its settings are unknown while no reconciler leads", fix)
        return
    hints = " ".join(hint.removeprefix("hint: ") for hint in by.hints)
    yield warning(f"its settings are unknown: {hints}", context.installer.again)


def autoscaler(context: CheckContext) -> CheckResults:
    """Compare detection with what cluster-autoscaler writes, as far as the user may read that."""
    by = deciding(context.connection, context.now)
    if by.settings.limits.autoscaler is not Autoscaler.DETECT:
        return
    if _served(context, "NodePool"):
        return
    requests = _served(context, "ProvisioningRequest")
    if requests is None:
        yield from _undetected(context)
    elif not (any(map(_is_answered, requests)) or _autoscaler_writes(context)):
        yield warning(
            "the API server serves ProvisioningRequest, so the reconciler expects new nodes "
            "and scales up on needed nodes only; nothing else shows an autoscaler",
            "if none adds nodes, set the value reconciler.planning.autoscaler to none "
            "(--autoscaler=none), else to present",
        )


def _undetected(context: CheckContext) -> CheckResults:
    if context.find(_STATUS):
        yield warning(
            f"ConfigMap {_STATUS.namespace}/{_STATUS.name} shows a cluster-autoscaler, and the "
            "reconciler detects none: queued jobs get no nodes",
            "set the value reconciler.planning.autoscaler to present (--autoscaler=present)",
        )


def _autoscaler_writes(context: CheckContext) -> bool:
    return any(map(context.find, (_STATUS, _LEASE)))


def _is_answered(request: Json) -> bool:
    return bool((request.get("status") or {}).get("conditions"))


def _served(context: CheckContext, kind: str) -> list[Json] | None:
    """All objects of a kind; None if the API server does not serve it. Raises Forbidden."""
    try:
        return context.cluster.list(ListOptions(kind)).manifests()
    except NotFound:
        return None


def provisioner(context: CheckContext) -> CheckResults:
    """Check that the API server serves ProvisioningRequests if the reconciler creates them."""
    by = deciding(context.connection, context.now)
    if by.settings.limits.provisioning.provisioner is not Provisioner.REQUEST:
        return
    try:
        next(context.cluster.pages(ListOptions("ProvisioningRequest")))
    except NotFound:
        yield warning(
            f"it requests nodes by --provisioner={Provisioner.REQUEST}, and the API server serves "
            "no ProvisioningRequest: queued jobs get no nodes",
            "start cluster-autoscaler with --enable-provisioning-requests and its "
            f"CustomResourceDefinition, or the reconciler with --provisioner={Provisioner.PODS}",
        )
        return
    yield ok("it requests nodes by ProvisioningRequests, which the API server serves")
