"""Parses a template. The grammar and its limits are those of client-go's parser."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeAlias

from kubectl_edl.output.jsonpath import jsonpath_steps as steps
from kubectl_edl.output.jsonpath.go_format import HTML, plain, unquoted
from kubectl_edl.output.jsonpath.jsonpath_steps import (
    OPERATORS,
    Path,
    PathStep,
    TemplateError,
    TemplatePart,
)

_NAME: Final = re.compile(r"(?:\\.|[^\\ \t\r\n.,\[\]$@{}])*", re.DOTALL)
_NUMBER: Final = re.compile(r"[+-]?[0-9.]*")
_QUOTED: Final = re.compile(r"""(["'])(?:\\.|(?!\1)[^\\\n])*\1""")
_ARRAY: Final = re.compile(r"\[([^\]\n]*)\]")
_SLICE: Final = re.compile(r"(-?[0-9]*)(:-?[0-9]*)?(:-?[0-9]*)?")
_KEY: Final = re.compile(r"'([^']*)'")
_FILTER: Final = re.compile(
    r"""\[\?\( ( (?: [^"'\n)] )* (?: (["']) (?:\\.|(?!\2)[^\\\n])* \2 [^)\n]* )? ) \)\]""",
    re.VERBOSE,
)
_COMPARISON: Final = re.compile(r"([^!<>=]+)([!<>=]+)(.+)", re.DOTALL)
_DEEPEST: Final = 100
_RELAXED: Final = re.compile(r"\{\.?([^{}]+)\}|\.?([^{}]+)")
Template: TypeAlias = tuple[TemplatePart, ...]


def template(text: str) -> Template:
    """Parse a template. Raises TemplateError with the position."""
    reader = _Reader(text)
    parsed, ended = reader.template()
    if ended:
        raise TemplateError("{end} without {range …}: there is nothing to end")
    return parsed


def execute(template: Template, document: object) -> str:
    """The printed text; raises TemplateError if the template cannot be applied to the document."""
    return "".join(" ".join(map(plain, values)) for values in _results(template, document))


def as_json(template: Template, document: object) -> str:
    """The selected values as JSON, one list per part of the template."""
    return "".join(
        json.dumps(values, indent=4, sort_keys=True, ensure_ascii=False).translate(HTML) + "\n"
        for values in _results(template, document)
    )


def _results(template: Template, document: object) -> Iterator[steps.PathValues]:
    return (values for part in template for values in part(document))


def _selection(path: Path) -> TemplatePart:
    return lambda document: iter([steps.selected(path, document)])


def _range(path: Path, body: Template) -> TemplatePart:
    """`{range PATH}…{end}`: the template, repeated for each value that the path selects."""
    return lambda document: (
        values for value in steps.selected(path, document) for values in _results(body, value)
    )


def relaxed(text: str) -> Path:
    """Parse a custom column's field, which may omit braces and the first dot. Raises TemplateError.

    The forms: `metadata.name`, `.metadata.name`, `{metadata.name}` or `{.metadata.name}`.
    """
    match = _RELAXED.fullmatch(text)
    if match is None:
        raise TemplateError(f'"{text}" is not a field; metadata.name, .metadata.name or {{.phase}}')
    return _path(f".{match[1] or match[2]}")


def _path(text: str) -> Path:
    """Parse a text that is the inside of a single pair of braces."""
    reader = _Reader(f"{{{text}}}")
    reader.at = 1
    return reader.path()[1]


class _Reader:
    """Parses the text in one pass; `at` is the position."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def template(self, depth: int = 0) -> tuple[Template, bool]:
        """The template up to its end or to an {end}, and whether it ended with {end}."""
        if depth > _DEEPEST:
            raise self._wrong(f"more than {_DEEPEST} ranges inside each other")
        parts: list[TemplatePart] = []
        while self.at < len(self.text):
            begin = self.text.find("{", self.at)
            if begin != self.at:
                end = len(self.text) if begin < 0 else begin
                parts.append(_selection((steps.literal(self.text[self.at : end]),)))
                self.at = end
                continue
            self.at += 1
            word, path = self.path()
            if word == "end":
                return tuple(parts), True
            # A range without an end extends to the end of the template, as in kubectl.
            in_range = word == "range"
            parts.append(
                _range(path, self.template(depth + 1)[0]) if in_range else _selection(path)
            )
        return tuple(parts), False

    def path(self) -> tuple[str, Path]:
        """A keyword or an empty text, and the steps up to the closing brace."""
        word, parsed = "", list[PathStep]()
        while not self._take("}"):
            if self._take(" ") or self._take("@") or self._take("$"):
                continue
            if (letter := self._peek()).isalpha() or letter == "_":
                name = self._match(_NAME)
                if name in ("true", "false"):
                    parsed.append(steps.number(name == "true"))
                elif name in ("range", "end"):
                    word = name
                else:
                    raise self._wrong(f'unknown word "{name}"; range, end, or .{name} for a field')
                continue
            parsed += self._steps(parsed)
        return word, tuple(parsed)

    def _steps(self, before: list[PathStep]) -> Path:
        for sign, read in _READERS.items():
            if self.text.startswith(sign, self.at):
                if sign == ".." and before and before[-1] is steps.below:
                    raise self._wrong("two .. in a row")
                return read(self)
        if self._peek().isdigit() or self._peek() in ("+", "-"):
            return (self._number(),)
        letter = self._peek()
        if letter in ("", "\r", "\n"):
            raise self._wrong('a "{" is never closed')
        raise self._wrong(f'"{letter}" is not allowed here')

    def below(self) -> Path:
        self.at += 2
        if self._peek().isalnum() or self._peek() == "_":
            return (steps.below, self._field())
        return (steps.below,)

    def field(self) -> Path:
        self.at += 1
        return (self._field(),)

    def quoted(self) -> Path:
        text = self._match(_QUOTED, "a quoted text that never ends")
        try:
            return (steps.literal(unquoted(text)),)
        except ValueError as error:
            raise self._wrong(str(error)) from error

    def array(self) -> Path:
        inner = self._match(_ARRAY, "a [ that is never closed")[1:-1]
        parts = inner.split(",")
        if len(parts) > 1:
            return (steps.union([_path(f"[{part.strip(' ')}]") for part in parts]),)
        if key := _KEY.fullmatch(inner):
            return _path(f".{key[1]}")
        match = _SLICE.fullmatch("" if inner == "*" else inner)
        if match is None:
            raise self._wrong(f"[{inner}] is none of [0], [-1], [0:3], [*], ['name'], [?(…)]")
        first, last, step = (_int(part) for part in match.groups())
        if first is not None and match[2] is None:
            return (steps.items(first, first + 1, None, single=True),)
        return (steps.items(first, last, step, single=False),)

    def filter(self) -> Path:
        match = _FILTER.match(self.text, self.at)
        if match is None:
            raise self._wrong("a [?( that is never closed by )]")
        self.at = match.end()
        compared = _COMPARISON.fullmatch(match[1])
        if compared is None:
            return (steps.filtered(_path(match[1]), "", ()),)
        left, operator, right = compared.groups()
        if operator not in OPERATORS:
            raise self._wrong(f'unknown operator "{operator}"; one of {" ".join(OPERATORS)}')
        return (steps.filtered(_path(left), operator, _path(right)),)

    def _field(self) -> PathStep:
        name = self._match(_NAME)
        return steps.every if name == "*" else steps.field(name.replace("\\", ""))

    def _number(self) -> PathStep:
        text = self._match(_NUMBER)
        try:
            return steps.number(int(text) if text.lstrip("+-").isdigit() else float(text))
        except ValueError:
            raise self._wrong(f'"{text}" is not a number') from None

    def _peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def _take(self, sign: str) -> bool:
        taken = self.text.startswith(sign, self.at)
        self.at += len(sign) if taken else 0
        return taken

    def _match(self, pattern: re.Pattern[str], else_: str = "") -> str:
        match = pattern.match(self.text, self.at)
        if match is None:
            raise self._wrong(else_)
        self.at = match.end()
        return match[0]

    def _wrong(self, what: str) -> TemplateError:
        return TemplateError(f"{what} (character {self.at + 1} of {self.text})")


def _int(part: str | None) -> int | None:
    digits = (part or "").lstrip(":")
    return int(digits) if digits and digits != "-" else None


_READERS: Final[Mapping[str, Callable[[_Reader], Path]]] = {
    "[?(": _Reader.filter,
    "[": _Reader.array,
    "..": _Reader.below,
    ".": _Reader.field,
    '"': _Reader.quoted,
    "'": _Reader.quoted,
}
"""Longer prefixes first."""
