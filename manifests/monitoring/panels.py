"""The dashboard's panels and their queries.

Only the leading reconciler serves gauges of the cluster, so `max` is the leader's value; a former
leader's values disappear after Prometheus' five minutes.
"""

from typing import Final

from manifests.monitoring.panel_model import Panel, Query, Row
from manifests.monitoring.team_panels import TEAMS


def _quantiles(metric: str, window: str, by: str = "") -> tuple[Query, ...]:
    labels = f"le, {by}" if by else "le"
    name = f"{{{{{by}}}}} " if by else ""
    return tuple(
        Query(
            f"histogram_quantile({part}, sum by ({labels}) (rate({metric}_bucket[{window}])))",
            f"{name}p{part * 100:g}",
        )
        for part in (0.5, 0.95, 0.99)
    )


def _per_minute(metric: str, label: str) -> tuple[Query, ...]:
    return (Query(f"60 * sum by ({label}) (rate({metric}[{_NOW}]))", f"{{{{{label}}}}}"),)


def _leaders(gauge: str, label: str) -> tuple[Query, ...]:
    return (Query(f"max by ({label}) ({gauge})", f"{{{{{label}}}}}"),)


def _part_of_allocatable(gauge: str) -> tuple[Query, ...]:
    whole = "max by (resource) (edl_cluster_allocatable)"
    return (Query(f"max by (resource) ({gauge}) / {whole}", "{{resource}}"),)


_NOW: Final = "$__rate_interval"
_HOUR: Final = "1h"
"""The range for rates of rare events, such as starts and resizes."""

ROWS: Final = (
    Row(
        "Queue",
        (
            Panel(
                "Jobs in the queue",
                "Training jobs that wait for their minimum, of them for new nodes, and all known.",
                "short",
                (
                    Query("max(edl_queued_jobs)", "queued"),
                    Query("max(edl_provisioning_jobs)", "wait for nodes"),
                    Query("max(edl_jobs)", "known"),
                ),
            ),
            Panel(
                "Longest wait",
                "How long the first in the queue has been waiting.",
                "s",
                (Query("max(edl_queue_oldest_seconds)", "oldest"),),
            ),
            Panel(
                "Wait until the first start",
                "Jobs that were started in the last hour.",
                "s",
                _quantiles("edl_queue_wait_seconds", _HOUR),
            ),
            Panel(
                "What jobs wait for",
                "Held jobs by reason; `kubectl edl explain JOB` has the sentence.",
                "short",
                _leaders("edl_held_jobs", "reason"),
                width=12,
                stacked=True,
            ),
            Panel(
                "Jobs by phase",
                "As `kubectl edl status` names them.",
                "short",
                _leaders("edl_jobs_by_phase", "phase"),
                width=12,
                stacked=True,
            ),
        ),
    ),
    TEAMS,
    Row(
        "Sizes",
        (
            Panel(
                "Replicas of started jobs",
                "Their size now, between the sums of min and max; ready are those that work.",
                "short",
                _leaders("edl_replicas", "bound"),
            ),
            Panel(
                "Decisions a minute",
                "Starts, growths, shrinks, suspensions and evacuations that were carried out.",
                "short",
                _per_minute("edl_decisions_total", "decision"),
            ),
            Panel(
                "Replicas that came and left, a minute",
                "By the decision that moved them.",
                "short",
                _per_minute("edl_resized_replicas_total", "decision"),
            ),
            Panel(
                "Resize stall",
                "From the patch until pods of the new size work and launchers know them; p95 of "
                "the last hour.",
                "s",
                (_quantiles("edl_resize_stall_seconds", _HOUR, "decision")[1],),
                width=12,
            ),
            Panel(
                "Nodes",
                "Those on which pods may be placed, and the others.",
                "short",
                (Query("max by (schedulable) (edl_nodes)", "schedulable: {{schedulable}}"),),
                width=12,
            ),
        ),
    ),
    Row(
        "Utilisation",
        (
            Panel(
                "Requested of allocatable",
                "Schedulable nodes, by resource.",
                "percentunit",
                _part_of_allocatable("edl_cluster_requested"),
                width=12,
            ),
            Panel(
                "Thereof by training jobs",
                "What the pods of training jobs request of all that is allocatable.",
                "percentunit",
                _part_of_allocatable("edl_training_requested"),
                width=12,
            ),
        ),
    ),
    Row(
        "Reconciler",
        (
            Panel("Leaders", "One, always.", "short", (Query("sum(edl_leading)", "leaders"),)),
            Panel(
                "Time to decide",
                "To observe the cluster and decide about it once.",
                "s",
                _quantiles("edl_decide_seconds", _NOW),
            ),
            Panel(
                "From event to decision",
                "How old the first news is that a decision is made from.",
                "s",
                _quantiles("edl_event_to_decision_seconds", _NOW),
            ),
            Panel(
                "Writes a second",
                "By what became of them; conflicts are decided again.",
                "short",
                (Query(f"sum by (outcome) (rate(edl_writes_total[{_NOW}]))", "{{outcome}}"),),
            ),
            Panel(
                "Time to write",
                "p95, by verb: how fast the API server answers.",
                "s",
                (_quantiles("edl_write_seconds", _NOW, "verb")[1],),
            ),
            Panel(
                "Failures a minute",
                "Writes by error, whole rounds, and jobs that were left out of one.",
                "short",
                _per_minute("edl_failures_total", "kind"),
            ),
            Panel(
                "Time to carry out a decision",
                "All its writes together.",
                "s",
                _quantiles("edl_act_seconds", _NOW),
            ),
            Panel(
                "Watches begun a minute",
                "Each ends by itself after some minutes; many more mean a connection that breaks.",
                "short",
                _per_minute("edl_watches_total", "kind"),
            ),
            Panel(
                "Memory",
                "Resident, of each process that leads or stands by.",
                "bytes",
                (
                    Query(
                        "process_resident_memory_bytes and on (instance) edl_leading",
                        "{{instance}}",
                    ),
                ),
            ),
        ),
    ),
    Row(
        "Webhook",
        (
            Panel(
                "Reviews a second",
                "By outcome; failed ones are our own errors.",
                "short",
                (
                    Query(
                        f"sum by (outcome) (rate(edl_webhook_reviews_total[{_NOW}]))",
                        "{{outcome}}",
                    ),
                ),
            ),
            Panel(
                "Time for a review",
                "From the whole question to the whole answer.",
                "s",
                _quantiles("edl_webhook_review_seconds", _NOW),
            ),
            Panel(
                "Bad requests a minute",
                "Malformed requests: not from the API server, or incomplete.",
                "short",
                (
                    Query(
                        f"60 * (sum(rate(edl_webhook_bad_requests_total[{_NOW}])) or vector(0))",
                        "bad",
                    ),
                ),
            ),
            Panel(
                "Certificate: days left",
                "The earliest expiry of all replicas; renewed when a third of its life is left.",
                "d",
                (
                    Query(
                        "(min(edl_webhook_certificate_expiry_timestamp_seconds) - time()) / 86400",
                        "certificate",
                    ),
                ),
            ),
            Panel(
                "Authorities and new certificates",
                "Two authorities are trusted while one follows another.",
                "short",
                (
                    Query("max(edl_trusted_authorities)", "trusted"),
                    Query("sum(increase(edl_webhook_certificate_loads_total[1h]))", "new"),
                    Query("sum(increase(edl_certificate_failures_total[1h]))", "failures"),
                    Query("sum(increase(edl_webhook_certificate_failures_total[1h]))", "unread"),
                ),
            ),
            Panel(
                "Memory of the webhook",
                "Resident, of each replica.",
                "bytes",
                (
                    Query(
                        "process_resident_memory_bytes"
                        " and on (instance) edl_webhook_certificate_expiry_timestamp_seconds",
                        "{{instance}}",
                    ),
                ),
            ),
        ),
    ),
)
PANELS: Final = tuple(panel for row in ROWS for panel in row.panels)
