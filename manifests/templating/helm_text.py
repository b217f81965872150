"""Prints documents as a Helm template.

`edl-system` inside a text becomes the release's namespace, so such texts are always quoted: a
namespace may be called `123`.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from operator import attrgetter
from typing import Any, Final

import yaml
from msgspec import Struct

from edl import contract
from manifests.templating import template_nodes as nodes

_STEP: Final = "  "
_NAMESPACE: Final = "{{ .Release.Namespace }}"
_END: Final = "{{- end }}"


class HelmPrinter(Struct, frozen=True):
    """Prints documents; `defaults`, as in values.yaml, tell texts, numbers and maps apart.

    A value without a default is treated as a text, unless it is a `Word`.
    """

    defaults: Mapping[str, Any]

    def text(self, documents: Iterable[nodes.TemplateDocument]) -> str:
        lines: list[str] = []
        for condition, group in groupby(documents, attrgetter("condition")):
            block = [line for document in group for line in ("---", *self._map(document.tree, ""))]
            lines += block if condition is None else _when(condition, "", block, [])
        return "\n".join(lines) + "\n"

    def _map(self, tree: Mapping[str, nodes.Tree], indent: str) -> Iterator[str]:
        for key, value in tree.items():
            yield from self._entry(_scalar(key), value, indent)

    def _entry(self, key: str, value: nodes.Tree, indent: str) -> Iterator[str]:
        if value is nodes.ABSENT:
            return
        if isinstance(value, nodes.Choice):
            then = list(self._entry(key, value.then, indent))
            otherwise = list(self._entry(key, value.otherwise, indent))
            yield from _when(value.condition, indent, then, otherwise)
        elif isinstance(value, dict) and value:
            yield f"{indent}{key}:"
            yield from self._map(value, indent + _STEP)
        elif isinstance(value, list) and value:
            yield f"{indent}{key}:"
            yield from self._list(value, indent + _STEP)
        elif (block := self._block(value)) is not None:
            yield f"{indent}{key}:"
            yield f"{indent}{_STEP}{{{{- toYaml {block} | nindent {len(indent + _STEP)} }}}}"
        else:
            yield f"{indent}{key}: {self._inline(value)}"

    def _list(self, items: Iterable[nodes.Tree], indent: str) -> Iterator[str]:
        """Print the items; neighbours with the same condition are put under one `if`."""
        for condition, group in groupby(items, lambda item: getattr(item, "condition", None)):
            entries = list(group)
            if condition is not None:
                then = tuple(part for item in entries for part in item.then)
                otherwise = tuple(part for item in entries for part in item.otherwise)
                entries = [nodes.Items(condition, then, otherwise)]
            for item in entries:
                yield from self._item(item, indent)

    def _item(self, item: nodes.Tree, indent: str) -> Iterator[str]:
        match item:
            case nodes.Items():
                then = list(self._list(item.then, indent))
                yield from _when(
                    item.condition, indent, then, list(self._list(item.otherwise, indent))
                )
            case nodes.Each():
                pairs = any(isinstance(part, nodes.Pair) for part in item.items)
                loop = f"$key, $value := .Values.{item.path}" if pairs else f".Values.{item.path}"
                yield f"{indent}{{{{- range {loop} }}}}"
                yield from self._list(item.items, indent)
                yield f"{indent}{_END}"
            case dict() if item:
                first, *rest = self._map(item, indent + _STEP)
                if first.lstrip().startswith("{{-"):
                    yield from (f"{indent}-", first)
                else:
                    yield f"{indent}- {first.removeprefix(indent + _STEP)}"
                yield from rest
            case _:
                yield f"{indent}- {self._inline(item)}"

    def _block(self, value: nodes.Tree) -> str | None:
        """The expression for a map or list on lines of its own; None for other values."""
        if isinstance(value, nodes.Merged):
            base = " ".join(f"{json.dumps(key)} {json.dumps(to)}" for key, to in value.base.items())
            return f"(merge (dict {base}) .Values.{value.path})"
        if isinstance(value, nodes.Value) and isinstance(self._default(value.path), dict | list):
            return f".Values.{value.path}"
        return None

    def _inline(self, value: nodes.Tree) -> str:
        match value:
            case nodes.Value():
                text = isinstance(self._default(value.path), str | None)
                required = f"required {json.dumps(value.required)} " if value.required else ""
                return f"{{{{ {required}.Values.{value.path}{' | quote' if text else ''} }}}}"
            case nodes.Word() | nodes.CelText():
                return f"{{{{ toJson .Values.{value.path} | quote }}}}"
            case nodes.Joined():
                return f"{{{{ print .Values.{value.path} {json.dumps(value.ending)} | quote }}}}"
            case nodes.Element():
                return "{{ toJson . }}"
            case nodes.Pair():
                return '{{ printf "%s=%s" $key (toJson $value) | quote }}'
            case _:
                return _scalar(value)

    def _default(self, path: str) -> object:
        value: object = self.defaults
        for name in path.split("."):
            value = value.get(name) if isinstance(value, Mapping) else None
        return value


def _when(
    condition: nodes.ValueCondition, indent: str, then: list[str], otherwise: list[str]
) -> Iterator[str]:
    test = _test(condition)
    if not then:
        test, then, otherwise = f"not {_operand(test)}", otherwise, []
    yield f"{indent}{{{{- if {test} }}}}"
    yield from then
    if otherwise:
        yield f"{indent}{{{{- else }}}}"
        yield from otherwise
    yield f"{indent}{_END}"


def _test(condition: nodes.ValueCondition) -> str:
    value = f".Values.{condition.path}"
    match condition:
        case nodes.Enabled(negated=True):
            return f"not {value}"
        case nodes.Given():
            return f'not (kindIs "invalid" {value})'
        case nodes.Differs():
            return f"ne {value} {json.dumps(condition.default)}"
        case nodes.Enabled() | nodes.Filled():
            return value


def _operand(test: str) -> str:
    return f"({test})" if " " in test else test


def _scalar(value: object) -> str:
    """The scalar on one line; braces that Helm would take as an action are escaped."""
    if isinstance(value, str) and (contract.SYSTEM_NAMESPACE in value or "\n" in value):
        text = _escaped(json.dumps(value, ensure_ascii=False))
        return text.replace(contract.SYSTEM_NAMESPACE, _NAMESPACE)
    dumped = yaml.safe_dump(
        value, default_flow_style=True, width=2**31, sort_keys=False, allow_unicode=True
    )
    return _escaped(dumped.removesuffix("\n").removesuffix("\n..."))


def _escaped(text: str) -> str:
    return text.replace("{{", '{{ "{{" }}')
