"""Checks that the teams' ConfigMap is valid, and that the nodes cover the guarantees."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Final

from edl import contract
from edl.errors import Denied, NotFound
from edl.kube.cluster import ListOptions
from edl.kube.decode.object_facts import namespace, node
from edl.model import ObjectRef, Teams
from edl.parsing.team_config_map import teams_of
from edl.quantities import amount_text
from kubectl_edl.cli.suggested_commands import FixCommand
from kubectl_edl.doctor.checks.check import (
    CheckContext,
    CheckResult,
    CheckResults,
    failure,
    first,
    ok,
    warning,
)

_MOST: Final = 10
_NONE: Final = "no teams are configured"


def teams(context: CheckContext) -> CheckResults:
    """Check the ConfigMap. An invalid one is a failure: the previous teams stay in effect."""
    namespace, edit = context.system_namespace, _edit(context)
    where = f"ConfigMap {namespace}/{contract.TEAMS_CONFIG_MAP}"
    target = ObjectRef("ConfigMap", namespace, contract.TEAMS_CONFIG_MAP)
    try:
        data = context.connection.cluster.get(target).get("data") or {}
        found = teams_of(data)
    except NotFound:
        yield ok(_NONE)
        return
    except Denied as denied:
        for one in denied.findings[:_MOST]:
            yield failure(f"{where} is not in effect, the teams before it are: {one}", edit)
        if (more := len(denied.findings) - _MOST) > 0:
            yield failure(f"{where}: and {more} more", edit)
        return
    results = [*_above_nodes(context, found), *_contradictions(context, found)]
    count = sum(1 for team in found if team.name != "default")
    some = "1 team is configured" if count == 1 else f"{count} teams are configured"
    none = some if count else _NONE
    yield from first(results, FixCommand("kubectl get namespaces --show-labels"), none)


def _edit(context: CheckContext) -> str:
    name, namespace = contract.TEAMS_CONFIG_MAP, context.system_namespace
    return FixCommand(f"kubectl edit configmap {name} -n {namespace}")


def _above_nodes(context: CheckContext, found: Teams) -> Iterator[CheckResult]:
    """Warn if guarantees exceed the nodes' capacity, which may be temporary: nodes come and go."""
    owed: defaultdict[str, int] = defaultdict(int)
    for name in found.children.get("", ()):
        for resource, amount in found.guaranteed[name]:
            owed[resource] += amount
    if not owed:
        return
    there = _allocatable(context)
    for resource, amount in sorted(owed.items()):
        if amount > there.get(resource, 0):
            have = amount_text(resource, there.get(resource, 0))
            yield warning(
                f"teams are guaranteed {amount_text(resource, amount)}, and the nodes have {have}",
                FixCommand("kubectl edl teams; lower a guarantee, or add nodes"),
            )


def _allocatable(context: CheckContext) -> Mapping[str, int]:
    sums: defaultdict[str, int] = defaultdict(int)
    for raw in context.connection.cluster.list(ListOptions("Node")).items:
        for resource, amount in node(raw).allocatable:
            sums[resource] += amount
    return sums


def _contradictions(context: CheckContext, found: Teams) -> Iterator[CheckResult]:
    """Namespaces that two teams claim by patterns or labels: the first by name gets them."""
    for raw in context.connection.cluster.list(ListOptions("Namespace")).items:
        facts = namespace(raw)
        matching = found.matches(facts.name, dict(facts.labels))
        if len(matching) > 1:
            names = " and ".join(matching)
            yield warning(
                f"namespace {facts.name} is claimed by {names}: it belongs to {matching[0]}",
                FixCommand(f"name it in the team that it belongs to: {_edit(context)}"),
            )
