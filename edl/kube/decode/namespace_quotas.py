"""Decodes ResourceQuotas and LimitRanges, the limits of a namespace, once per version."""

from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

import msgspec

from edl import reasons
from edl.kube.decode.schemas import ObjectMeta, ObjectPart
from edl.model import Code, Reason
from edl.quantities import Resources

QuotaAmounts: TypeAlias = tuple[tuple[str, int], ...]
"""(resource, amount) sorted by name, in the units of `edl.quantities`."""

_PLAIN: Final = ("cpu", "memory", "ephemeral-storage")
_PREFIXES: Final = ("requests.", "limits.")
COUNTS: Final = ("pods", "count/pods")


class QuotaScope(msgspec.Struct, frozen=True, order=True, gc=False):
    """A condition on pods, as in `scopeSelector.matchExpressions`."""

    name: str = msgspec.field(name="scopeName")
    operator: str = "Exists"
    values: tuple[str, ...] = ()


class QuotaRule(msgspec.Struct, frozen=True, order=True, gc=False):
    """Which pods a ResourceQuota counts, and which resources: the part that seldom changes."""

    name: str
    resources: tuple[str, ...]
    """The resources that pods count in, as the quota spells them."""
    scopes: tuple[QuotaScope, ...] = ()

    def __str__(self) -> str:
        return f'ResourceQuota "{self.name}"'


class QuotaFacts(msgspec.Struct, frozen=True, gc=False):
    """A ResourceQuota with its `hard` and `used`, by resource."""

    namespace: str
    rule: QuotaRule
    hard: QuotaAmounts
    used: QuotaAmounts


class LimitRangeItem(msgspec.Struct, frozen=True, order=True, gc=False):
    """One of a LimitRange's `limits`, of type Container or Pod; `place` is its index there."""

    type: str
    place: int
    least: QuotaAmounts = ()
    most: QuotaAmounts = ()
    ratio: tuple[tuple[str, str], ...] = ()
    """The largest ratios of limit to request, as quantities."""
    limits: tuple[tuple[str, str], ...] = ()
    """`default`: limits of containers that set none, as quantities; `requests` likewise."""
    requests: tuple[tuple[str, str], ...] = ()


class LimitRangeFacts(msgspec.Struct, frozen=True, order=True, gc=False):
    """The part of a LimitRange that applies to pods."""

    namespace: str
    name: str
    bounds: tuple[LimitRangeItem, ...]

    def __str__(self) -> str:
        return f'LimitRange "{self.name}"'


class NamespaceConstraints(msgspec.Struct, frozen=True):
    """Everything but usage that decides whether a pod may be created in a namespace."""

    quotas: tuple[QuotaRule, ...] = ()
    ranges: tuple[LimitRangeFacts, ...] = ()
    gpu_budget: bool = False
    """Whether the namespace has the annotation edl.dev/gpu-budget."""
    default_class: str = ""
    """The PriorityClass of pods that name none, if quotas depend on it."""
    default_priority: str = ""
    """The PriorityClass that the namespace gives to Jobs that name none."""
    terminating: bool = False
    """Whether the namespace is being deleted: nothing can be created in it."""

    def problem(self, invalid: Iterable[str], no_exec: str = "") -> Reason | None:
        """The problem of a training job of the namespace; `invalid`: the errors in its objects.

        `no_exec`: why its launcher may not exec into its workers; empty if it may.
        """
        if self.terminating:
            return reasons.NAMESPACE_TERMINATING
        errors = list(dict.fromkeys(invalid))
        code = Code.INVALID if errors else Code.EXEC_NOT_ALLOWED
        texts = [*errors, no_exec] if no_exec else errors
        return reasons.quoted(code, "; ".join(texts)) if texts else None


NO_RULES: Final = NamespaceConstraints()


class _Selector(ObjectPart, frozen=True):
    match_expressions: tuple[QuotaScope, ...] = ()


class _QuotaSpec(ObjectPart, frozen=True):
    hard: dict[str, str] | None = None
    scopes: tuple[str, ...] = ()
    scope_selector: _Selector = _Selector()


class _QuotaStatus(ObjectPart, frozen=True):
    hard: dict[str, str] | None = None
    used: dict[str, str] | None = None


class _Quota(ObjectPart, frozen=True):
    metadata: ObjectMeta
    spec: _QuotaSpec = _QuotaSpec()
    status: _QuotaStatus = _QuotaStatus()


class _Limit(ObjectPart, frozen=True):
    type: str
    max: dict[str, str] | None = None
    min: dict[str, str] | None = None
    default: dict[str, str] | None = None
    default_request: dict[str, str] | None = None
    max_limit_request_ratio: dict[str, str] | None = None


class _RangeSpec(ObjectPart, frozen=True):
    limits: list[_Limit] | None = None


class _Range(ObjectPart, frozen=True):
    metadata: ObjectMeta
    spec: _RangeSpec = _RangeSpec()


_quotas: Final = msgspec.json.Decoder(_Quota)
_ranges: Final = msgspec.json.Decoder(_Range)


def quota(raw: bytes) -> QuotaFacts | None:
    """The facts of a quota; None if it limits nothing that pods count in.

    Admission reads the status. Until there is one it refuses every pod, so the whole quota counts
    as used.
    """
    obj = _quotas.decode(raw)
    selected = obj.spec.scope_selector.match_expressions
    scopes = (*(QuotaScope(name) for name in obj.spec.scopes), *selected)
    hard = _of_pods(obj.status.hard or obj.spec.hard or {})
    if not hard:
        return None
    used = _of_pods(obj.status.used or {}) if obj.status.hard else hard
    rule = QuotaRule(obj.metadata.name, tuple(name for name, _ in hard), scopes)
    return QuotaFacts(obj.metadata.namespace, rule, hard, used)


def limit_range(raw: bytes) -> LimitRangeFacts | None:
    """The facts of a LimitRange; None if it only applies to storage claims."""
    obj = _ranges.decode(raw)
    limits = enumerate(obj.spec.limits or ())
    bounds = tuple(
        _bounds(place, limit) for place, limit in limits if limit.type in ("Container", "Pod")
    )
    return LimitRangeFacts(obj.metadata.namespace, obj.metadata.name, bounds) if bounds else None


def base(resource: str) -> str:
    """`requests.cpu` → `cpu`."""
    prefix = next((text for text in _PREFIXES if resource.startswith(text)), "")
    return resource.removeprefix(prefix)


def _bounds(place: int, limit: _Limit) -> LimitRangeItem:
    return LimitRangeItem(
        type=limit.type,
        place=place,
        least=_amounts(limit.min or {}),
        most=_amounts(limit.max or {}),
        ratio=_sorted(limit.max_limit_request_ratio),
        limits=_sorted(limit.default) if limit.type == "Container" else (),
        requests=_sorted(limit.default_request) if limit.type == "Container" else (),
    )


def _sorted(texts: Mapping[str, str] | None) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((texts or {}).items()))


def _of_pods(texts: Mapping[str, str]) -> QuotaAmounts:
    return _amounts({name: text for name, text in texts.items() if _is_of_pods(name)})


def _is_of_pods(resource: str) -> bool:
    """kubernetes/kubernetes, pkg/quota/v1/evaluator/core/pods.go."""
    name = base(resource)
    if resource in COUNTS or name in _PLAIN or name.startswith("hugepages-"):
        return True
    return resource.startswith("requests.") and "/" in name


def _amounts(texts: Mapping[str, str]) -> QuotaAmounts:
    """Amounts by resource. Zeros are kept: a quota of zero is a limit."""
    return tuple(
        (name, Resources.parse({base(name): text}).get(base(name)))
        for name, text in sorted(texts.items())
    )
