"""The webhook's metrics: reviews by kind and outcome, their duration, the certificate's expiry."""

from datetime import datetime
from functools import partial
from typing import Final

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)

from webhook.admission_review import Review
from webhook.handler import ReviewOutcome

_KINDS: Final = frozenset({"Job", "Pod", "Namespace"})
_OPERATIONS: Final = frozenset({"CREATE", "UPDATE"})
_SECONDS: Final = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1, 5)


class WebhookMetrics:
    """The webhook's metrics, in a registry of their own."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        counter = partial(Counter, registry=self._registry)
        self._reviews = counter(
            "edl_webhook_reviews",
            "Admission reviews answered.",
            ("path", "kind", "operation", "outcome"),
        )
        self._rejected = counter(
            "edl_webhook_bad_requests", "Requests that were not an AdmissionReview.", ("status",)
        )
        self._seconds = Histogram(
            "edl_webhook_review_seconds",
            "Seconds from a complete request body to the response.",
            ("path",),
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._expiry = Gauge(
            "edl_webhook_certificate_expiry_timestamp_seconds",
            "Expiry of the serving certificate, in seconds since the Unix epoch.",
            registry=None,
        )
        """Registered with the first certificate: before it, a 0 would read as long expired."""
        self._certified = False
        self._loads = counter("edl_webhook_certificate_loads", "Serving certificates loaded.")
        self._certificate_failures = counter(
            "edl_webhook_certificate_failures",
            "Failed reloads of the certificate; the previous one stays in use.",
        )

    def reviewed(self, path: str, review: Review, outcome: ReviewOutcome, seconds: float) -> None:
        # Unknown kinds and operations become "other": clients choose them, and label values must be
        # few.
        kind = review.kind if review.kind in _KINDS else "other"
        operation = review.operation if review.operation in _OPERATIONS else "other"
        self._reviews.labels(path, kind, operation, outcome.value).inc()
        self._seconds.labels(path).observe(seconds)

    def rejected(self, status: int) -> None:
        self._rejected.labels(str(status)).inc()

    def certified_until(self, end: datetime) -> None:
        """Counts a loaded certificate, and records its expiry."""
        self._loads.inc()
        self._expiry.set(end.timestamp())
        if not self._certified:
            self._registry.register(self._expiry)
            self._certified = True

    def certificate_failed(self) -> None:
        self._certificate_failures.inc()

    def exposition(self) -> bytes:
        """All metrics in Prometheus' text format."""
        return generate_latest(self._registry)
