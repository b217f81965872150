"""The leader issues and renews the webhook's certificates: the webhook has no CA key."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Final

import click
from prometheus_client import CollectorRegistry, Counter, Gauge

from certs.bundle import each_certificate
from certs.issue import LIFETIMES, Lifetimes
from certs.rotation_loop import RotationTimings
from certs.secrets import Installed
from certs.subject_names import is_address, is_host
from certs.verify import facts_of
from edl.errors import EdlError
from edl.kube.duration_range import DurationRange
from edl.kube.option_group import option, option_group
from edl.kube.problem_log import ProblemLog
from edl.model import ObjectRef
from reconciler.job_backoff import AFTER_FAILURE
from reconciler.leader_only_cluster import NotLeading

_log: Final = logging.getLogger(__name__)
_DAYS: Final = click.FloatRange(0, 36_500, min_open=True)
_REFRESH: Final = DurationRange(86_400, above_zero=True)


def _checked(_: click.Context, __: click.Parameter, names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        if not is_host(name) and not is_address(name):
            raise click.BadParameter(f'"{name}" is neither a DNS name nor an IP address')
    return names


@option_group
class CertificateOptions:
    """The reconciler's options about the webhook's certificates."""

    certificates: bool = option(
        default=False,
        help="Issue the webhook's certificate, and register its CA with the API server.",
    )
    certificate_name: tuple[str, ...] = option(
        metavar="NAME|ADDRESS",
        callback=_checked,
        help="Name in the certificate besides those of the webhook's Service. Repeatable.",
    )
    certificate_days: float = option(
        type=_DAYS,
        metavar="DAYS",
        default=LIFETIMES.serving.days,
        help="Lifetime of the certificate; it is renewed when a third is left.",
    )
    authority_days: float = option(
        type=_DAYS,
        metavar="DAYS",
        default=LIFETIMES.authority.days,
        help="Lifetime of the CA; a new CA is trusted before it issues certificates.",
    )
    certificate_refresh: float = option(
        type=_REFRESH,
        default="10s",
        fallback=10.0,
        help="Interval between checks; also the wait before a new CA issues certificates.",
    )

    @property
    def timings(self) -> RotationTimings:
        authority = timedelta(days=self.authority_days)
        lifetimes = Lifetimes(authority, serving=timedelta(days=self.certificate_days))
        return RotationTimings(lifetimes, timedelta(seconds=self.certificate_refresh))


class CertificateMetrics:
    """Metrics of the certificates.

    Gauges are 0 if another process leads, or if another issuer manages the certificates.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        gauge = partial(Gauge, registry=registry)
        self._authorities = gauge(
            "edl_trusted_authorities",
            "CAs that the API server trusts for the webhook; 2 during a rotation.",
        )
        self._expiry = gauge(
            "edl_authority_expiry_timestamp_seconds",
            "Expiry of the CA of the webhook's certificate, in seconds since the Unix epoch.",
        )
        self._missing = gauge(
            "edl_webhook_configurations_missing",
            "Webhook configurations that do not exist: their objects are not reviewed.",
        )
        self.failures = Counter(
            "edl_certificate_failures",
            "Failed attempts to renew the webhook's certificate.",
            registry=registry,
        )

    def keeps(self, installed: Installed) -> None:
        authorities = each_certificate(installed.issuer.trust)
        self._authorities.set(len(authorities))
        self._expiry.set(facts_of(authorities[0]).ends.timestamp())
        self._missing.set(len(installed.absent))

    def follows(self) -> None:
        self._missing.set(0)
        self._authorities.set(0)
        self._expiry.set(0)


@dataclass(slots=True)
class WebhookCertificates:
    """Renews certificates while this process leads; retries with back-off."""

    rotation: Callable[[datetime], Installed]
    gauges: CertificateMetrics
    clock: Callable[[], datetime]
    every: timedelta
    _failures: int = 0
    _problems: ProblemLog = field(default_factory=partial(ProblemLog, _log))
    _missing: tuple[ObjectRef, ...] = ()

    def lead(self) -> float:
        """Checks once and changes what is due; returns the seconds until the next check."""
        try:
            installed = self.rotation(self.clock())
        except NotLeading:
            raise
        except EdlError as error:
            return self._failed(str(error))
        except Exception as error:  # noqa: BLE001 - the next run may succeed
            _log.exception("renewing the webhook's certificate failed")
            return self._failed(type(error).__name__)
        self.gauges.keeps(installed)
        self._tell(installed.absent)
        if self._problems.clear():
            _log.info("the webhook's certificate is maintained again")
        self._failures = 0
        return self.every.total_seconds()

    def follow(self) -> None:
        self.gauges.follows()

    def _tell(self, missing: tuple[ObjectRef, ...]) -> None:
        """Logs when a configuration disappears, and when all exist again."""
        if missing != self._missing:
            names = " and ".join(f"{target.kind} {target.name}" for target in missing)
            if names:
                _log.warning("missing %s: apply the installation again", names)
            else:
                _log.info("all webhook configurations exist")
        self._missing = missing

    def _failed(self, trouble: str) -> float:
        self.gauges.failures.inc()
        self._failures += 1
        self._problems.report("cannot maintain the webhook's certificate: %s", trouble)
        return AFTER_FAILURE.after(self._failures)
