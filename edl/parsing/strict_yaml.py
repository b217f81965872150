"""A strict YAML parser for untrusted documents: strings, lists and mappings, in bounded work."""

from collections.abc import Iterator
from typing import Any, Final, TypeAlias

import msgspec
import yaml

from edl.errors import Denied, Finding

YamlValue: TypeAlias = "str | list[YamlValue] | dict[str, YamlValue] | None"
"""Numbers and booleans stay text: the reader of the field knows its type."""

_EMPTY: Final = ("", "~", "null", "Null", "NULL")
LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The loader of libyaml, which takes a tenth of the time."""


class YamlBounds(msgspec.Struct, frozen=True):
    """Limits on the size and nesting of a document."""

    size: int
    """Bytes."""
    depth: int


def load(text: str, bounds: YamlBounds) -> YamlValue:
    """Parses the single document of a text; None if it is empty. Raises Denied that names the line.

    Anchors, aliases, tags and merge keys are refused, and duplicate keys: one value would be lost.
    """
    size = len(text.encode(errors="replace"))
    if size > bounds.size:
        what = f"it has {size} bytes"
        raise Denied([Finding("the document", what, f"at most {bounds.size}")])
    try:
        return _Document(yaml.parse(text, Loader=LOADER), bounds.depth).value()
    except yaml.YAMLError as error:
        raise Denied([not_yaml(error)]) from error
    except ValueError as error:
        raise Denied([Finding("the document", f"is not YAML: {error}")]) from error


def not_yaml(error: yaml.YAMLError) -> Finding:
    """A YAML error in one line: `line 3: is not YAML: …`."""
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    causes = (getattr(error, "context", None), getattr(error, "problem", None))
    what = ", ".join(part for part in causes if part) or "a character is not allowed"
    return Finding(f"line {mark.line + 1}" if mark else "the document", f"is not YAML: {what}")


def _refused(event: yaml.Event, what: str, allowed: str = "") -> Denied:
    mark = event.start_mark
    return Denied([Finding(f"line {mark.line + 1}" if mark else "the document", what, allowed)])


class _Document:
    """Builds the value from PyYAML's events. Reading stops at the first error."""

    def __init__(self, events: Iterator[yaml.Event], depth: int) -> None:
        self._events = events
        self._depth = depth

    def value(self) -> YamlValue:
        value, documents = None, 0
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    raise _refused(event, "a second document begins", "write one")
                value = self._node(next(self._events), self._depth)
        return value

    def _node(self, event: yaml.Event, depth: int) -> YamlValue:
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise _refused(event, "anchors and aliases are not read", "write the value itself")
        if tag := getattr(event, "tag", None):
            raise _refused(event, f"the tag {tag[:63]} is not read", "leave it out")
        if isinstance(event, yaml.ScalarEvent):
            plain = event.implicit[0]
            return None if plain and event.value in _EMPTY else str(event.value)
        if not depth:
            raise _refused(event, "it is nested deeper than any field", f"{self._depth} levels")
        if isinstance(event, yaml.MappingStartEvent):
            return self._mapping(depth - 1)
        return self._list(depth - 1)

    def _mapping(self, depth: int) -> dict[str, YamlValue]:
        mapping: dict[str, YamlValue] = {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            if not isinstance(event, yaml.ScalarEvent):
                raise _refused(event, "a key is not a string", "name a field")
            if event.value in mapping:
                raise _refused(event, f'duplicate key "{event.value[:63]}"', "keep one of them")
            if event.value == "<<" and event.implicit[0]:
                raise _refused(event, "merge keys are not read", "write the values themselves")
            mapping[event.value] = self._node(next(self._events), depth)
        return mapping

    def _list(self, depth: int) -> list[YamlValue]:
        items: list[YamlValue] = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            items.append(self._node(event, depth))
        return items
