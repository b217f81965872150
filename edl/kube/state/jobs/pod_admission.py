"""Predicts what admission does to a pod before it exists: defaults, refusals and quota charges.

This repeats kube-apiserver: the API's own defaults, then its plugins LimitRanger
(plugin/pkg/admission/limitranger) and ResourceQuota (pkg/quota/v1/evaluator/core/pods.go).
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

import msgspec

from edl import contract
from edl.kube.decode.namespace_quotas import (
    COUNTS,
    LimitRangeFacts,
    LimitRangeItem,
    NamespaceConstraints,
    QuotaRule,
    QuotaScope,
    base,
)
from edl.messages.scarcity_messages import listed
from edl.model import QuotaCharge
from edl.model.quotas import GPUS
from edl.quantities import SHARED_GPU, Resources, number_text, pod_limits, pod_requests, quantity
from edl.writes import Json

_MUST_BE_NAMED: Final = frozenset(
    f"{prefix}{name}" for prefix in ("", "requests.", "limits.") for name in ("cpu", "memory")
)


_NOTHING: Final = Resources()
_KEPT: Final = 16 * 1024
"""Templates of more bytes are not cached, since users choose their length."""


class AdmittedPod(NamedTuple):
    """A pod as admitted; with `refusals`, it is not."""

    requests: Resources
    charges: tuple[QuotaCharge, ...] = ()
    refusals: tuple[str, ...] = ()
    limits: Resources = Resources()


def admit(
    template: bytes,
    rules: NamespaceConstraints,
    share: int = 0,
    overhead: tuple[tuple[str, str], ...] = (),
    added: Resources = _NOTHING,
) -> AdmittedPod:
    """The result of admission for a pod of this template (`admission_inputs`).

    `share`: its share of a GPU, in thousandths. `overhead`: of its RuntimeClass, as quantities.
    `added`: requests of containers that webhooks inject.
    """
    admission = _known if len(template) <= _KEPT else _admitted
    return admission(template, rules, share, overhead, added)


def _admitted(
    template: bytes,
    rules: NamespaceConstraints,
    share: int,
    overhead: tuple[tuple[str, str], ...],
    added: Resources,
) -> AdmittedPod:
    # Limits are requests by default: the API's own default (SetDefaults_Pod) precedes admission.
    pod = _changed(msgspec.json.decode(template), lambda asked, limit: (limit | asked, limit))
    if overhead:
        pod = pod | {"overhead": dict(overhead)}
    for limit_range in rules.ranges:
        pod = _with_defaults(pod, limit_range)
    requests = pod_requests(pod) + Resources.of({SHARED_GPU: share}) + added
    matching = [rule for rule in rules.quotas if _matches(rule, pod, rules.default_class)]
    refusals = [
        *(text for limit_range in rules.ranges for text in _out_of_range(limit_range, pod)),
        *(text for rule in matching for text in _unnamed(rule, pod)),
    ]
    limits = pod_limits(pod)
    charges = (*_charges(matching, requests, limits), *_gpus(rules, requests, pod))
    return AdmittedPod(requests, charges, tuple(dict.fromkeys(refusals)), limits)


_known: Final = lru_cache(maxsize=4096)(_admitted)


def _charges(
    matching: Iterable[QuotaRule], requests: Resources, limits: Resources
) -> Iterator[QuotaCharge]:
    for rule in matching:
        for resource in rule.resources:
            if resource in COUNTS:
                amount = 1
            else:
                amounts = limits if resource.startswith("limits.") else requests
                amount = amounts.get(base(resource))
            if amount:
                yield QuotaCharge(str(rule), resource, amount)


def _gpus(rules: NamespaceConstraints, requests: Resources, pod: Json) -> Iterator[QuotaCharge]:
    amount = (requests.get(contract.GPU_RESOURCE) + pod["gpus"]) * 1000 + requests.get(SHARED_GPU)
    if rules.gpu_budget and amount:
        yield QuotaCharge(contract.GPU_BUDGET, GPUS, amount)


# -- defaults --------------------------------------------------------------------------------------


def _each(pod: Json) -> list[dict[str, Any]]:
    return [*(pod.get("containers") or ()), *(pod.get("initContainers") or ())]


def _amounts(owner: Mapping[str, Any], kind: str) -> dict[str, Any]:
    return (owner.get("resources") or {}).get(kind) or {}


def _changed(pod: Json, change: Callable[[Json, Json], tuple[Json, Json]]) -> Json:
    """The pod with changed requests and limits of each container."""
    groups = {group: list[Json]() for group in ("containers", "initContainers")}
    for group, containers in groups.items():
        for container in pod.get(group) or ():
            amounts = (_amounts(container, kind) for kind in ("requests", "limits"))
            resources = dict(zip(("requests", "limits"), change(*amounts), strict=True))
            containers.append(container | {"resources": resources})
    return pod | groups


def _with_defaults(pod: Json, limit_range: LimitRangeFacts) -> Json:
    requests = dict(pair for bounds in limit_range.bounds for pair in bounds.requests)
    limits = dict(pair for bounds in limit_range.bounds for pair in bounds.limits)
    return _changed(pod, lambda asked, limited: (requests | asked, limits | limited))


# -- refusals --------------------------------------------------------------------------------------


class _Owner(NamedTuple):
    """What an item of a LimitRange constrains: a container, or the pod."""

    name: str
    requests: Resources
    limits: Resources


def _out_of_range(limit_range: LimitRangeFacts, pod: Json) -> Iterator[str]:
    parts = ((bounds, owner) for bounds in limit_range.bounds for owner in _owners(bounds, pod))
    texts = [f"{owner.name}{text}" for bounds, owner in parts for text in _beyond(bounds, owner)]
    if texts:
        way_out = "set amounts within these bounds, or change the LimitRange"
        yield f"{limit_range} refuses its pods: {listed(texts, '; ')}; {way_out}"


def _owners(bounds: LimitRangeItem, pod: Json) -> Iterator[_Owner]:
    if bounds.type == "Pod":
        bare = {name: part for name, part in pod.items() if name != "overhead"}
        yield _Owner("", pod_requests(bare), pod_limits(bare))
        return
    for container in _each(pod):
        requests, limits = (_amounts(container, kind) for kind in ("requests", "limits"))
        name = f'container "{container.get("name", "")}": '
        yield _Owner(name, Resources.parse(requests), Resources.parse(limits))


def _beyond(bounds: LimitRangeItem, owner: _Owner) -> Iterator[str]:
    field = f"spec.limits[{bounds.place}]"
    for name, least in bounds.least:
        yield from _below(owner, name, least, f"{field}.min.{name}")
    for name, most in bounds.most:
        yield from _above(owner, name, most, f"{field}.max.{name}")
    above_max = {name for name, most in bounds.most if owner.requests.get(name) > most}
    for name, default in bounds.limits:
        if name not in above_max:
            yield from _above_default(owner, name, default, f"{field}.default.{name}")
    for name, ratio in bounds.ratio:
        yield from _apart(owner, name, ratio, f"{field}.maxLimitRequestRatio.{name}")


def _below(owner: _Owner, name: str, least: int, field: str) -> Iterator[str]:
    asked, limit = owner.requests.get(name), owner.limits.get(name)
    where = f"below {number_text(name, least)} ({field})"
    if asked < least:
        yield f"requests.{name} {_text(name, asked)} is {where}"
    elif 0 < limit < least:
        yield f"limits.{name} {_text(name, limit)} is {where}"


def _above(owner: _Owner, name: str, most: int, field: str) -> Iterator[str]:
    asked, limit = owner.requests.get(name), owner.limits.get(name)
    where = f"above {number_text(name, most)} ({field})"
    if not limit:
        yield f"limits.{name} must be set, at most {number_text(name, most)} ({field})"
    elif limit > most:
        yield f"limits.{name} {_text(name, limit)} is {where}"
    elif asked > most:
        yield f"requests.{name} {_text(name, asked)} is {where}"


def _above_default(owner: _Owner, name: str, default: str, field: str) -> Iterator[str]:
    """Kubernetes fills in the limit, and then refuses the pod as its request exceeds it."""
    asked, limit = owner.requests.get(name), owner.limits.get(name)
    if asked > limit == Resources.parse({name: default}).get(name):
        limited = f"{_text(name, limit)}, the limit of containers that set none ({field})"
        yield f"requests.{name} {_text(name, asked)} is above {limited}"


def _apart(owner: _Owner, name: str, ratio: str, field: str) -> Iterator[str]:
    asked, limit = owner.requests.get(name), owner.limits.get(name)
    if not asked or not limit:
        yield f"requests.{name} or limits.{name} is missing, and {field} compares them"
    elif limit > quantity(ratio) * asked:
        yield f"limits.{name} {_text(name, limit)} is more than {ratio} times its request ({field})"


def _text(name: str, amount: int) -> str:
    return number_text(name, amount) if amount else "(missing)"


def _unnamed(rule: QuotaRule, pod: Json) -> Iterator[str]:
    """Refusals by a CPU or memory quota, which requires every container to set that resource.

    Kubernetes calls this a mistake, and keeps it for compatibility.
    """
    lacking: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    asked = dict.fromkeys(_asked(rule, pod))
    for container in _each(pod):
        unnamed = (part for part in asked if part[1] not in _amounts(container, part[0]))
        lacking[tuple(map(".".join, unnamed))].append(f'"{container.get("name", "")}"')
    for resources, names in lacking.items():
        if resources:
            *some, last = names
            several = f"containers {', '.join(some)} and {last} set"
            containers = several if some else f"container {last} sets"
            what = " and ".join(f"no {resource}" for resource in resources)
            them = "it" if len(resources) == 1 else "them"
            way_out = f"set {them}, or create a LimitRange with defaults"
            yield f"{rule} refuses its pods: {containers} {what}; {way_out}"


def _asked(rule: QuotaRule, pod: Json) -> Iterator[tuple[str, str]]:
    """(kind, resource) that every container must set for a quota, e.g. `("requests", "cpu")`."""
    for resource in rule.resources:
        kind = "limits" if resource.startswith("limits.") else "requests"
        if resource in _MUST_BE_NAMED and base(resource) not in _amounts(pod, kind):
            yield kind, base(resource)


# -- scopes ----------------------------------------------------------------------------------------


def _matches(rule: QuotaRule, pod: Json, default_class: str) -> bool:
    return all(_in_scope(scope, pod, default_class) for scope in rule.scopes)


def _in_scope(scope: QuotaScope, pod: Json, default_class: str) -> bool:
    match scope.name:
        case "Terminating" | "NotTerminating":
            return (pod.get("activeDeadlineSeconds") is not None) == (scope.name == "Terminating")
        case "BestEffort" | "NotBestEffort":
            return _is_best_effort(pod) == (scope.name == "BestEffort")
        case "PriorityClass":
            return _has_class(scope, pod.get("priorityClassName") or default_class)
        case "CrossNamespacePodAffinity":
            return bool(pod.get("crossNamespace"))
    return False


def _has_class(scope: QuotaScope, name: str) -> bool:
    match scope.operator:
        case "In":
            return name in scope.values
        case "NotIn":
            return name not in scope.values
        case "DoesNotExist":
            return not name
    return bool(name)


def _is_best_effort(pod: Json) -> bool:
    amounts = (
        _amounts(owner, kind).get(name)
        for owner in (pod, *_each(pod))
        for kind in ("requests", "limits")
        for name in ("cpu", "memory")
    )
    return not any(text is not None and quantity(str(text)) for text in amounts)
