"""Places of a document that depend on values, and the conditions on which they do.

A tree is JSON in which these may stand: `Value`, `Merged`, `Joined` and `CelText` in place of a
value, `Choice` in place of a map's value, `Items` and `Each` among a list's items. A path names a
value as values.yaml does: `webhook.replicas`.
"""

from typing import Any, Final, TypeAlias

from msgspec import Struct

Tree: TypeAlias = Any


class Absent(Struct, frozen=True):
    """In place of a map's value: the map lacks this key."""


ABSENT: Final = Absent()


class Enabled(Struct, frozen=True):
    """The value is true; `negated`: it is false."""

    path: str
    negated: bool = False


class Filled(Struct, frozen=True):
    """The list, map or text has anything in it."""

    path: str


class Given(Struct, frozen=True):
    """A value without a default was chosen."""

    path: str


class Differs(Struct, frozen=True):
    """The text is another one than `default`."""

    path: str
    default: str


ValueCondition: TypeAlias = Enabled | Filled | Given | Differs


class Value(Struct, frozen=True):
    """The value as it is: text, number, list or map."""

    path: str


class Word(Struct, frozen=True):
    """The number as an argument of a command line: 30 rather than 30.0."""

    path: str


class Element(Struct, frozen=True):
    """Within `Each` of a list: the element."""


class Pair(Struct, frozen=True):
    """Within `Each` of a map: `KEY=VALUE`."""


class Joined(Struct, frozen=True):
    """The text value, and `ending` after it."""

    path: str
    ending: str


class CelText(Struct, frozen=True):
    """The text value as CEL writes it, which is as JSON does."""

    path: str


class Merged(Struct, frozen=True):
    """The map `base`, and the value's entries, which win."""

    base: dict[str, Any]
    path: str


class Choice(Struct, frozen=True):
    """A map's value on a condition; either may be ABSENT."""

    condition: ValueCondition
    then: Tree
    otherwise: Tree = ABSENT


class Items(Struct, frozen=True):
    """Some items of a list on a condition."""

    condition: ValueCondition
    then: tuple[Tree, ...]
    otherwise: tuple[Tree, ...] = ()


class Each(Struct, frozen=True):
    """These items for every element of a list or of a map, maps in the order of their keys."""

    path: str
    items: tuple[Tree, ...]


class TemplateDocument(Struct, frozen=True):
    """One document of the file `source`; left out unless `condition` holds."""

    source: str
    tree: Tree
    condition: ValueCondition | None = None
