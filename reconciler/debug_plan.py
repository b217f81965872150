"""`/debug/plan`: the last decision as JSON, for debugging."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import msgspec

from edl.model import JobKey
from reconciler.metrics.state_metrics import LastDecision


def last_plan(decided: LastDecision | None) -> bytes:
    """The plan and when it was decided; `plan` is null while another process leads."""
    decided_at = decided.state.observed_at.isoformat(timespec="milliseconds") if decided else None
    plan = _plain(decided.plan) if decided else None
    document = msgspec.json.encode({"decidedAt": decided_at, "plan": plan})
    return msgspec.json.format(document) + b"\n"


def _plain(value: Any) -> Any:  # noqa: ANN401 - JSON is what comes out
    """Structs as objects, jobs as NAMESPACE/NAME, durations in seconds."""
    if isinstance(value, JobKey):
        return str(value)
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, msgspec.Struct):
        return _plain(msgspec.structs.asdict(value))
    if isinstance(value, Mapping):
        return {name: _plain(entry) for name, entry in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(entry) for entry in value]
    return value
