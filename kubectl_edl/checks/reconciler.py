"""Whether somebody decides, and by what."""

from typing import Final

from edl import contract
from kubectl_edl.checks.diagnosis import Findings, Patient, failure, warning, well
from kubectl_edl.deciding import Asked, deciding
from kubectl_edl.leadership import Lead, leadership
from kubectl_edl.printers.age import duration

LOGS: Final = (
    f"kubectl logs -n {contract.SYSTEM_NAMESPACE} "
    "-l app.kubernetes.io/name=edl-reconciler --tail 50"
)


def leads(patient: Patient) -> Findings:
    """Raises Forbidden where the Lease may not be read."""
    found = leadership(patient.connection, patient.now)
    if found.refusal:
        raise found.refusal
    if found.lead is Lead.ABSENT:
        yield failure(f"no reconciler has ever led: {found.why}", LOGS)
    elif found.lead is Lead.EXPIRED:
        yield failure(f"no reconciler leads: {found.holder} is silent, {found.why}", LOGS)
    elif found.stalled:
        yield failure(f"no reconciler leads: {found.why}", LOGS)
    elif found.clock_is_ahead:
        ahead = duration(-found.silence)
        yield warning(
            f"{found.holder} leads, its clock {ahead} ahead of the API server's",
            "date -u; kubectl get nodes  # set the clocks by NTP",
        )
    else:
        yield well(f"{found.holder} leads, and renewed its Lease {duration(found.silence)} ago")


def settings(patient: Patient) -> Findings:
    """Whoever plans and explains must know by what it is decided."""
    found = deciding(patient.connection, Asked(), patient.now)
    if found.source == "reconciler" and not found.settings.unknown:
        yield well(f"it decides by {found.settings}")
        return
    hints = " ".join(hint.removeprefix("hint: ") for hint in found.hints)
    yield warning(f"how it decides is not known: {hints}", "kubectl edl upgrade")
