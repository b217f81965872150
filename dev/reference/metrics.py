"""docs/reference/metrics.md: every metric of both processes, read from their exposition."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Final

from prometheus_client import Metric, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from dev.reference import table
from edl.model import ClusterState, Team, Teams
from edl.planner.plan import Plan
from edl.quantities import CPU, Resources
from reconciler.leader_only_cluster import WriteOutcome
from reconciler.metrics.counters import Metrics
from reconciler.metrics.state_metrics import LastDecision
from reconciler.webhook_certificates import CertificateMetrics
from webhook.admission_review import Review
from webhook.handler import ReviewOutcome
from webhook.webhook_metrics import WebhookMetrics

_LONG_AGO: Final = datetime(2026, 1, 1, tzinfo=UTC)
_OTHERS: Final = ("process_", "python_")
_CREATED: Final = "_created"
"""The suffix of metrics that our processes do not serve: they switch these off when they start."""
_HEAD: Final = """\
# Metrics

Written by `python -m dev.reference`. No label has the name of a job, a node or a user as its value;
the label `team` has the names of the first hundred teams. Each process also exports the usual
`process_*` metrics: memory, processor time, open files. Only the leader exports gauges of the
cluster: query their `max`.
"""


def page() -> str:
    parts = (
        ("Reconciler", "`/metrics` of `--metrics-port`, 8081", _of_reconciler()),
        ("Webhook", "`/metrics` of `--probe-port`, 8080", _of_webhook()),
    )
    return _HEAD + "".join(
        f"\n## {title}\n\n{where}\n\n{_table(families)}" for title, where, families in parts
    )


def _table(families: Iterable[Metric]) -> str:
    rows = [
        (_name(family), family.type, _labels(family), family.documentation)
        for family in sorted(families, key=lambda family: family.name)
        if not (family.name.startswith(_OTHERS) or family.name.endswith(_CREATED))
    ]
    return table(("metric", "type", "labels", "what it says"), rows)


def _name(family: Metric) -> str:
    return f"`{family.name}{'_total' if family.type == 'counter' else ''}`"


def _labels(family: Metric) -> str:
    found = {label: None for sample in family.samples for label in sample.labels if label != "le"}
    return ", ".join(f"`{label}`" for label in found)


def _of_reconciler() -> Iterator[Metric]:
    """The reconciler's metrics; each with labels is set once, because it is not served before."""
    metrics = Metrics()
    CertificateMetrics(metrics.registry)
    teams = Teams.of([Team("vision", guaranteed=Resources.of({CPU: 1}))])
    metrics.latest.decided = LastDecision(ClusterState(_LONG_AGO, (), (), teams=teams), Plan())
    metrics.api.wrote(WriteOutcome("patch", "Job", "done", 0.0))
    metrics.api.watches.labels("Pod")
    metrics.api.event_age.labels("Pod")
    return iter(text_string_to_metric_families(generate_latest(metrics.registry).decode()))


def _of_webhook() -> Iterator[Metric]:
    metrics = WebhookMetrics()
    review = Review("", "Job", "CREATE", "", "", "", None, None)
    metrics.reviewed("/mutate", review, ReviewOutcome.PATCHED, 0.0)
    metrics.rejected(400)
    metrics.certified_until(_LONG_AGO)
    return iter(text_string_to_metric_families(metrics.exposition().decode()))
