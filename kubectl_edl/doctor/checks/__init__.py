"""What `kubectl edl doctor` looks at: one module a part of the installation, in this order."""

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Final

from edl.errors import EdlError, Forbidden, Unreachable
from kubectl_edl.cli.context import Connection
from kubectl_edl.doctor.checks import (
    api_version,
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
    Diagnosis,
    Examined,
    Look,
    Patient,
    Section,
    Verdict,
    failure,
    warning,
)

SECTIONS: Final[tuple[Section, ...]] = (
    Section("Kubernetes API", (Look("api", api_version.answers, vital=True),)),
    Section(
        "Installation",
        (
            Look("installed", installed_components.configurations, vital=True),
            Look("deployments", installed_components.deployments),
            Look("release", installed_components.release),
        ),
    ),
    Section(
        "Webhook",
        (
            Look("webhook-configuration", webhook_calls.configuration),
            Look("webhook-answers", webhook_calls.answers),
        ),
    ),
    Section(
        "Certificates",
        (
            Look("trust", webhook_trust.trusted),
            Look("certificate", webhook_trust.serving),
        ),
    ),
    Section(
        "Reconciler",
        (
            Look("leader", reconciler_health.leads),
            Look("settings", reconciler_health.settings),
            Look("writes", reconciler_health.writes),
        ),
    ),
    Section("Rights", (Look("rights", permissions.ours), Look("your-rights", permissions.yours))),
    Section(
        "Training jobs",
        (
            Look("stuck", stuck_jobs.stuck),
            Look("requests", stuck_jobs.unrequested),
            Look("never", stuck_jobs.never),
            Look("topology", stuck_jobs.topologies),
            Look("kubexec", stuck_jobs.consent),
            Look("keys", misplaced_keys.unheeded),
            Look("cronjobs", misplaced_keys.cron_jobs),
            Look("leftovers", orphans.orphans),
        ),
    ),
)

CERTIFICATES: Final = Section(
    "Certificates",
    (
        Look("installed", installed_components.configurations, vital=True),
        Look("trust", webhook_trust.trusted),
        Look("certificate", webhook_trust.serving),
        Look("webhook-answers", webhook_calls.answers),
    ),
)
"""What `certs verify` looks at: the last one is the API server's own word."""


def examine(connect: Callable[[], Connection], now: datetime) -> Iterator[Examined]:
    """Section after section; what hangs on a vital look that failed is not looked at."""
    try:
        patient = Patient(connect(), now)
    except EdlError as error:
        yield Examined(
            SECTIONS[0].title,
            (_named(SECTIONS[0].looks[0], _of_error(error)),),
            cut_short=True,
        )
        return
    for section in SECTIONS:
        examined = look_at(section, patient)
        yield examined
        if examined.cut_short:
            return


def look_at(section: Section, patient: Patient) -> Examined:
    """One section, up to a vital look that failed."""
    found: list[Diagnosis] = []
    for look in section.looks:
        said = [_named(look, one) for one in _carefully(look, patient)]
        found.extend(said)
        if look.vital and any(one.verdict is Verdict.FAILURE for one in said):
            return Examined(section.title, tuple(found), cut_short=True)
    return Examined(section.title, tuple(found))


def _carefully(look: Look, patient: Patient) -> Iterator[Diagnosis]:
    """A look that meets an error has found something, too."""
    try:
        yield from look.at(patient)
    except EdlError as error:
        yield _of_error(error)


def _of_error(error: EdlError) -> Diagnosis:
    """A right that its user lacks is no illness of the installation; an absent answer is one."""
    if isinstance(error, Forbidden) and error.status != 401:  # noqa: PLR2004 - HTTP
        return warning(f"not looked at: {error}", "run kubectl edl doctor as an administrator")
    if isinstance(error, Unreachable):
        return failure(str(error), "kubectl cluster-info; kubectl config get-contexts")
    return failure(str(error), "kubectl config view --minify")


def _named(look: Look, diagnosis: Diagnosis) -> Diagnosis:
    return diagnosis.named(look.name)
