"""Checks that the teams' ConfigMap is valid, and that the nodes cover the guarantees."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Final

from edl import contract
from edl.errors import Denied, Forbidden, NotFound
from edl.kube.cluster import ListOptions
from edl.model import ObjectRef, Teams
from edl.parsing.team_config_map import teams_of
from edl.visibility.team_figures import excess_guarantees
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

_NONE: Final = "no teams are configured"


def teams(context: CheckContext) -> CheckResults:
    """Check the ConfigMap. An invalid one is a failure: the previous teams stay in effect."""
    namespace, edit = context.system_namespace, _edit(context)
    where = f"ConfigMap {namespace}/{contract.TEAMS_CONFIG_MAP}"
    target = ObjectRef("ConfigMap", namespace, contract.TEAMS_CONFIG_MAP)
    try:
        data = context.cluster.get(target).get("data") or {}
        configured = teams_of(data)
    except NotFound:
        yield _left_behind(context) or ok(_NONE)
        return
    except Denied as denied:
        what = f"{where} is not in effect, the teams before it are"
        yield from first([failure(f"{what}: {one}", edit) for one in denied.findings], edit)
        return
    if not configured:
        yield ok(_NONE)
        return
    claims = _claims(context, configured)
    results = [
        *_above_nodes(context, configured),
        *_contradictions(claims, edit),
        *_without_namespaces(configured, claims, edit),
    ]
    count = sum(1 for team in configured if team.name != "default")
    some = "1 team is configured" if count == 1 else f"{count} teams are configured"
    none = some if count else _NONE
    yield from first(results, FixCommand("kubectl get namespaces --show-labels"), none)


def _edit(context: CheckContext) -> str:
    name, namespace = contract.TEAMS_CONFIG_MAP, context.system_namespace
    return FixCommand(f"kubectl edit configmap {name} -n {namespace}")


def _above_nodes(context: CheckContext, teams: Teams) -> Iterator[CheckResult]:
    """Warn if guarantees exceed the nodes' capacity."""
    if not any(teams.guaranteed[name] for name in teams.children.get("", ())):
        return
    for excess in excess_guarantees(teams, context.nodes.values()):
        yield warning(str(excess), FixCommand("kubectl edl teams; lower a guarantee, or add nodes"))


def _left_behind(context: CheckContext) -> CheckResult | None:
    """The teams of an earlier installation, whose namespace is kept for them."""
    name, here = contract.TEAMS_CONFIG_MAP, context.system_namespace
    with suppress(Forbidden):
        listing = context.cluster.list(ListOptions("ConfigMap", name=name))
        for manifest in listing.manifests():
            where = manifest["metadata"]["namespace"]
            return warning(
                f"{_NONE}: the ConfigMap {where}/{name} has no effect, as kubectl-edl is "
                f"installed in {here}",
                FixCommand(
                    f"kubectl get configmap {name} -n {where} -o yaml; copy its data into a "
                    f"ConfigMap {name} in namespace {here}, or delete it"
                ),
            )
    return None


def _claims(context: CheckContext, teams: Teams) -> Mapping[str, tuple[str, ...]]:
    """The teams that claim each namespace; it belongs to the first."""
    return {
        facts.name: teams.matches(facts.name, dict(facts.labels)) for facts in context.namespaces
    }


def _contradictions(claims: Mapping[str, tuple[str, ...]], edit: str) -> Iterator[CheckResult]:
    """Namespaces that two teams claim by patterns or labels: the first by name gets them."""
    for name, matching in claims.items():
        if len(matching) > 1:
            names = " and ".join(matching)
            yield warning(
                f"namespace {name} is claimed by {names}: it belongs to {matching[0]}",
                FixCommand(f"name it in the team that it belongs to: {edit}"),
            )


def _without_namespaces(
    teams: Teams, claims: Mapping[str, tuple[str, ...]], edit: str
) -> Iterator[CheckResult]:
    """Teams whose guarantee serves no namespace: deleted, misspelt, or claimed more exactly."""
    used = {name for matching in claims.values() for name in teams.path(matching[0])}
    for team in teams:
        if team.guaranteed and team.name not in used:
            yield warning(
                f"team {team.name} has a guarantee and no namespace: none matches, or each that "
                "matches belongs to another team",
                FixCommand(f"correct its namespaces: {edit}"),
            )
