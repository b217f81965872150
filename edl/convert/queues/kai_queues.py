"""KAI Scheduler's Queue.

Fields: KAI-Scheduler pkg/apis/scheduling/v2. CPU is in thousandths, memory in 10^6 bytes, GPUs in
whole GPUs or fractions; -1 means unlimited.
"""

from math import ceil, floor
from typing import Final

from edl import contract
from edl.convert.queues.queue_facts import QUEUE, QueueCapacity, QueueFacts, name_of
from edl.convert.queues.resource_amounts import number, weight
from edl.convert.tracked_object import Fields
from edl.quantities import CPU, MEMORY

_RESOURCES: Final = (
    ("gpu", contract.GPU_RESOURCE, 1),
    ("cpu", CPU, 1),
    ("memory", MEMORY, 1000 * 1000),
)
"""KAI's name, the resource, and our units per KAI unit. The first weight set is the team's."""
_UNBOUNDED: Final = -1
_USUAL_PRIORITY: Final = 100
_SPEC_FIELDS: Final = {
    "preemptMinRuntime": "edl.dev/cooldown says how often a job is resized",
    "reclaimMinRuntime": "reclaim: replicas takes no whole jobs; without it the youngest go first",
}


def read_queue(document: Fields) -> QueueFacts:
    _, name = name_of(document)
    spec = document.fields("spec")
    if spec.text("displayName"):
        spec.note("displayName", "left out: a team is known by its name")
    parent = spec.text("parentQueue")
    _priority(spec)
    for field, instead in _SPEC_FIELDS.items():
        spec.drop(field, instead=instead)
    resources = spec.fields("resources")
    by_name = {kai: resources.fields(kai) for kai, _, _ in _RESOURCES if resources.has(kai)}
    capacity = _capacity(by_name)
    return QueueFacts(
        kind=QUEUE,
        name=name,
        fields=document,
        parent=parent,
        parent_place=(*spec.place, "parentQueue"),
        capacity=capacity,
        weight=_weight(by_name),
        reclaims_jobs=any(capacity.guaranteed.values()),
    )


def _priority(spec: Fields) -> None:
    priority = spec.whole("priority", least=-(2**31))
    if priority not in (None, _USUAL_PRIORITY):
        what = f"{str(priority)[:63]} has no counterpart"
        instead = "weights divide what is idle; PriorityClasses order borrowers"
        spec.lose("priority", what, instead)


def _capacity(resources: dict[str, Fields]) -> QueueCapacity:
    """A limit that is 0 or absent allows nothing beyond the quota."""
    guaranteed: dict[str, int] = {}
    limits: dict[str, int] = {}
    for kai, resource, units in _RESOURCES:
        fields = resources.get(kai)
        if fields is None:
            continue
        quota = number(fields, "quota") or 0
        limit = number(fields, "limit") or 0
        if quota == _UNBOUNDED:
            instead = "guarantee what the nodes have, or leave it out: what is idle is shared"
            fields.lose("quota", "a guarantee without a bound has no counterpart", instead)
        else:
            guaranteed[resource] = _units(fields, "quota", quota * units)
        if _UNBOUNDED not in (limit, quota):
            limits[resource] = max(_units(fields, "limit", limit * units), guaranteed[resource])
            if 0 < limit < quota:
                instead = "lower the guarantee where the limit is what counts"
                fields.lose("limit", "it is below the quota, which is the limit now", instead)
        elif limit > 0:
            limits[resource] = _units(fields, "limit", limit * units)
    return QueueCapacity(guaranteed, limit=limits)


def _units(fields: Fields, name: str, amount: float) -> int:
    """Whole units: GPUs are rounded down, which is reported; other resources are rounded up."""
    if amount == int(amount):
        return int(amount)
    if fields.place[-1] != "gpu":
        return ceil(amount)
    instead = f"guarantee parts of GPUs as {contract.SHARED_GPU_REQUEST}"
    fields.lose(
        name,
        f"{amount:g} GPUs are {floor(amount)}: {contract.GPU_RESOURCE} counts whole ones",
        instead,
    )
    return floor(amount)


def _weight(resources: dict[str, Fields]) -> float:
    weights = [
        (fields, value)
        for fields in resources.values()
        if (value := weight(fields, "overQuotaWeight")) is not None
    ]
    if not weights:
        return 1.0
    _, team = weights[0]
    for fields, value in weights[1:]:
        if value != team:
            what = f"{value:g} is not carried: the team has one weight, {team:g}"
            fields.lose("overQuotaWeight", what, "name the weight that counts in the team")
    return team
