"""The teams by which is decided: those of the last document that could be read."""

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
    """Where the leader keeps what it decides by."""
    return ObjectRef("ConfigMap", cluster.system_namespace, contract.TEAMS_APPLIED_CONFIG_MAP)


class TeamsReading(msgspec.Struct, frozen=True):
    """`data` is what `teams` were read from; `findings` say why a newer document is not read."""

    teams: Teams = Teams()
    data: Mapping[str, str] = msgspec.field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    version: str | None = None
    """The last ConfigMap that was read; empty where there was none, None before that."""


class TeamSource:
    """Reads each version of the ConfigMap once. One thread calls `teams`; others read `reading`.

    A document that cannot be read changes nothing. Where this process has not seen another one
    before, `applied` says by which data the last leader decided.
    """

    def __init__(self, store: Store[ConfigMapFacts], cluster: Cluster) -> None:
        self._store = store
        self._cluster = cluster
        self.reading = TeamsReading()

    def teams(self) -> Teams:
        """Raises ClusterError where only the API server knows, and does not answer."""
        found = next(iter(self._store.values()), None)
        version = found.version if found else ""
        if version != self.reading.version:
            self.reading = self._read(found.data if found else {}, version)
        return self.reading.teams

    def forget(self) -> None:
        """Others decide meanwhile: what they read last, `applied` says."""
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
    """What the last leader decided by; no teams where it left nothing that can be read.

    Raises ClusterError while that is not known: what is guaranteed must not be lost to an outage.
    """
    try:
        data = cluster.get(applied_teams_ref(cluster)).get("data") or {}
        return TeamsReading(teams_of(data), data)
    except (NotFound, Forbidden, Denied):
        return TeamsReading()
