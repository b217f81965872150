"""Stores the teams document that the leader decides by: the next leader may need it."""

import logging
from collections.abc import Callable
from typing import Final

from prometheus_client import Gauge

from edl import contract
from edl.errors import ClusterError
from edl.kube.cache.team_source import TeamsReading, applied_teams_ref
from edl.kube.cluster import Cluster, find
from reconciler.controller import FOLLOWING
from reconciler.leader_only_cluster import NotLeading

_log: Final = logging.getLogger(__name__)
AFTER_ERROR: Final = 30.0
"""Seconds."""
_INVALID: Final = "ConfigMap %s/%s is invalid, %s: %s"


class AppliedTeams:
    """Stores the document when it changes, and logs invalid documents in every process."""

    def __init__(
        self, cluster: Cluster, reading: Callable[[], TeamsReading], invalid: Gauge
    ) -> None:
        self._cluster = cluster
        self._ref = applied_teams_ref(cluster)
        self._reading = reading
        self._invalid = invalid
        self._logged: TeamsReading | None = None
        self._written: TeamsReading | None = None

    def lead(self) -> float:
        """Returns the seconds until the next run."""
        reading = self._reading()
        self._tell(reading)
        # A document that is invalid from the start: the last leader's one is kept.
        unknown = reading.version is None or (reading.findings and not reading.data)
        if not unknown and reading is not self._written:
            try:
                self._write(reading)
            except NotLeading:
                raise
            except ClusterError as error:
                _log.warning("cannot store the applied teams: %s", error)
                return AFTER_ERROR
            self._written = reading
        return FOLLOWING

    def follow(self) -> None:
        self._tell(self._reading())
        self._written = None

    def _write(self, reading: TeamsReading) -> None:
        config_map = find(self._cluster, self._ref)
        before = (config_map or {}).get("data") or {}
        if before == reading.data:
            return
        if config_map is None:
            metadata = {"name": self._ref.name, "namespace": self._ref.namespace, "labels": _LABELS}
            manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
            self._cluster.create(self._ref, manifest | {"data": dict(reading.data)})
            return
        gone = dict.fromkeys(before.keys() - reading.data.keys())
        version = config_map["metadata"]["resourceVersion"]
        body = {"metadata": {"resourceVersion": version}, "data": {**gone, **reading.data}}
        self._cluster.patch(self._ref, body)

    def _tell(self, reading: TeamsReading) -> None:
        """Logs each document once, and sets the gauge."""
        self._invalid.set(bool(reading.findings))
        if reading.version is None:
            self._logged = None
        elif self._logged is None or self._logged.version != reading.version:
            if reading.findings:
                instead = "keeping the previous teams" if reading.data else "no teams are in effect"
                place = self._ref.namespace, contract.TEAMS_CONFIG_MAP, instead
                _log.warning(_INVALID, *place, " | ".join(map(str, reading.findings)))
            elif self._logged and self._logged.findings:
                _log.info("the teams document is valid again")
            self._logged = reading


_LABELS: Final = {
    "app.kubernetes.io/name": "edl-reconciler",
    contract.MANAGED_BY_LABEL: contract.MANAGED_BY,
}
