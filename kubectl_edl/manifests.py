"""Manifests in files: several YAML documents, each printed again as it came unless it changed."""

import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import yaml

from edl.writes import Json
from kubectl_edl.refusals import Refused

_MARKER: Final = re.compile(r"^(?:---|\.\.\.)(?:[ \t].*)?(?:\n|\Z)", re.MULTILINE)
"""In YAML these start a line only between documents, never inside one."""


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a file: where it is (`job.yaml: document 2`), its text, what it says."""

    where: str
    text: str
    content: Any


class _Readable(yaml.SafeDumper):
    """Scripts stay blocks of lines, and nothing becomes an alias."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 (PyYAML's signature)
        return True


_NO_TEXT_ELSEWHERE: Final = re.compile(r"[-+]?[0-9.]+[eE][-+]?[0-9]+|[yYnN]|[-+]?0o[0-7_]+")
"""Plain texts here that kubectl reads as numbers or as yes and no: a learning rate of 1e-3."""
_OTHER_LINE_ENDS: Final = re.compile("[\\x85\\u2028\\u2029]")
"""YAML's, which would be read again as other blanks than they were."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else "'" if _NO_TEXT_ELSEWHERE.fullmatch(text) else None
    if _OTHER_LINE_ENDS.search(text):
        style = '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def _list(dumper: yaml.SafeDumper, items: list[Any]) -> yaml.SequenceNode:
    flat = bool(items) and all(isinstance(item, int) for item in items)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", items, flow_style=flat or None)


_Readable.add_representer(str, _text)
_Readable.add_representer(list, _list)


def dump(manifest: Json) -> str:
    """One YAML document, keys in their order."""
    text: str = yaml.dump(
        manifest, Dumper=_Readable, sort_keys=False, allow_unicode=True, width=math.inf
    )
    return text


def rewrite(text: str, change: Callable[[Json], Json | None], source: str) -> str:
    """Every document of `text`, those for which `change` returns something replaced by it.

    Raises Refused when `text` is no YAML; `source` says where it came from.
    """
    return joined(_rewritten(document, change) for document in documents(text, source))


def joined(parts: Iterable[str]) -> str:
    """One stream of several documents."""
    return "---\n".join(parts)


def documents(text: str, source: str) -> Iterator[Document]:
    """The documents of a file, without those that are empty. Raises Refused at one that is no YAML.

    `source` says in messages where it came from.
    """
    number, begin = 0, 0
    for end, following in [*(match.span() for match in _MARKER.finditer(text)), (len(text),) * 2]:
        part = text[begin:end]
        if _any(part):
            number += 1
            lines = text.count("\n", 0, begin)
            ended = part if part.endswith("\n") else f"{part}\n"
            yield Document(f"{source}: document {number}", ended, _loaded(part, source, lines))
        begin = following


def _rewritten(document: Document, change: Callable[[Json], Json | None]) -> str:
    found = document.content
    changed = change(found) if isinstance(found, dict) else None
    return document.text if changed is None else dump(changed)


def _loaded(part: str, source: str, lines: int) -> Any:  # noqa: ANN401 (YAML enters here)
    """`lines` stand before it in its file."""
    try:
        return yaml.safe_load(part)
    except yaml.YAMLError as error:
        raise Refused(f"{source} is not YAML: {_problem(error, lines)}") from error


def _problem(error: yaml.YAMLError, lines: int) -> str:
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem_mark is None:
        return " ".join(str(error).split())
    mark = error.problem_mark
    said = ", ".join(text for text in (error.context, error.problem) if text)
    return f"{said} (line {lines + mark.line + 1}, column {mark.column + 1})"


def _any(part: str) -> bool:
    """Whether there is more than comments and empty lines."""
    return any(line.strip() and not line.lstrip().startswith("#") for line in part.splitlines())
