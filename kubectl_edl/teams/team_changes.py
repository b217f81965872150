"""Changes the teams' ConfigMap: validates the result before writing it, and retries conflicts."""

from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from http import HTTPStatus
from typing import Final

from edl import contract
from edl.errors import Denied, Forbidden, NotFound
from edl.kube.auth.user_roles import EDITOR, VIEWER
from edl.kube.cluster import ListOptions, PluginCluster, find
from edl.kube.decode.object_facts import node
from edl.kube.dra.dra_facts import DeviceClassFacts, device_class
from edl.messages.scarcity_messages import listed
from edl.model import NamespacePattern, Node, ObjectRef, Teams
from edl.parsing.team_config_map import overlaps, teams_of
from edl.parsing.team_document import parse_teams
from edl.parsing.team_edits import taken_away
from edl.parsing.team_fields import resource_name
from edl.parsing.yaml_edits import lost_comments
from edl.quantities import DEVICE_CLASS, SHARED_GPU
from edl.similar_names import did_you_mean, nearest
from edl.visibility.team_figures import excess_guarantees
from edl.writes import Json, Patch
from kubectl_edl.cli.command_errors import Refused
from kubectl_edl.cli.context import CliContext, ClusterConnection, Scope
from kubectl_edl.cli.interaction import confirmed
from kubectl_edl.cli.options import ConfirmOptions
from kubectl_edl.client.optional_reads import Hints, read_if_allowed
from kubectl_edl.client.patcher import REMARKS, Patcher, with_fresh_state
from kubectl_edl.output.line_diff import line_diff
from kubectl_edl.resources.source_manifest import as_applied

_MAX_LOSSES: Final = 5
_LAST: Final = (
    "hint: this is the last team: without it no namespace has a guarantee or a limit of a team; "
    "ConfigMap {0.namespace}/{0.name} stays, with an empty list"
)
_SIMILAR: Final = 0.8
"""The least similarity (difflib) of a misspelt resource."""


def change_teams(
    cli: CliContext, scope: Scope, how: ConfirmOptions, edit: Callable[[str], str]
) -> str:
    """Change the document; returns the end of the message, "unchanged" if nothing changes.

    A dry run prints the difference. `edit` returns the new document for the old one. Raises Denied,
    and Refused without a terminal to confirm.
    """
    cluster = cli.connect(scope).cluster
    agreed: list[tuple[str, ...]] = []
    warned: set[str] = set()

    def once() -> str:
        stored = _stored(cluster)
        text = str(((stored or {}).get("data") or {}).get(contract.TEAMS_KEY, ""))
        before, new = parse_teams(text), edit(text)
        after = parse_teams(new)
        teams_of({contract.TEAMS_KEY: new})
        if before == after:
            return f"unchanged{REMARKS[how.dry_run]}"
        for warning in _warnings(cluster, before, after):
            if warning not in warned:
                cli.warn(warning)
            warned.add(warning)
        lost = taken_away(before, after)
        if not _agreed(cli, how, lost, agreed):
            return "not changed"
        if comments := lost_comments(text, new):
            count = "1 comment goes" if len(comments) == 1 else f"{len(comments)} comments go"
            cli.warn(f"hint: {count} with what is changed: {comments[0]}")
        done = _write(cluster, how, stored, new, scope.edl_flags)
        if before and not after:
            cli.warn(_LAST.format(_document(cluster)))
        for line in _difference(text, new) if how.dry_run != "none" else ():
            cli.say(line)
        return done

    return with_fresh_state(once, cli.sleep)


def _stored(cluster: PluginCluster) -> Json | None:
    """The stored document; None if there is none. Raises Forbidden with all that a change takes."""
    try:
        return find(cluster, _document(cluster))
    except Forbidden as error:
        if error.status == HTTPStatus.UNAUTHORIZED:  # its text says how to log in
            raise
        more = (
            f"to change teams, ask for the right to patch it, too: {VIEWER} and {EDITOR} do not "
            "have it"
        )
        raise Forbidden(f"{error}; {more}", error.status) from error


def _warnings(cluster: PluginCluster, before: Teams, after: Teams) -> Iterator[str]:
    nodes, _ = read_if_allowed(
        lambda: [node(raw) for raw in cluster.list(ListOptions("Node")).items], ""
    )
    classes, unread = read_if_allowed(lambda: _device_classes(cluster), "")
    if nodes and not unread:
        extended = {device.extended for device in classes if device.extended}
        yield from _unknown_resources(nodes, extended, before, after)
    if nodes:
        yield from _above_nodes(nodes, before, after)
    yield from _overlaps(before, after)
    yield from _absent_namespaces(cluster, before, after)


def _device_classes(cluster: PluginCluster) -> Sequence[DeviceClassFacts]:
    try:
        return [device_class(raw) for raw in cluster.list(ListOptions("DeviceClass")).items]
    except NotFound:  # an API server without DRA
        return ()


def _unknown_resources(
    nodes: Sequence[Node], classes: AbstractSet[str], before: Teams, after: Teams
) -> Iterator[str]:
    """Warnings about resources that teams name only now, and that no node has.

    They are allowed, as nodes come and go. `classes`: extended resources of DeviceClasses.
    """
    named = _resources(before)
    there = classes | {name for node in nodes for name, _ in node.allocatable}
    new = sorted(
        name
        for name in _resources(after) - named
        if name != SHARED_GPU and DEVICE_CLASS not in name
    )
    for name in new:
        if name not in there:
            close = nearest(name, there, _SIMILAR) or nearest(name, named, _SIMILAR)
            meant = f": did you mean {resource_name(close)}?" if close else ""
            yield f"warning: no node has {name}, and no other team names it{meant}"


def _above_nodes(nodes: Sequence[Node], before: Teams, after: Teams) -> Iterator[str]:
    """Hints at guarantees that only now exceed the nodes that have the resource."""
    earlier = excess_guarantees(before, nodes)
    for excess in excess_guarantees(after, nodes):
        if excess.allocatable and excess not in earlier:
            yield f"hint: {excess}"


def _overlaps(before: Teams, after: Teams) -> Iterator[str]:
    earlier = overlaps(before)
    return (f"warning: {overlap}" for overlap in overlaps(after) if overlap not in earlier)


def _absent_namespaces(cluster: PluginCluster, before: Teams, after: Teams) -> Iterator[str]:
    """Hints at new names and patterns that no namespace matches; it may be created later."""
    names = {name for team in before for name in team.namespaces}
    new = sorted({name for team in after for name in team.namespaces} - names)
    if not new:
        return
    there, _ = read_if_allowed(
        lambda: [
            str(manifest["metadata"]["name"])
            for manifest in cluster.list(ListOptions("Namespace")).manifests()
        ],
        "",
    )
    for pattern in new if there else ():
        if not any(map(NamespacePattern.of(pattern).matches, there)):
            meant = did_you_mean(pattern, there, _SIMILAR)
            yield f"hint: no namespace matches {pattern} now{meant and f': {meant}'}"


def _resources(teams: Teams) -> set[str]:
    return {name for team in teams for name, _ in (*team.guaranteed, *team.limit)}


def _agreed(
    cli: CliContext, how: ConfirmOptions, lost: tuple[str, ...], agreed: list[tuple[str, ...]]
) -> bool:
    """Ask for confirmation of losses, once for the same ones; a dry run needs none."""
    if not lost or how.yes or how.dry_run != "none" or lost in agreed:
        return True
    if not confirmed(cli, f"{listed(lost, '; ', _MAX_LOSSES)}. Continue?"):
        return False
    agreed.append(lost)
    return True


def hints_about_document(connection: ClusterConnection) -> Hints:
    """A hint if the stored document is not in effect, as it is invalid."""
    target = _document(connection.cluster)
    try:
        teams_of((find(connection.cluster, target) or {}).get("data") or {})
    except Forbidden:
        return ()  # the survey has a hint about it
    except Denied as denied:
        what = f"ConfigMap {target.namespace}/{target.name} is not in effect, and these teams are"
        doctor = f"kubectl edl doctor{connection.scope.edl_flags}"
        return (f"hint: {what} those before it: {denied.findings[0]}; all findings: {doctor}",)
    return ()


def _difference(before: str, after: str) -> Iterator[str]:
    name = f"configmap/{contract.TEAMS_CONFIG_MAP}"
    return line_diff(before.splitlines(), after.splitlines(), (f"stored {name}", f"new {name}"))


def _document(cluster: PluginCluster) -> ObjectRef:
    return ObjectRef("ConfigMap", cluster.system_namespace, contract.TEAMS_CONFIG_MAP)


def _write(
    cluster: PluginCluster, how: ConfirmOptions, stored: Json | None, text: str, flags: str
) -> str:
    data, target = {contract.TEAMS_KEY: text}, _document(cluster)
    if stored is None:
        if how.dry_run != "client":
            manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": target.name}}
            whole = as_applied(manifest | {"data": data}, target.namespace)
            try:
                cluster.create(target, whole, dry_run=how.dry_run == "server")
            except NotFound as error:  # the namespace does not exist
                way = f"kubectl edl install --image IMAGE{flags}"
                raise Refused(f"kubectl-edl is not installed here: {error}; {way}") from error
        return f"written{REMARKS[how.dry_run]}"
    patcher = Patcher(cluster, how.dry_run)
    patcher.patch(Patch(target, stored["metadata"]["resourceVersion"], {"data": data}))
    return f"written{patcher.remark}"
