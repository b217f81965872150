"""Keeps the serving certificate up to date while the server runs."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from certs.bundle import KeyPair
from edl.errors import EdlError
from edl.kube.problem_log import ProblemLog
from webhook.tls.serving_certificate import ServingCertificate, Source
from webhook.webhook_metrics import WebhookMetrics

_log: Final = logging.getLogger(__name__)
_UNREADY: Final = timedelta(seconds=1)


@dataclass(slots=True)
class CertificateReloader:
    """Loads the source's certificate periodically; logs each problem once."""

    certificate: ServingCertificate
    source: Source
    metrics: WebhookMetrics
    clock: Callable[[], datetime]
    _problems: ProblemLog = field(default_factory=partial(ProblemLog, _log))

    def start(self) -> None:
        """Loads the certificate for the first time, if it must exist. Raises EdlError."""
        self._load(self.source())

    async def keep(self, every: timedelta) -> None:
        """Reloads forever; more often while the pod is not ready for lack of a certificate."""
        while True:
            await self.refresh()
            waits = self.certificate.problem(self.clock())
            await asyncio.sleep((min(every, _UNREADY) if waits else every).total_seconds())

    async def refresh(self) -> None:
        """Reloads once; if the new certificate cannot be used, the old one stays in place."""
        try:
            # A thread waits for the disk or the API server; the context is changed on the loop.
            self._load(await asyncio.to_thread(self.source))
        except EdlError as error:
            self.metrics.certificate_failed()
            self._problems.report("%s: %s", self._outcome(), error)
        except Exception:  # noqa: BLE001 - the old certificate is served meanwhile
            self.metrics.certificate_failed()
            _log.exception("cannot look for a new certificate, keeping the current one")
        else:
            self._problems.clear()

    def _load(self, pair: KeyPair) -> None:
        if self.certificate.load(pair, self.clock()) and (loaded := self.certificate.loaded):
            self.metrics.certified_until(loaded.ends)
            _log.info("serving with a certificate until %s", loaded.ends.isoformat())

    def _outcome(self) -> str:
        if self.certificate.loaded is None:
            return "no certificate yet, refusing connections"
        return "keeping the current certificate"
