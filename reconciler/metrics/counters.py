"""The reconciler's metrics, for Prometheus. No label has the name of a job."""

from functools import partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector

from reconciler.leader_only_cluster import WriteOutcome
from reconciler.metrics.state_metrics import LastDecisionCollector

RESIZES = ("admitted", "scaled_up", "scaled_down")
DECISIONS = (*RESIZES, "suspended", "evacuated", "replaced")
_SECONDS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_STALLS = (0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0)
_WAITS = (1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 14400.0, 43200.0, 86400.0, 604800.0)


class DecisionMetrics:
    """Metrics of rounds and their decisions.

    `decisions` is labelled by `DECISIONS`; `replicas` and `stall_seconds` by `RESIZES`.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        counter, histogram = partial(_counter, registry), partial(_histogram, registry)
        self.decisions = counter(
            "edl_decisions", f"Decisions carried out: {', '.join(DECISIONS)}.", "decision"
        )
        self.replicas = counter("edl_resized_replicas", "Replicas added or removed.", "decision")
        self.rounds = counter("edl_rounds", "Decisions about the whole cluster.")
        self.decide_seconds = histogram("edl_decide_seconds", "Seconds to observe and decide once.")
        self.latency_seconds = histogram(
            "edl_event_to_decision_seconds",
            "Seconds from the first event to the decision that considers it.",
        )
        self.act_seconds = histogram(
            "edl_act_seconds", "Seconds that a round waits for its writes."
        )
        self.queue_wait_seconds = histogram(
            "edl_queue_wait_seconds",
            "Seconds from a job's creation to its first start.",
            buckets=_WAITS,
        )
        self.stall_seconds = histogram(
            "edl_resize_stall_seconds",
            "Seconds from a resize patch until all pods are ready and listed in host files.",
            "decision",
            buckets=_STALLS,
        )
        self.provisioning_seconds = histogram(
            "edl_provisioning_seconds",
            "Seconds from a job's first request for nodes to its start.",
            buckets=_WAITS,
        )
        self.provisioning_failures = counter(
            "edl_provisioning_failures", "Requests for nodes that failed or timed out."
        )
        # Series that exist from the start: a rate needs the 0 before the first 1.
        for word in DECISIONS:
            self.decisions.labels(word)
        for word in RESIZES:
            self.stall_seconds.labels(word)
            self.replicas.labels(word)


class ApiMetrics:
    """Metrics of watches and writes: `failures` by error, `writes` by verb, kind and outcome."""

    def __init__(self, registry: CollectorRegistry) -> None:
        counter = partial(_counter, registry)
        self.failures = counter("edl_failures", "Writes and rounds that failed.", "kind")
        self.conflicts = counter("edl_conflicts", "Writes decided again after a conflict.")
        self.watches = counter("edl_watches", "Watches started.", "kind")
        self.event_age = Gauge(
            "edl_last_event_age_seconds",
            "Seconds since the last list, event or bookmark; bookmarks come once per minute.",
            ("kind",),
            registry=registry,
        )
        self.writes = counter(
            "edl_writes", "Write requests to the API server.", "verb", "kind", "outcome"
        )
        self.write_seconds = _histogram(
            registry, "edl_write_seconds", "Seconds that a write request took.", "verb"
        )
        for word in ("round", "steps"):  # as for decisions
            self.failures.labels(word)

    def wrote(self, write: WriteOutcome) -> None:
        self.writes.labels(write.verb, write.kind, write.outcome).inc()
        self.write_seconds.labels(write.verb).observe(write.seconds)


class StateMetrics:
    """Gauges that are set while this process leads."""

    def __init__(self, registry: CollectorRegistry) -> None:
        gauge = partial(Gauge, registry=registry)
        self.leading = gauge("edl_leading", "1 while this process leads.")
        self.teams_document_invalid = gauge(
            "edl_teams_document_invalid",
            "1 while the ConfigMap edl-teams is invalid: the previous teams apply.",
        )


class Metrics:
    """All metrics of the reconciler."""

    def __init__(self) -> None:
        self.registry, self.latest = CollectorRegistry(), LastDecisionCollector()
        self.registry.register(self.latest)
        ProcessCollector(registry=self.registry)
        self.decided = DecisionMetrics(self.registry)
        self.api = ApiMetrics(self.registry)
        self.state = StateMetrics(self.registry)


def _counter(registry: CollectorRegistry, name: str, text: str, *labels: str) -> Counter:
    return Counter(name, text, labels, registry=registry)


def _histogram(
    registry: CollectorRegistry,
    name: str,
    text: str,
    *labels: str,
    buckets: tuple[float, ...] = _SECONDS,
) -> Histogram:
    return Histogram(name, text, labels, buckets=buckets, registry=registry)
