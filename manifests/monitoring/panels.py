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
                "Queued training jobs, those of them that requested nodes, and all training jobs.",
                "short",
                (
                    Query("max(edl_queued_jobs)", "queued"),
                    Query("max(edl_provisioning_jobs)", "wait for nodes"),
                    Query("max(edl_jobs)", "all"),
                ),
            ),
            Panel(
                "Longest wait",
                "Without jobs that existing nodes or quotas never admit.",
                "s",
                (Query("max(edl_queue_oldest_seconds)", "oldest"),),
            ),
            Panel(
                "Wait until the first start",
                "Jobs that first started in the last hour.",
                "s",
                _quantiles("edl_queue_wait_seconds", _HOUR),
            ),
            Panel(
                "Reasons of waiting jobs",
                "Queued jobs and jobs that cannot scale up; see `kubectl edl explain JOB`.",
                "short",
                _leaders("edl_waiting_jobs", "reason"),
                width=12,
                stacked=True,
            ),
            Panel(
                "Jobs by phase",
                "Phases as in `kubectl edl status`.",
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
                "Their current size and their ready replicas, between the sums of min and max.",
                "short",
                _leaders("edl_replicas", "bound"),
            ),
            Panel(
                "Decisions per minute",
                "Executed starts, scale-ups, scale-downs, suspensions and evacuations.",
                "short",
                _per_minute("edl_decisions_total", "decision"),
            ),
            Panel(
                "Replicas added and removed per minute",
                "By decision.",
                "short",
                _per_minute("edl_resized_replicas_total", "decision"),
            ),
            Panel(
                "Resize stall",
                "From a resize patch until all pods are ready and listed in host files; p95 of the "
                "last hour.",
                "s",
                (_quantiles("edl_resize_stall_seconds", _HOUR, "decision")[1],),
                width=12,
            ),
            Panel(
                "Nodes",
                "Schedulable and unschedulable nodes.",
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
                "Requested",
                "Fraction of the allocatable resources of schedulable nodes.",
                "percentunit",
                _part_of_allocatable("edl_cluster_requested"),
                width=12,
            ),
            Panel(
                "Requested by training jobs",
                "Fraction of the allocatable resources that pods of training jobs request.",
                "percentunit",
                _part_of_allocatable("edl_training_requested"),
                width=12,
            ),
        ),
    ),
    Row(
        "Reconciler",
        (
            Panel("Leaders", "Always one.", "short", (Query("sum(edl_leading)", "leaders"),)),
            Panel(
                "Time to decide",
                "Time to observe the cluster and decide once.",
                "s",
                _quantiles("edl_decide_seconds", _NOW),
            ),
            Panel(
                "From event to decision",
                "Age of the first event that a decision considers.",
                "s",
                _quantiles("edl_event_to_decision_seconds", _NOW),
            ),
            Panel(
                "Writes per second",
                "By outcome; conflicts are decided again.",
                "short",
                (Query(f"sum by (outcome) (rate(edl_writes_total[{_NOW}]))", "{{outcome}}"),),
            ),
            Panel(
                "Time to write",
                "p95 by verb: latency of the API server.",
                "s",
                (_quantiles("edl_write_seconds", _NOW, "verb")[1],),
            ),
            Panel(
                "Failures per minute",
                "Failed writes by error, failed rounds, and jobs that a round skipped.",
                "short",
                _per_minute("edl_failures_total", "kind"),
            ),
            Panel(
                "Time to carry out a decision",
                "All writes of one decision.",
                "s",
                _quantiles("edl_act_seconds", _NOW),
            ),
            Panel(
                "Watches started per minute",
                "Watches end after some minutes by themselves; more mean broken connections.",
                "short",
                _per_minute("edl_watches_total", "kind"),
            ),
            Panel(
                "Memory",
                "Resident memory of each replica.",
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
                "Reviews per second",
                "By outcome; failed: internal errors of the webhook.",
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
                "From a complete request body to the response.",
                "s",
                _quantiles("edl_webhook_review_seconds", _NOW),
            ),
            Panel(
                "Bad requests per minute",
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
                "CAs and new certificates",
                "Two CAs are trusted during a rotation.",
                "short",
                (
                    Query("max(edl_trusted_authorities)", "trusted"),
                    Query("sum(increase(edl_webhook_certificate_loads_total[1h]))", "new"),
                    Query("sum(increase(edl_certificate_failures_total[1h]))", "failures"),
                    Query(
                        "sum(increase(edl_webhook_certificate_failures_total[1h]))",
                        "failed reloads",
                    ),
                ),
            ),
            Panel(
                "Memory of the webhook",
                "Resident memory of each replica.",
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
