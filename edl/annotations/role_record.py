"""What the reconciler records about a role, in annotations of its Job."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from edl import contract
from edl.annotations import assigned_nodes, cleared_nodes, failed_attempts
from edl.annotations.last_change import read_reason
from edl.model import RoleRecord
from edl.model.causes.reason_codes import code_of
from edl.parsing.yaml_values import timestamp, whole

RECORDED: Final[Mapping[str, tuple[str, Callable[[str], Any]]]] = {
    contract.RESIZED_AT: ("resized_at", timestamp),
    contract.RESUMED_AT: ("resumed_at", timestamp),
    contract.REASON: ("reason", code_of),
    contract.MESSAGE: ("message", str),
    contract.LAST_CHANGE: ("last", read_reason),
    contract.HISTORY: ("history", str),
    contract.ASSIGNED_NODES: ("assigned", assigned_nodes.read),
    contract.BELOW_MIN_SINCE: ("below_min_since", timestamp),
    contract.REMOVED_PODS: ("removed", lambda text: frozenset(text.split(",")) - {""}),
    contract.CLEARED: ("cleared", cleared_nodes.read),
    contract.WRITE_REFUSED: ("refusals", failed_attempts.read_refusals),
    contract.CONSUMED_REQUEST: ("consumed", str),
    contract.DELAYED_UNTIL: ("delayed_until", timestamp),
    contract.EARLIER_RESTARTS: ("earlier_restarts", lambda text: whole(text) or 0),
    contract.FAILURES_AT_START: ("failures_at_start", lambda text: whole(text) or 0),
}
"""By annotation, the field of `RoleRecord` that it holds, and how its text is read."""


def read(annotations: Mapping[str, str]) -> RoleRecord:
    """The record in a Job's annotations; those that are missing or invalid read as empty."""
    return RoleRecord(
        **{
            field: read(annotations[name])
            for name, (field, read) in RECORDED.items()
            if name in annotations
        }
    )
