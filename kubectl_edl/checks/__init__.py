"""What `kubectl edl doctor` looks at: one module a part of the installation, in this order."""

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Final

from edl.errors import EdlError, Forbidden, Unreachable
from kubectl_edl.checks import (
    api,
    certificates,
    installation,
    keys,
    leftovers,
    reconciler,
    rights,
    training,
    webhook,
)
from kubectl_edl.checks.diagnosis import (
    Diagnosis,
    Examined,
    Look,
    Patient,
    Section,
    Verdict,
    failure,
    warning,
)
from kubectl_edl.world import Connection

SECTIONS: Final[tuple[Section, ...]] = (
    Section("Kubernetes API", (Look("api", api.answers, vital=True),)),
    Section(
        "Installation",
        (
            Look("installed", installation.configurations, vital=True),
            Look("deployments", installation.deployments),
            Look("release", installation.release),
        ),
    ),
    Section(
        "Webhook",
        (
            Look("webhook-configuration", webhook.configuration),
            Look("webhook-answers", webhook.answers),
        ),
    ),
    Section(
        "Certificates",
        (
            Look("trust", certificates.trusted),
            Look("certificate", certificates.serving),
        ),
    ),
    Section(
        "Reconciler",
        (
            Look("leader", reconciler.leads),
            Look("settings", reconciler.settings),
            Look("writes", reconciler.writes),
        ),
    ),
    Section("Rights", (Look("rights", rights.ours), Look("your-rights", rights.yours))),
    Section(
        "Training jobs",
        (
            Look("stuck", training.stuck),
            Look("requests", training.unrequested),
            Look("never", training.never),
            Look("topology", training.topologies),
            Look("kubexec", training.consent),
            Look("keys", keys.unheeded),
            Look("cronjobs", keys.cron_jobs),
            Look("leftovers", leftovers.orphans),
        ),
    ),
)

CERTIFICATES: Final = Section(
    "Certificates",
    (
        Look("installed", installation.configurations, vital=True),
        Look("trust", certificates.trusted),
        Look("certificate", certificates.serving),
        Look("webhook-answers", webhook.answers),
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
