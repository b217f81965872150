"""The reconciler's metrics, for Prometheus."""

from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

_SECONDS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True, slots=True)
class Metrics:
    """Every metric; `decisions` by admitted, grown, shrunk, suspended; `failures` by error."""

    registry: CollectorRegistry
    decisions: Counter
    failures: Counter
    conflicts: Counter
    watches: Counter
    decide_seconds: Histogram
    leading: Gauge
    queued: Gauge
    jobs: Gauge

    @classmethod
    def fresh(cls) -> "Metrics":
        registry = CollectorRegistry()
        return cls(
            registry=registry,
            decisions=Counter(
                "edl_decisions", "Decisions carried out", ["decision"], registry=registry
            ),
            failures=Counter("edl_failures", "Writes that failed", ["kind"], registry=registry),
            conflicts=Counter(
                "edl_conflicts", "Writes decided again from fresh state", registry=registry
            ),
            watches=Counter("edl_watches", "Watches begun", ["kind"], registry=registry),
            decide_seconds=Histogram(
                "edl_decide_seconds",
                "Seconds to observe and decide once",
                buckets=_SECONDS,
                registry=registry,
            ),
            leading=Gauge("edl_leading", "1 while this process acts", registry=registry),
            queued=Gauge("edl_queued_jobs", "Training jobs that wait", registry=registry),
            jobs=Gauge("edl_jobs", "Training jobs known", registry=registry),
        )
