"""Reads documents of files and streams as kubectl does, with the line of each field."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import yaml
from yaml.constructor import ConstructorError

from edl.convert.diagnostics import FieldPath
from edl.parsing.yaml_values import scalar_type
from edl.writes import Json
from kubectl_edl.resources.bounded_loader import DEEPEST, BoundedLoader, TooManyValues
from kubectl_edl.resources.manifest_sources import TOO_DEEP, ManifestSource, Unreadable, position


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of a document: its file, its number in it, and its original text."""

    where: str
    number: int
    text: str

    def __str__(self) -> str:
        return f"{self.where}: document {self.number}"


@dataclass(frozen=True, slots=True)
class Document:
    """One object of a file, which begins in `line`; `root` is its YAML, None for JSON."""

    value: Json
    origin: Origin
    line: int
    root: yaml.Node | None = None

    def line_of(self, place: FieldPath) -> int:
        """The line of a field, or of its nearest ancestor; for JSON that of the document."""
        node, line = self.root, self.line
        for step in place:
            pair = _child(node, step)
            if pair is None:
                break
            key, node = pair
            line = key.start_mark.line + 1
        return line

    def at(self, place: FieldPath) -> str:
        """`jobs.yaml: document 2, line 14`."""
        return position(self.origin.where, self.origin.number, self.line_of(place))


def documents(source: ManifestSource) -> Iterator[Document]:
    """The documents of a YAML or JSON file; empty ones are counted but omitted.

    Raises Unreadable, after yielding the documents before the malformed one.
    """
    text, where = source.text, source.name
    if where.endswith(".json"):
        return _json_documents(text, where)
    if text.lstrip().startswith("{"):
        # Tab-indented JSON, which YAML does not accept.
        with suppress(Unreadable):
            return iter(list(_json_documents(text, where)))
    return _yaml_documents(text, where)


# -- YAML --------------------------------------------------------------------------------------


_NOT_JSON: Final = frozenset(
    f"tag:yaml.org,2002:{name}" for name in ("binary", "timestamp", "set", "omap", "pairs")
)
_UNRESOLVED: Final = {yaml.ScalarNode: "str", yaml.SequenceNode: "seq", yaml.MappingNode: "map"}


class _Loader(BoundedLoader):
    """YAML as kubectl reads it: times, keys and 1:30 are strings, 1e3 is a number."""

    yaml_constructors = {  # noqa: RUF012 - PyYAML's
        tag: construct
        for tag, construct in yaml.SafeLoader.yaml_constructors.items()
        if tag not in _NOT_JSON
    }
    bool_values = BoundedLoader.bool_values | {"y": True, "n": False}

    def resolve(self, kind: type[yaml.Node], value: str, implicit: tuple[bool, bool]) -> str:
        """The tag of a node that is written without one."""
        plain = kind is yaml.ScalarNode and implicit[0]
        return f"tag:yaml.org,2002:{scalar_type(value) if plain else _UNRESOLVED[kind]}"

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:  # noqa: FBT001, FBT002 - PyYAML's
        """Reject duplicate keys, because one of the values would be lost."""
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise ConstructorError(None, None, "a key is not a string", key.start_mark)
            if key.value in seen and key.tag != "tag:yaml.org,2002:merge":
                problem = f'"{key.value}" occurs twice'
                raise ConstructorError(None, None, problem, key.start_mark)
            seen.add(key.value)
        self.flatten_mapping(node)
        return {key.value: self.construct_object(value, deep=deep) for key, value in node.value}

    def construct_lower_int(self, node: yaml.ScalarNode) -> int:
        """PyYAML knows the prefixes 0x and 0b, but not 0X and 0B."""
        return int(self.construct_yaml_int(yaml.ScalarNode(node.tag, node.value.lower())))


_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.construct_lower_int)


_REST_OF_MARKER: Final = re.compile(r"\A[ \t]*(\r?\n)?")


def _yaml_documents(text: str, where: str) -> Iterator[Document]:
    number = 1
    try:
        loader = _Loader(text)
        for node, own_text in _composed(loader, text):
            value = loader.construct_document(node)
            if value is not None:
                yield _document(
                    value, Origin(where, number, own_text), node.start_mark.line + 1, node
                )
            number += 1
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        line, problem = _problem(error, text)
        raise Unreadable(f"{position(where, number, line)}: {problem}") from error


def _composed(
    loader: Any,  # noqa: ANN401 - PyYAML's parser is untyped
    text: str,
) -> Iterator[tuple[yaml.Node, str]]:
    """Each document's node, and its text without document markers."""
    first = True
    while loader.check_node():
        start = loader.get_event()
        node = loader.compose_node(None, None)
        end = loader.get_event()
        loader.anchors = {}
        # Only the first document may omit the marker.
        begin = start.end_mark.index if start.explicit else 0
        body = text[begin : end.start_mark.index]
        if start.explicit:
            above = text[: start.start_mark.index] if first else ""
            body = _only_comments(above) + _REST_OF_MARKER.sub("", body)
        first = False
        yield node, _ended(body)


def _only_comments(text: str) -> str:
    """The comments above the first marker; empty if there is anything else, such as a directive."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return text if lines and all(line.startswith("#") for line in lines) else ""


def _ended(text: str) -> str:
    return text if text.endswith("\n") else f"{text}\n"


_TEMPLATE: Final = "; it has {{ … }} of a template: render it first, for Helm: helm template CHART"
_TEMPLATE_LINE: Final = re.compile(r"\{\{[^{}:\n]{1,200}\}\}")
"""A template's expression: `{{ .Values.image }}`, `{{- include "x" . }}`."""


def _problem(error: Exception, text: str) -> tuple[int, str]:
    """The line and the reason of a PyYAML error."""
    if isinstance(error, yaml.MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        problem = ", ".join(part for part in (error.context, error.problem) if part)
        hint = _TEMPLATE if _TEMPLATE_LINE.search(text) else ""
        return (mark.line + 1 if mark else 1), f"not YAML: {problem}{hint}"
    if isinstance(error, yaml.reader.ReaderError):
        line = text.count("\n", 0, error.position) + 1
        return line, f"not YAML: character {error.character:#x} is not allowed here"
    if isinstance(error, TooManyValues):
        return 1, str(error)
    return 1, TOO_DEEP if isinstance(error, RecursionError) else f"not YAML: {error}"


def _child(node: yaml.Node | None, step: str | int) -> tuple[yaml.Node, yaml.Node] | None:
    """The node that has the line, and the value's node."""
    if isinstance(node, yaml.MappingNode):
        return next((pair for pair in reversed(node.value) if pair[0].value == step), None)
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        return node.value[step], node.value[step]
    return None


# -- JSON --------------------------------------------------------------------------------------


def _json_documents(text: str, where: str) -> Iterator[Document]:
    decoder = json.JSONDecoder(object_pairs_hook=_object)
    number, begin = 0, _next(text, 0)
    while begin < len(text):
        number += 1
        line = text.count("\n", 0, begin) + 1
        try:
            value, end = decoder.raw_decode(text, begin)
        except json.JSONDecodeError as error:
            what = f"not JSON: {error.msg}"
            raise Unreadable(f"{position(where, number, error.lineno)}: {what}") from error
        except ValueError as error:
            raise Unreadable(f"{position(where, number, line)}: not JSON: {error}") from error
        except RecursionError as error:
            raise Unreadable(f"{position(where, number, line)}: {TOO_DEEP}") from error
        body = text[begin:end]
        origin = Origin(where, number, _ended(body))
        yield _document(value, origin, line)
        begin = _next(text, end)


def _object(pairs: list[tuple[str, Any]]) -> Json:
    result = dict(pairs)
    if len(result) < len(pairs):
        names = [name for name, _ in pairs]
        (twice, _), *_ = Counter(names).most_common(1)
        raise ValueError(f'"{twice}" occurs twice in an object')
    return result


def _next(text: str, begin: int) -> int:
    while begin < len(text) and text[begin].isspace():
        begin += 1
    return begin


# ----------------------------------------------------------------------------------------------


def _document(value: object, origin: Origin, line: int, root: yaml.Node | None = None) -> Document:
    where = position(origin.where, origin.number, line)
    if not isinstance(value, dict):
        raise Unreadable(
            f"{where}: {type(value).__name__} instead of an object with apiVersion and kind"
        )
    if _too_deep(value):
        raise Unreadable(f"{where}: {TOO_DEEP}")
    return Document(value, origin, line, root)


def _too_deep(value: Json) -> bool:
    """Whether the nesting is too deep, checked iteratively because recursion could overflow."""
    level: list[object] = [value]
    for _ in range(DEEPEST):
        level = [child for parent in level for child in _children(parent)]
        if not level:
            return False
    return True


def _children(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()
