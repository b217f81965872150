"""The checks of `kubectl edl doctor`: one module per part of the installation, in this order."""

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Final

from edl.errors import EdlError, Forbidden, Unreachable
from kubectl_edl.cli.context import ClusterConnection
from kubectl_edl.doctor.checks import (
    api_version,
    configured_teams,
    installed_components,
    misplaced_keys,
    orphans,
    permissions,
    reconciler_health,
    stuck_jobs,
    webhook_calls,
    webhook_trust,
)
from kubectl_edl.doctor.checks.check import (
    Check,
    Diagnosis,
    Examined,
    Patient,
    Section,
    Verdict,
    failure,
    warning,
)

SECTIONS: Final[tuple[Section, ...]] = (
    Section("Kubernetes API", (Check("api", api_version.answers, vital=True),)),
    Section(
        "Installation",
        (
            Check("installed", installed_components.configurations, vital=True),
            Check("deployments", installed_components.deployments),
            Check("release", installed_components.release),
        ),
    ),
    Section(
        "Webhook",
        (
            Check("webhook-configuration", webhook_calls.configuration),
            Check("webhook-answers", webhook_calls.answers),
        ),
    ),
    Section(
        "Certificates",
        (
            Check("trust", webhook_trust.trusted),
            Check("certificate", webhook_trust.serving),
        ),
    ),
    Section(
        "Reconciler",
        (
            Check("leader", reconciler_health.leads),
            Check("settings", reconciler_health.settings),
            Check("provisioner", reconciler_health.provisioner),
            Check("writes", reconciler_health.writes),
            Check("teams", configured_teams.teams),
        ),
    ),
    Section("Rights", (Check("rights", permissions.ours), Check("your-rights", permissions.yours))),
    Section(
        "Training jobs",
        (
            Check("stuck", stuck_jobs.stuck),
            Check("requests", stuck_jobs.unrequested),
            Check("never", stuck_jobs.never),
            Check("topology", stuck_jobs.topologies),
            Check("kubexec", stuck_jobs.consent),
            Check("namespaces", misplaced_keys.namespaces),
            Check("default-priority", stuck_jobs.default_priorities),
            Check("keys", misplaced_keys.unheeded),
            Check("cronjobs", misplaced_keys.cron_jobs),
            Check("leftovers", orphans.orphans),
        ),
    ),
)

CERTIFICATES: Final = Section(
    "Certificates",
    (
        Check("installed", installed_components.configurations, vital=True),
        Check("trust", webhook_trust.trusted),
        Check("certificate", webhook_trust.serving),
        Check("webhook-answers", webhook_calls.answers),
    ),
)
"""The checks of `certs verify`; in the last one, the API server calls the webhook."""


def examine(connect: Callable[[], ClusterConnection], now: datetime) -> Iterator[Examined]:
    """Run the sections in order, up to the first in which a vital check fails."""
    try:
        patient = Patient(connect(), now)
    except EdlError as error:
        yield Examined(
            SECTIONS[0].title,
            (_of_error(error).named(SECTIONS[0].checks[0].name),),
            cut_short=True,
        )
        return
    for section in SECTIONS:
        examined = look_at(section, patient)
        yield examined
        if examined.cut_short:
            return


def look_at(section: Section, patient: Patient) -> Examined:
    """Run one section, up to a vital check that fails."""
    found: list[Diagnosis] = []
    for check in section.checks:
        said = [
            one.named(check.name, patient.connection.scope) for one in _carefully(check, patient)
        ]
        found.extend(said)
        if check.vital and any(one.verdict is Verdict.FAILURE for one in said):
            return Examined(section.title, tuple(found), cut_short=True)
    return Examined(section.title, tuple(found))


def _carefully(check: Check, patient: Patient) -> Iterator[Diagnosis]:
    """Run a check; an error becomes a finding."""
    try:
        yield from check.at(patient)
    except EdlError as error:
        yield _of_error(error)


def _of_error(error: EdlError) -> Diagnosis:
    """The finding for an error: a warning if the user lacks a right, otherwise a failure."""
    if isinstance(error, Forbidden) and error.status != 401:  # noqa: PLR2004 - HTTP
        return warning(f"not looked at: {error}", "run kubectl edl doctor as an administrator")
    if isinstance(error, Unreachable):
        return failure(str(error), "kubectl cluster-info; kubectl config get-contexts")
    return failure(str(error), "kubectl config view --minify")
