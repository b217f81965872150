"""Whether somebody decides, and by what."""

from datetime import datetime, timedelta
from typing import Final

from edl import contract
from edl.errors import NotFound
from edl.kube.facts import time
from kubectl_edl.checks.diagnosis import Findings, Patient, failure, warning, well
from kubectl_edl.deciding import LEASE, Asked, deciding
from kubectl_edl.printers.age import duration

LOGS: Final = (
    f"kubectl logs -n {contract.SYSTEM_NAMESPACE} "
    "-l app.kubernetes.io/name=edl-reconciler --tail 50"
)
_SKEW: Final = timedelta(minutes=1)
"""Clocks may differ; more than that, and times in tables mean nothing."""
_WHERE: Final = f"Lease {LEASE.namespace}/{LEASE.name}"


def leads(patient: Patient) -> Findings:
    try:
        spec = patient.connection.cluster.get(LEASE).get("spec") or {}
    except NotFound:
        yield failure(f"no reconciler has ever led: there is no {_WHERE}", LOGS)
        return
    holder, renewed = spec.get("holderIdentity") or "", time(spec.get("renewTime") or "")
    if not holder:
        yield failure(f"nobody leads: {_WHERE} was given back", LOGS)
    elif renewed is None:
        yield failure(f"nobody leads: {_WHERE} was never renewed", LOGS)
    else:
        yield from _renewed(holder, renewed, patient.now, spec.get("leaseDurationSeconds") or 15)


def _renewed(holder: str, renewed: datetime, now: datetime, lasts: int) -> Findings:
    silence = now - renewed
    if silence < -_SKEW:
        yield warning(
            f"{holder} leads, by a clock {duration(-silence)} ahead of this machine's",
            "date -u; kubectl get nodes  # set the clocks by NTP",
        )
    elif silence > timedelta(seconds=lasts) + _SKEW:
        yield failure(f"nobody leads: {holder} was last heard {duration(silence)} ago", LOGS)
    else:
        yield well(f"{holder} leads, and renewed its Lease {duration(silence)} ago")


def settings(patient: Patient) -> Findings:
    """Whoever plans and explains must know by what it is decided."""
    found = deciding(patient.connection, Asked(), patient.now)
    if found.source == "reconciler" and not found.settings.unknown:
        yield well(f"it decides by {found.settings}, and says so")
        return
    hints = " ".join(hint.removeprefix("hint: ") for hint in found.hints)
    yield warning(f"how it decides is not known: {hints}", "kubectl edl upgrade")
