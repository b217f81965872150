"""What the reconciler records about a role, in annotations of its Job."""

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, NamedTuple

from edl import contract
from edl.annotations import assigned_nodes, cleared_nodes, failed_attempts
from edl.annotations.json_text import json_text
from edl.annotations.last_change import read_reason
from edl.annotations.time_text import timestamp
from edl.model import RoleRecord
from edl.model.causes.reason_codes import code_of
from edl.parsing import yaml_values

_LONGEST_NAMES: Final = 64 * 1024


class RecordField(NamedTuple):
    """A field of `RoleRecord`, and how its annotation is read and written."""

    name: str
    read: Callable[[str], Any]
    write: Callable[[Any], str] = str


def _time(name: str) -> RecordField:
    return RecordField(name, yaml_values.timestamp, timestamp)


def _number(name: str) -> RecordField:
    return RecordField(name, lambda text: yaml_values.whole(text) or 0)


def _names_text(names: Collection[str]) -> str:
    """The names; those beyond 64 KiB are left to the next plan."""
    text = ",".join(sorted(names))
    return text if len(text) <= _LONGEST_NAMES else text[:_LONGEST_NAMES].rpartition(",")[0]


RECORDED: Final[Mapping[str, RecordField]] = {
    contract.RESIZED_AT: _time("resized_at"),
    contract.RESUMED_AT: _time("resumed_at"),
    contract.REASON: RecordField("reason", code_of),
    contract.MESSAGE: RecordField("message", str),
    contract.LAST_CHANGE: RecordField("last", read_reason, json_text),
    contract.HISTORY: RecordField("history", str),
    contract.ASSIGNED_NODES: RecordField("assigned", assigned_nodes.read, assigned_nodes.text),
    contract.BELOW_MIN_SINCE: _time("below_min_since"),
    contract.REMOVED_PODS: RecordField(
        "removed", lambda text: frozenset(text.split(",")) - {""}, _names_text
    ),
    contract.CLEARED: RecordField("cleared", cleared_nodes.read, json_text),
    contract.WRITE_REFUSED: RecordField("refusals", failed_attempts.read_refusals, json_text),
    contract.CONSUMED_REQUEST: RecordField("consumed", str),
    contract.DELAYED_UNTIL: _time("delayed_until"),
    contract.EARLIER_RESTARTS: _number("earlier_restarts"),
    contract.FAILURES_AT_START: _number("failures_at_start"),
}
"""The fields by annotation."""
_ANNOTATIONS: Final = {field.name: name for name, field in RECORDED.items()}


def read(annotations: Mapping[str, str]) -> RoleRecord:
    """The record in a Job's annotations; those that are missing or invalid read as empty."""
    return RoleRecord(
        **{
            field.name: field.read(annotations[name])
            for name, field in RECORDED.items()
            if name in annotations
        }
    )


def recorded(**fields: object) -> dict[str, str | None]:
    """The annotations with these fields of a record; those of None or an empty text are removed.

    `dev.mypy_structs` types the fields.
    """
    texts = {_ANNOTATIONS[name]: value for name, value in fields.items()}
    return {
        name: None if value is None else RECORDED[name].write(value) or None
        for name, value in texts.items()
    }
