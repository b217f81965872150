"""What an entry of the contract says, and where it stands."""

from enum import StrEnum
from typing import Final

import msgspec


class EntryKind(StrEnum):
    """Where an entry of the contract stands."""

    LABEL = "label"
    ANNOTATION = "annotation"
    NAMESPACE = "namespace label"
    NAMESPACE_ANNOTATION = "namespace annotation"
    ENV = "environment"
    PATH = "file"
    GATE = "scheduling gate"


class Setter(StrEnum):
    """The writer of an entry."""

    USER = "user"
    WEBHOOK = "webhook"
    RECONCILER = "reconciler"


class ContractEntry(msgspec.Struct, frozen=True):
    """One entry of the contract: where it is set, by what, its values and its meaning."""

    name: str
    kind: EntryKind
    setter: Setter
    values: str
    meaning: str


def label(name: str, values: str, meaning: str) -> ContractEntry:
    return ContractEntry(name, EntryKind.LABEL, Setter.USER, values, meaning)


def annotation(name: str, values: str, meaning: str) -> ContractEntry:
    return ContractEntry(name, EntryKind.ANNOTATION, Setter.USER, values, meaning)


def namespace(name: str, values: str, meaning: str) -> ContractEntry:
    return ContractEntry(name, EntryKind.NAMESPACE_ANNOTATION, Setter.USER, values, meaning)


def ours(name: str, setter: Setter, values: str, meaning: str) -> ContractEntry:
    return ContractEntry(name, EntryKind.ANNOTATION, setter, values, meaning)


TIME: Final = "RFC 3339 time"
WEBHOOK: Final = Setter.WEBHOOK
RECONCILER: Final = Setter.RECONCILER
