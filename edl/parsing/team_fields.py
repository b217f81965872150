"""Reads the fields of one team from a document; a value that cannot be read becomes a finding."""

import re
from collections.abc import Callable, Iterable
from decimal import ROUND_UP
from functools import lru_cache
from typing import Final

from edl import contract
from edl.dns_names import is_dns_label, is_dns_subdomain, is_label_key, is_label_value
from edl.errors import MAX_FINDINGS, Findings
from edl.model import Requirement
from edl.model.teams import DEFAULT_TEAM, Reclaim, Team
from edl.parsing.strict_yaml import YamlValue
from edl.quantities import CPU, DEVICE_CLASS, MEMORY, PODS, SHARED_GPU, Resources, quantity

SHARES: Final = contract.SHARED_GPU_REQUEST
"""The name in documents for GPUs that KubeShare shares; the amount may be a fraction, such as
2.5."""
LARGEST: Final = 2**60
_MAX_ENTRIES: Final = 1000
"""Entries of one list or mapping of a team."""
_MAX_RESOURCES: Final = 64
_LONGEST: Final = 63
_LONGEST_NAME: Final = 512
"""Characters; a qualified name has at most 317, after the prefix of a DeviceClass too."""
_PATTERN: Final = re.compile(r"[-a-z0-9*]{1,63}")
_WEIGHT: Final = re.compile(r"(?=.*[1-9])[0-9]{1,6}(\.[0-9]{1,3})?")
_NATIVE: Final = (CPU, MEMORY, PODS, "ephemeral-storage")
FRACTIONS: Final = (CPU, MEMORY, SHARES)
"""Resources whose amount may be a fraction; other amounts are whole numbers."""
_OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist")
FIELDS: Final = (
    *("name", "parent", "namespaces", "guaranteed", "limit", "weight", "lend"),
    "reclaim",
)
_NOT_OF_DEFAULT: Final = ("parent", "namespaces", "guaranteed", "reclaim")
_NAME: Final = "a name of a-z, 0-9 and -, at most 63 characters"
_NUMBER: Final = "a number above 0, below a million, such as 2 or 0.5"
_RECLAIM: Final = sorted(Reclaim)
_BOOL: Final = ("true", "false")


def quoted(value: YamlValue) -> str:
    """The value, shortened for a message."""
    if isinstance(value, str):
        return f'"{value}"' if len(value) <= _LONGEST else f'"{value[:_LONGEST]}…"'
    if value is None:
        return "is empty"
    return "is a list" if isinstance(value, list) else "is a mapping"


def resource_name(resource: str) -> str:
    """The name of a resource in documents."""
    return SHARES if resource == SHARED_GPU else resource


class TeamReader:
    """Reads the mapping of one team, which stands at `path` in the document."""

    def __init__(self, path: str, fields: dict[str, YamlValue], findings: Findings) -> None:
        self._path = path
        self._fields = {"name": None, **fields}
        self._findings = findings

    def team(self) -> Team:
        """The team as far as it could be read; the rest became findings."""
        for name in list(self._fields)[:_MAX_ENTRIES]:
            if name not in FIELDS:
                self._found(name[:_LONGEST], "unknown field", f"one of {', '.join(FIELDS)}")
        name = self._text("name", "", is_dns_label, _NAME)
        if name == DEFAULT_TEAM:
            for field in _NOT_OF_DEFAULT:
                if field in self._fields:
                    what = "the default team gets all remaining namespaces"
                    self._found(
                        field, what, "it may have a weight, a limit, and lend: leave it out"
                    )
        chosen = self._fields.get("namespaces")
        return Team(
            name=name,
            parent=self._text("parent", "", is_dns_label, _NAME),
            namespaces=() if isinstance(chosen, dict) else self._patterns(chosen),
            selector=self._selector(chosen) if isinstance(chosen, dict) else (),
            guaranteed=Resources.of(dict(self._amounts("guaranteed"))),
            limit=self._amounts("limit"),
            weight=float(self._text("weight", "1", _WEIGHT.fullmatch, _NUMBER)),
            lend=self._text("lend", "true", _BOOL.__contains__, "true or false") == "true",
            reclaim=Reclaim(
                self._text(
                    "reclaim",
                    Reclaim.REPLICAS,
                    _RECLAIM.__contains__,
                    f"one of {', '.join(_RECLAIM)}",
                )
            ),
        )

    def _found(self, field: str, what: str, allowed: str = "") -> None:
        self._findings.found(f"{self._path}.{field}", what, allowed)

    def _text(self, field: str, usual: str, fits: Callable[[str], object], allowed: str) -> str:
        """The text of a field; `usual` if it is absent or invalid."""
        value = self._fields.get(field)
        if isinstance(value, str) and fits(value):
            return value
        if field in self._fields:
            self._found(field, quoted(value), allowed)
        return usual

    def _list(self, field: str, value: YamlValue) -> list[YamlValue]:
        if isinstance(value, list):
            if len(value) <= _MAX_ENTRIES:
                return value
            self._found(field, f"it has {len(value)} entries", f"at most {_MAX_ENTRIES}")
        elif value is not None:
            self._found(field, quoted(value), "a list")
        return []

    def _patterns(self, value: YamlValue) -> tuple[str, ...]:
        if value is not None and not isinstance(value, list):
            allowed = "a list of namespaces, or a label selector with matchLabels"
            self._found("namespaces", quoted(value), allowed)
            return ()
        patterns = set()
        for place, pattern in enumerate(self._list("namespaces", value)):
            if isinstance(pattern, str) and _PATTERN.fullmatch(pattern):
                patterns.add(pattern)
            else:
                allowed = "the name of a namespace; * matches any characters"
                self._found(f"namespaces[{place}]", quoted(pattern), allowed)
        return tuple(sorted(patterns))

    def _selector(self, chosen: dict[str, YamlValue]) -> tuple[Requirement, ...]:
        names = ("matchLabels", "matchExpressions")
        for name in [field for field in chosen if field not in names][:MAX_FINDINGS]:
            self._found(f"namespaces.{name[:_LONGEST]}", "unknown field", " or ".join(names))
        before = len(self._findings)
        requirements = {*self._match_labels(chosen.get("matchLabels"))}
        listed = self._list("namespaces.matchExpressions", chosen.get("matchExpressions"))
        for place, entry in enumerate(listed):
            requirements |= {*self._expression(f"namespaces.matchExpressions[{place}]", entry)}
        if not requirements and before == len(self._findings):
            allowed = "matchLabels or matchExpressions; namespaces of no team are default's"
            self._found("namespaces", "it would select each one", allowed)
        return tuple(sorted(requirements, key=lambda one: (one.key, one.operator, one.values)))

    def _match_labels(self, value: YamlValue) -> Iterable[Requirement]:
        if value is not None and not isinstance(value, dict):
            self._found("namespaces.matchLabels", quoted(value), "a mapping of labels")
            return
        for key, text in list((value or {}).items())[:_MAX_ENTRIES]:
            path = f"namespaces.matchLabels[{key[:_LONGEST]}]"
            if not is_label_key(key):
                self._found(path, "is not a label", "such as team or example.com/team")
            elif not isinstance(text, str) or not is_label_value(text):
                self._found(path, quoted(text), "a label's value")
            else:
                yield Requirement(key, "In", (text,))

    def _expression(self, path: str, value: YamlValue) -> Iterable[Requirement]:
        entry = value if isinstance(value, dict) else {}
        key, operator = entry.get("key"), entry.get("operator")
        listed = self._list(f"{path}.values", entry.get("values"))
        values = [text for text in listed if isinstance(text, str) and is_label_value(text)]
        if not isinstance(key, str) or not is_label_key(key):
            self._found(f"{path}.key", quoted(key), "a label, such as team or example.com/team")
        elif operator not in _OPERATORS:
            self._found(f"{path}.operator", quoted(operator), f"one of {', '.join(_OPERATORS)}")
        elif len(values) < len(listed) or bool(values) != (operator in ("In", "NotIn")):
            allowed = "labels' values with In and NotIn, none with Exists and DoesNotExist"
            self._found(f"{path}.values", f"they do not go with {operator}", allowed)
        elif entry.keys() - {"key", "operator", "values"}:
            self._found(path, "unknown field", "key, operator, values")
        else:
            yield Requirement(key, str(operator), tuple(sorted(set(values))))

    def _amounts(self, field: str) -> tuple[tuple[str, int], ...]:
        value = self._fields.get(field)
        if value is None:
            return ()
        if not isinstance(value, dict) or len(value) > _MAX_RESOURCES:
            allowed = f"amounts by resource, at most {_MAX_RESOURCES}: {{nvidia.com/gpu: 8}}"
            self._found(field, quoted(value), allowed)
            return ()
        amounts = {}
        for name, text in value.items():
            path = f"{field}[{name[:_LONGEST]}]"
            if not is_resource(name):
                allowed = (
                    f"cpu, memory, {SHARES}, an extended resource such as nvidia.com/gpu, or "
                    f"{DEVICE_CLASS}NAME for a DeviceClass"
                )
                self._found(path, "unknown resource", allowed)
            elif (amount := self._amount(path, name, text)) is not None:
                amounts[SHARED_GPU if name == SHARES else name] = amount
        return tuple(sorted(amounts.items()))

    def _amount(self, path: str, resource: str, text: YamlValue) -> int | None:
        if not isinstance(text, str) or len(text) > _LONGEST:
            self._found(path, quoted(text), "a quantity, such as 8, 500m or 64Gi")
            return None
        try:
            exact = quantity(text)
        except ValueError as error:
            self._found(path, str(error))
            return None
        if not 0 <= exact <= LARGEST:
            self._found(path, quoted(text), "from 0 to 1Ei")
            return None
        if resource not in FRACTIONS and exact != int(exact):
            self._found(path, quoted(text), "a whole number")
            return None
        units = exact.scaleb(3) if resource in (CPU, SHARES) else exact
        return int(units.to_integral_value(ROUND_UP))


def is_resource(name: str) -> bool:
    """Whether documents of teams may name this resource."""
    return len(name) <= _LONGEST_NAME and _is_resource(name)


@lru_cache(maxsize=1024)
def _is_resource(name: str) -> bool:
    """The same for a name of limited length. Many teams name the same ones."""
    named = name in _NATIVE or (name.startswith("hugepages-") and len(name) <= _LONGEST)
    if named or name == SHARES:
        return True
    if name.startswith(DEVICE_CLASS):
        return is_dns_subdomain(name.removeprefix(DEVICE_CLASS))
    return "/" in name and is_label_key(name) and not name.startswith("requests.")
