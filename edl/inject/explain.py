"""Why `mutate` changed what it changed: each difference by its place, with a reason.

`_JOB`, `_POD_METADATA` and `_POD` say why, place by place; what the contract has an entry for (a
label, a variable, a live file) is explained in the entry's own words. So a new framework needs
nothing here, as long as what it sets is in the contract.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from edl import contract
from edl.contract import Kind
from edl.inject import ssh
from edl.inject.pod import volume_name
from edl.writes import Json

_Path: TypeAlias = tuple[str, ...]
_MISSING: Final = object()
_ANY: Final = "*"
_LONGEST: Final = 60
_KEYS: Final = {"volumeMounts": "mountPath"}
"""Items of lists are known by this field; elsewhere by their name."""
_NAMED: Final = frozenset(
    {"labels", "annotations", "limits", "requests", "containers", "initContainers"}
    | {"env", "ports", "volumes", "volumeMounts", "schedulingGates"}
)
"""What is in these has a name of its own: `labels[edl.dev/min]`, as findings spell it."""


@dataclass(frozen=True, slots=True)
class Change:
    """One difference: `spec.suspend`, `true` (or `6 → 72`, or `removed "x"`), and why.

    Items of lists stand under their names: `containers[main].env[TF_CONFIG]`.
    """

    path: str
    what: str
    why: str
    """Empty where nobody has said yet: a gap in the tables here, which a test looks for."""


_RANKS: Final = "pods here are ranks, one index each: as many completions as pods"
_GPU: Final = f"whole GPUs that {contract.GPU} asks for, limited as they are requested"
_SHARE: Final = f"KubeShare's word for {contract.GPU}, or 2.0's for what was said in 1.0's"
_ACCOUNT: Final = "the launcher's own account: it may run commands in its workers' pods"
_FORGED: Final = "written by kubectl-edl alone"

_JOB: Final[Mapping[str, str]] = {
    f"metadata annotations {contract.PAUSED}": "`suspend: true` of its user is a wish to wait",
    "metadata annotations *": "{meaning}",
    **{
        f"metadata labels {name}": "the default, written out"
        for name in (contract.FRAMEWORK, contract.JOB, contract.ROLE, contract.MIN, contract.MAX)
    },
    "spec suspend": "it is queued, and starts when the minimum of every role fits at once",
    "spec parallelism": _RANKS,
    "spec completions": _RANKS,
    "spec completionMode": _RANKS,
    "spec backoffLimit": "Kubernetes' 6 retries for each replica: evicted pods count as failures",
    "spec successPolicy": "these indexes decide when the Job is done",
}
"""Places in a Job; `*` is any one name, and of two that fit the first one counts."""

_POD_METADATA: Final[Mapping[str, str]] = {
    f"labels {contract.SHARED_GPU_LIMIT}": _SHARE,
    f"labels {contract.SHARED_GPU_REQUEST}": _SHARE,
    f"labels {contract.SHARED_GPU_MEMORY}": _SHARE,
    **{
        f"labels {name}": "the pods of a training job are found by it"
        for name in (contract.FRAMEWORK, contract.JOB, contract.ROLE)
    },
    "labels *": "{meaning}",
    **dict.fromkeys((f"annotations {name}" for name in contract.KUBESHARE_1), _SHARE),
    "annotations *": "{meaning}",
}
_CONTAINER: Final[Mapping[str, str]] = {
    f"env {contract.COMPLETION_INDEX_ENV}": "its index, first: $(…) expands only what comes before",
    "env *": "{meaning}",
    "ports *": "where its peers reach it",
    "command": "what this role runs when neither command nor args say otherwise",
    "volumeMounts *": "{files}",
    f"resources limits {contract.GPU_RESOURCE}": _GPU,
    f"resources requests {contract.GPU_RESOURCE}": _GPU,
}
_POD: Final[Mapping[str, str]] = {
    "initContainers edl-kubectl": "gives the launcher kubectl, from kubectl-edl's own image",
    **{f"initContainers * {place}": why for place, why in _CONTAINER.items()},
    **{f"containers * {place}": why for place, why in _CONTAINER.items()},
    "volumes *": "{files}",
    "schedulingGates *": "{meaning}",
    "serviceAccountName": _ACCOUNT,
    "serviceAccount": _ACCOUNT,
    "subdomain": "its pods have addresses: HOST.SUBDOMAIN.NAMESPACE.svc",
    "hostname": "the address that its peers expect",
    "affinity nodeAffinity": "whole GPUs, so not on nodes whose GPUs KubeShare shares",
    f"nodeSelector {contract.SHARED_GPU_NODE}": "only nodes whose GPUs KubeShare shares",
    "priorityClassName": "its namespace's default",
    "affinity podAffinity": "rather beside its own training job, where there is a choice",
    "schedulerName": "KubeShare's scheduler hands out shares of GPUs",
}
_VARIABLE: Final[Mapping[str, Callable[[Json], object]]] = {
    "value": lambda text: text,
    "valueFrom": lambda source: f"= {source.get('fieldRef', {}).get('fieldPath', '…')}",
}
"""What a variable is set to, by the member that says it."""
_MEANINGS: Final = {entry.name: entry.meaning for entry in contract.ENTRIES}


def _contents() -> dict[str, str]:
    """What stands in each directory that is mounted, in the contract's words."""
    found: dict[str, str] = {contract.KUBECTL_DIRECTORY: "kubectl, for the launcher"}
    for entry in contract.ENTRIES:
        if entry.kind is Kind.PATH:
            directory, _, file = entry.name.rpartition("/")
            before = f"{found[directory]}; " if directory in found else ""
            found[directory] = f"{before}{file}: {entry.meaning}"
    return found


_CONTENTS: Final = _contents()
_VOLUMES: Final = {
    **{volume_name(directory): why for directory, why in _CONTENTS.items()},
    ssh.VOLUME: _MEANINGS[contract.SSH_DIRECTORY],
}


def changes(before: Json, after: Json) -> tuple[Change, ...]:
    """Every difference between a manifest and what `mutate` made of it, in its order."""
    return tuple(_Explanation(str(after.get("kind"))).differences((), before, after))


class _Explanation:
    """The tables for one kind of manifest, and where each begins in it."""

    def __init__(self, kind: str) -> None:
        template = () if kind == "Pod" else ("spec", "template")
        self._tables: tuple[tuple[_Path, Mapping[str, str]], ...] = (
            ((*template, "spec"), _POD),
            ((*template, "metadata"), _POD_METADATA),
            ((), _JOB if template else {}),
        )

    def differences(self, path: _Path, old: object, new: object) -> Iterator[Change]:
        """The changes at a place and below: the nearest place that a table knows is one change."""
        if old is not _MISSING and old == new:
            return
        why = self._why(path, new)
        if why is None and (members := _members(path, old, new)) is not None:
            for name, was, becomes in members:
                yield from self.differences((*path, name), was, becomes)
            return
        yield Change(_spelled(path), _what(path[-1], old, new), why or "")

    def _why(self, path: _Path, new: object) -> str | None:
        """The reason for a change at this very place, None where no table has it."""
        if new is _MISSING:
            return _FORGED if path and path[-1] in contract.OWNED_ANNOTATIONS else None
        for place, table in self._tables:
            if path[: len(place)] == place and (words := _fitting(table, path[len(place) :])):
                return _filled(words, path[-1])
        return None


def _fitting(table: Mapping[str, str], path: _Path) -> str:
    for pattern, words in table.items():
        parts = pattern.split()
        if len(parts) == len(path) and all(
            part in (_ANY, name) for part, name in zip(parts, path, strict=True)
        ):
            return words
    return ""


def _filled(words: str, name: str) -> str | None:
    """A sentence of the tables with what the contract says of a name; None if it says nothing."""
    if words == "{files}":
        return _VOLUMES.get(name) or _CONTENTS.get(name.rstrip("/")) or _MEANINGS.get(name)
    if "{meaning}" not in words:
        return words
    return words.format(meaning=_MEANINGS[name]) if name in _MEANINGS else None


def _members(path: _Path, old: object, new: object) -> list[tuple[str, object, object]] | None:
    """Name, before and after of each member of an object or list; None for anything else."""
    was, becomes = _named(path, old), _named(path, new)
    if was is None or becomes is None:
        return None
    names = dict.fromkeys((*becomes, *was))
    return [(name, was.get(name, _MISSING), becomes.get(name, _MISSING)) for name in names]


def _named(path: _Path, value: object) -> Mapping[str, object] | None:
    if value is _MISSING or value is None:
        return {}
    if isinstance(value, list) and all(isinstance(item, dict) for item in value):
        return _items(path, value)
    return value if isinstance(value, dict) else None


def _items(path: _Path, items: Sequence[Json]) -> Mapping[str, object]:
    field = _KEYS.get(path[-1], "name")
    return {str(item.get(field) or index): item for index, item in enumerate(items)}


def _spelled(path: _Path) -> str:
    """`spec.template.spec.containers[main].env[TF_CONFIG]`."""
    text, parent = "", ""
    for name in path:
        text += f"[{name}]" if parent in _NAMED else f".{name}"
        parent = "" if parent in _NAMED else name
    return text.removeprefix(".")


def _what(name: str, old: object, new: object) -> str:
    if old is _MISSING or old is None:
        return _short(name, new)
    before = _short(name, old)
    return f"removed {before}" if new is _MISSING else f"{before} → {_short(name, new)}"


def _short(name: str, value: object) -> str:
    """Text as it is and anything else as compact JSON, cut; a name is not said twice."""
    if isinstance(value, dict) and value.get("name") == name:
        value = {member: inner for member, inner in value.items() if member != "name"}
    if isinstance(value, dict) and len(value) == 1:
        ((member, inner),) = value.items()
        value = _VARIABLE.get(member, lambda _: value)(inner)
    text = value if isinstance(value, str) else _compact(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
