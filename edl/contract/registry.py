"""The contract, entry by entry: its setter, its values and its meaning.

The table of docs/reference/labels.md is generated from it.
"""

from typing import Final

from edl.contract.entry import ContractEntry, EntryKind, Setter
from edl.contract.object_keys import NAMESPACE_KEYS, OBJECT_KEYS
from edl.contract.pod_environment import INJECTED
from edl.contract.recorded_keys import RECORDED_KEYS

__all__ = ["ENTRIES", "OWNED_ANNOTATIONS", "ContractEntry", "EntryKind", "Setter"]

ENTRIES: Final[tuple[ContractEntry, ...]] = (
    *OBJECT_KEYS,
    *RECORDED_KEYS,
    *NAMESPACE_KEYS,
    *INJECTED,
)

OWNED_ANNOTATIONS: Final = frozenset(
    entry.name
    for entry in ENTRIES
    if entry.kind is EntryKind.ANNOTATION and entry.setter is not Setter.USER
)
"""Annotations that only the webhook and the reconciler may write."""
