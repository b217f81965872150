"""What `/metrics` tells: reviews by kind and outcome, how long they take, how long TLS is good."""

from datetime import datetime
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from webhook.judge import Outcome
from webhook.review import Review

_KINDS: Final = frozenset({"Job", "Pod", "Namespace"})
_OPERATIONS: Final = frozenset({"CREATE", "UPDATE"})
_SECONDS: Final = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1, 5)


class Measures:
    """The webhook's metrics, in a registry of their own."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._reviews = Counter(
            "edl_webhook_reviews",
            "Admission reviews answered.",
            ("path", "kind", "operation", "outcome"),
            registry=self._registry,
        )
        self._rejected = Counter(
            "edl_webhook_bad_requests",
            "Requests that were no admission review.",
            ("status",),
            registry=self._registry,
        )
        self._seconds = Histogram(
            "edl_webhook_review_seconds",
            "From the whole body to the whole answer.",
            ("path",),
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._expiry = Gauge(
            "edl_webhook_certificate_expiry_timestamp_seconds",
            "When the serving certificate ends, in seconds since 1970.",
            registry=self._registry,
        )

    def reviewed(self, path: str, review: Review, outcome: Outcome, seconds: float) -> None:
        # Names from outside become "other": a label must not grow with what people send.
        kind = review.kind if review.kind in _KINDS else "other"
        operation = review.operation if review.operation in _OPERATIONS else "other"
        self._reviews.labels(path, kind, operation, outcome.value).inc()
        self._seconds.labels(path).observe(seconds)

    def rejected(self, status: int) -> None:
        self._rejected.labels(str(status)).inc()

    def certified_until(self, end: datetime) -> None:
        self._expiry.set(end.timestamp())

    def exposition(self) -> bytes:
        """All metrics in Prometheus' text format."""
        return generate_latest(self._registry)
