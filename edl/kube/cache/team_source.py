"""The teams in effect: those of the last valid document."""

from collections.abc import Mapping

import msgspec

from edl import contract
from edl.errors import Denied, Finding, Forbidden, NotFound
from edl.kube.cache.store import Store
from edl.kube.cluster import Cluster
from edl.kube.decode.config_maps import ConfigMapFacts
from edl.model import ObjectRef, Teams
from edl.parsing.team_config_map import teams_of


def applied_teams_ref(cluster: Cluster) -> ObjectRef:
    """The ConfigMap in which the leader keeps the document in effect."""
    return ObjectRef("ConfigMap", cluster.system_namespace, contract.TEAMS_APPLIED_CONFIG_MAP)


class TeamsReading(msgspec.Struct, frozen=True):
    """The result of a read.

    `data` is the source of `teams`; `findings` tell why newer data is invalid.
    """

    teams: Teams = Teams()
    data: Mapping[str, str] = msgspec.field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    version: str | None = None
    """The resource version of the last ConfigMap read; empty if there was none, None before a
    read."""


class TeamSource:
    """Parses each version of the ConfigMap once. One thread calls `teams`; others read `reading`.

    An invalid document changes nothing. If this process has not read a valid one before, the
    ConfigMap `edl-teams-applied` has the data by which the last leader decided.
    """

    def __init__(self, store: Store[ConfigMapFacts], cluster: Cluster) -> None:
        self._store = store
        self._cluster = cluster
        self.reading = TeamsReading()

    def teams(self) -> Teams:
        """The teams in effect.

        Raises ClusterError if they must be read from the API server, and it does not answer.
        """
        config_map = next(iter(self._store.values()), None)
        version = config_map.version if config_map else ""
        if version != self.reading.version:
            self.reading = self._read(config_map.data if config_map else {}, version)
        return self.reading.teams

    def forget(self) -> None:
        """Discards the reading, as another leader decides meanwhile and may read newer data."""
        self.reading = TeamsReading()

    def _read(self, data: Mapping[str, str], version: str) -> TeamsReading:
        before = self.reading
        try:
            return TeamsReading(teams_of(data), data, version=version)
        except Denied as denied:
            findings = denied.findings
        if before.version is None:
            before = last_applied(self._cluster)
        return TeamsReading(before.teams, before.data, findings, version)


def last_applied(cluster: Cluster) -> TeamsReading:
    """The teams by which the last leader decided; none if it left no valid document.

    Raises ClusterError while that is unknown: an outage must not drop guarantees.
    """
    try:
        data = cluster.get(applied_teams_ref(cluster)).get("data") or {}
        return TeamsReading(teams_of(data), data)
    except (NotFound, Forbidden, Denied):
        return TeamsReading()
