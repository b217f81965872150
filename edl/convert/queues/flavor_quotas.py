"""Kueue's `resourceGroups`: quotas per flavor and resource become one team's capacity."""

from collections import defaultdict
from typing import Final

import msgspec

from edl.convert.queues.queue_facts import QueueCapacity
from edl.convert.queues.resource_amounts import amount
from edl.convert.tracked_object import Fields
from edl.parsing.team_fields import SHARES, is_resource
from edl.quantities import SHARED_GPU

_SPLIT: Final = "keep what is not lent in a team of its own, with lend: false"
_SEVERAL: Final = "amounts of all flavors are added up; jobs choose nodes by their node affinity"
_UNBOUNDED: Final = "another flavor of the resource has no such limit, and a team has one for all"
_LIMIT: Final = "write a limit of the resource into the team"
_UNKNOWN: Final = (
    "name cpu, memory, an extended resource or deviceclass.resource.kubernetes.io/NAME"
)


class _ResourceQuota(msgspec.Struct, frozen=True):
    """The quota of one resource in one flavor; None if a limit is not set."""

    fields: Fields
    resource: str
    nominal: int
    borrowing: int | None
    lending: int | None

    @property
    def keeps(self) -> bool:
        """Whether nothing of the quota is lent."""
        return self.lending == 0 and self.nominal > 0

    @property
    def lends_part(self) -> bool:
        return self.lending is not None and 0 < self.lending < self.nominal


def read(spec: Fields, *, is_on_top: bool) -> QueueCapacity:
    """The capacity of a ClusterQueue or Cohort; takes the field `resourceGroups`."""
    quotas = [quota for group in spec.entries("resourceGroups") for quota in _group(group)]
    guaranteed: defaultdict[str, int] = defaultdict(int)
    borrowing: defaultdict[str, int] = defaultdict(int)
    for quota in quotas:
        guaranteed[quota.resource] += quota.nominal
        borrowing[quota.resource] += quota.borrowing or 0
    unlimited = {quota.resource for quota in quotas if quota.borrowing is None}
    for quota in quotas:
        if quota.resource in unlimited and quota.borrowing is not None:
            quota.fields.lose("borrowingLimit", _UNBOUNDED, _LIMIT)
    limited = {name: more for name, more in borrowing.items() if name not in unlimited}
    return QueueCapacity(guaranteed, is_on_top, limited, lend=_lends(quotas))


def _group(group: Fields) -> list[_ResourceQuota]:
    group.value("coveredResources")
    flavors = group.entries("flavors")
    for flavor in flavors[1:]:
        flavor.lose("name", "a team has one amount of each resource", _SEVERAL)
    for flavor in flavors:
        flavor.text("name")
    parsed = (_quota(entry) for flavor in flavors for entry in flavor.entries("resources"))
    return [quota for quota in parsed if quota]


def _quota(fields: Fields) -> _ResourceQuota | None:
    """None if teams do not count the resource, which is reported."""
    resource = fields.text("name")
    if not is_resource(resource):
        fields.lose("name", f'"{resource[:63]}" is not carried', _UNKNOWN)
        for name in ("nominalQuota", "borrowingLimit", "lendingLimit"):
            fields.value(name)
        return None
    return _ResourceQuota(
        fields,
        SHARED_GPU if resource == SHARES else resource,
        amount(fields, "nominalQuota", resource) or 0,
        amount(fields, "borrowingLimit", resource),
        amount(fields, "lendingLimit", resource),
    )


def _lends(quotas: list[_ResourceQuota]) -> bool:
    """Whether the team lends: False only if no quota is lent at all."""
    owned = [quota for quota in quotas if quota.nominal]
    if owned and all(quota.keeps for quota in owned):
        return False
    for quota in owned:
        if quota.keeps:
            quota.fields.lose("lendingLimit", "a team lends all of its resources or none", _SPLIT)
        elif quota.lends_part:
            quota.fields.lose("lendingLimit", "a part of what is idle cannot be lent", _SPLIT)
    return True
