"""Places of a document that depend on values, and their conditions.

A tree is JSON that may also contain: `Value`, `Merged`, `Joined` and `CelText` in place of a
value, `Choice` in place of a map's value, `Items` and `Each` in place of a list's items. A path
names a value as values.yaml does: `webhook.replicas`.
"""

from typing import Any, Final, TypeAlias

from msgspec import Struct

Tree: TypeAlias = Any


class Absent(Struct, frozen=True):
    """Stands for a map's value whose key is to be left out."""


ABSENT: Final = Absent()


class Enabled(Struct, frozen=True):
    """Holds if the value is true, or, if `negated`, if it is false."""

    path: str
    negated: bool = False


class Filled(Struct, frozen=True):
    """Holds if the list, map or text is not empty."""

    path: str


class Given(Struct, frozen=True):
    """Holds if a value without a default is set."""

    path: str


class Differs(Struct, frozen=True):
    """Holds if the text differs from `default`."""

    path: str
    default: str


ValueCondition: TypeAlias = Enabled | Filled | Given | Differs


class Value(Struct, frozen=True):
    """A place for the value itself: text, number, list or map.

    `required`: the message with which Helm refuses an empty value.
    """

    path: str
    required: str = ""


class Word(Struct, frozen=True):
    """A place for a number as a command-line argument: 30 rather than 30.0."""

    path: str


class Element(Struct, frozen=True):
    """A place for the element, inside `Each` of a list."""


class Pair(Struct, frozen=True):
    """A place for `KEY=VALUE`, inside `Each` of a map."""


class Joined(Struct, frozen=True):
    """A place for a text value followed by `ending`."""

    path: str
    ending: str


class CelText(Struct, frozen=True):
    """A place for a text value as a CEL string, which is written as in JSON."""

    path: str


class Merged(Struct, frozen=True):
    """A place for the map `base`, which takes precedence, with the value's entries."""

    base: dict[str, Any]
    path: str


class Choice(Struct, frozen=True):
    """A map's value that depends on a condition; either alternative may be ABSENT."""

    condition: ValueCondition
    then: Tree
    otherwise: Tree = ABSENT


class Items(Struct, frozen=True):
    """Items of a list that depend on a condition."""

    condition: ValueCondition
    then: tuple[Tree, ...]
    otherwise: tuple[Tree, ...] = ()


class Each(Struct, frozen=True):
    """Items repeated for every element of a list, or of a map in the order of its keys."""

    path: str
    items: tuple[Tree, ...]


class TemplateDocument(Struct, frozen=True):
    """A document of the file `source`; it is left out unless `condition` holds."""

    source: str
    tree: Tree
    condition: ValueCondition | None = None
