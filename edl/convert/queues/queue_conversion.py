"""Converts all queues of a stream into one ConfigMap of teams.

Queues refer to each other, so they are read together; each remark stays with its document.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from edl import contract
from edl.convert.diagnostics import Remark
from edl.convert.queues import kai_queues, kueue_queues
from edl.convert.queues.queue_facts import (
    CLUSTER_QUEUE,
    COHORT,
    FLAVOR,
    LOCAL_QUEUE,
    QUEUE,
    NamespaceClaim,
    QueueFacts,
    QueueKey,
)
from edl.convert.queues.team_capacity import capacities, report_islands
from edl.convert.queues.team_namespaces import TeamNamespaces, namespaces_of
from edl.convert.queues.team_parents import named_teams, report_circles, with_named_cohorts
from edl.convert.source_kind import ApiKind, api_of, unknown_version
from edl.convert.tracked_object import ConversionReport, Fields
from edl.errors import Denied, Finding, Findings, findings_of
from edl.model import Reclaim, Team, Teams
from edl.parsing.strict_yaml import load
from edl.parsing.team_document import BOUNDS, MAX_TEAMS, parse_teams, render_teams
from edl.parsing.team_fields import TeamReader
from edl.quantities import Resources
from edl.writes import Json

_KUEUE: Final = "kueue.x-k8s.io"
_KAI: Final = "scheduling.run.ai"
_KUEUE_VERSIONS: Final = ("v1beta1", "v1beta2")
_READ: Final[Mapping[ApiKind, Callable[[Fields], QueueFacts | NamespaceClaim | None]]] = {
    (_KUEUE, CLUSTER_QUEUE): kueue_queues.read_cluster_queue,
    (_KUEUE, COHORT): kueue_queues.read_cohort,
    (_KUEUE, LOCAL_QUEUE): kueue_queues.read_local_queue,
    (_KUEUE, FLAVOR): kueue_queues.read_flavor,
    (_KAI, QUEUE): kai_queues.read_queue,
}
_VERSIONS: Final[Mapping[ApiKind, tuple[str, ...]]] = {
    **dict.fromkeys(_READ, _KUEUE_VERSIONS),
    (_KUEUE, COHORT): ("v1alpha1", *_KUEUE_VERSIONS),
    (_KAI, QUEUE): ("v2",),
}


class ConvertedQueues(msgspec.Struct, frozen=True):
    """The ConfigMap, None if a document cannot be converted, and one report per document."""

    manifest: Json | None
    reports: tuple[ConversionReport, ...]


def is_queue(document: Json) -> bool:
    """Whether this module converts the document."""
    api, version = api_of(document)
    return version in _VERSIONS.get(api, ())


def unread_version(api: ApiKind, version: str) -> Remark | None:
    """The remark on a queue of an unknown API version; None for other documents."""
    if api not in _VERSIONS or version in _VERSIONS[api]:
        return None
    return unknown_version(api, version, _VERSIONS[api])


def teams_of_queues(documents: Sequence[Json], system_namespace: str) -> ConvertedQueues:
    """The teams of all queues; `is_queue` must be true for each document.

    `system_namespace` is the namespace of kubectl-edl, where it reads the ConfigMap.
    """
    reports = tuple(ConversionReport() for _ in documents)
    queues: list[QueueFacts] = []
    claims: list[NamespaceClaim] = []
    for document, report in zip(documents, reports, strict=True):
        facts = _READ[api_of(document)[0]](Fields(document, (), report))
        if isinstance(facts, QueueFacts):
            queues.append(facts)
        elif facts:
            claims.append(facts)
    text = _text(queues, claims, reports)
    for report in reports:
        report.finish()
    return ConvertedQueues(_config_map(text, system_namespace) if text else None, reports)


def _config_map(text: str, namespace: str) -> Json:
    metadata = {"name": contract.TEAMS_CONFIG_MAP, "namespace": namespace}
    data = {contract.TEAMS_KEY: text}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def _text(
    queues: Sequence[QueueFacts],
    claims: Sequence[NamespaceClaim],
    reports: Sequence[ConversionReport],
) -> str:
    """The teams document; empty if there are no queues or the conversion fails."""
    every = with_named_cohorts(queues)
    if len(every) > MAX_TEAMS:
        what = f"with it there are {len(every)} queues and cohorts"
        every[-1].fields.wrong("", what, f"at most {MAX_TEAMS} become teams")
        return ""
    names = named_teams(every)
    report_circles(every)
    if not every or any(report.wrong for report in reports):
        return ""
    top_down = _top_down(every)
    report_islands(every)
    teams = _teams(top_down, names, namespaces_of(every, claims, names))
    text = render_teams(Teams.of(teams))
    _check(text, {names[queue.key]: queue for queue in every})
    return "" if any(report.wrong for report in reports) else text


def _top_down(queues: Sequence[QueueFacts]) -> tuple[QueueFacts, ...]:
    """Queues ordered with parents before their children."""
    below: dict[QueueKey | None, list[QueueFacts]] = {}
    for queue in queues:
        below.setdefault(queue.parent_key, []).append(queue)
    level = below.get(None, [])
    ordered: list[QueueFacts] = []
    while level:
        ordered += level
        level = [child for queue in level for child in below.get(queue.key, ())]
    return tuple(ordered)


def _teams(
    top_down: Sequence[QueueFacts],
    names: Mapping[QueueKey, str],
    namespaces: Mapping[QueueKey, TeamNamespaces],
) -> Iterator[Team]:
    by_queue = capacities(top_down)
    for queue in top_down:
        capacity = by_queue[queue.key]
        chosen = namespaces.get(queue.key, TeamNamespaces())
        yield Team(
            name=names[queue.key],
            parent=names[queue.parent_key] if queue.parent_key else "",
            namespaces=chosen.names,
            selector=chosen.selector,
            guaranteed=Resources.of(capacity.guaranteed),
            limit=tuple(sorted(capacity.limit.items())),
            weight=queue.weight,
            lend=capacity.lend,
            reclaim=Reclaim.JOBS if queue.reclaims_jobs else Reclaim.REPLICAS,
        )


def _check(text: str, queues: Mapping[str, QueueFacts]) -> None:
    """Report errors of our own teams parser at the queue that became the team."""
    first = next(iter(queues.values()))
    try:
        document = load(text, BOUNDS)
    except Denied as denied:
        _report(first, denied.findings)
        return
    entries = document.get("teams") if isinstance(document, dict) else None
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict) and (queue := queues.get(str(entry.get("name")))):
            findings = Findings()
            TeamReader(f"team {queue.name}", entry, findings).team()
            _report(queue, findings)
    if not any(queue.fields.is_wrong for queue in queues.values()):
        _report(first, findings_of(parse_teams, text))


def _report(queue: QueueFacts, findings: Iterable[Finding]) -> None:
    for finding in findings:
        queue.fields.wrong(
            "", f"as {contract.TEAMS_CONFIG_MAP}: {finding.path}: {finding.what}", finding.allowed
        )
