"""Times in annotations and conditions."""

from datetime import datetime


def timestamp(moment: datetime) -> str:
    """RFC 3339 in UTC, as Kubernetes writes times."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
