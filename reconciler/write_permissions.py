"""Checks that the leader may perform every write that its decisions need."""

import logging
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from threading import Event
from typing import Final

from prometheus_client import Gauge

from edl.errors import ClusterError
from edl.frameworks.base import ModeRight
from edl.kube.auth.access_review import AccessRight, MissingRights, lacking, whoami
from edl.kube.cluster import Cluster
from edl.planner.decision_limits import Autoscaler
from reconciler.controller import FOLLOWING

_log: Final = logging.getLogger(__name__)
_RBAC: Final = "rbac.authorization.k8s.io"

NEEDED: Final = (
    AccessRight("patch", "jobs", "batch"),
    AccessRight("patch", "pods"),
    AccessRight("delete", "pods"),
    AccessRight("patch", "pods/status"),
    AccessRight("create", "services"),
    AccessRight("create", "poddisruptionbudgets", "policy"),
    AccessRight("delete", "poddisruptionbudgets", "policy"),
    AccessRight("create", "resourceclaimtemplates", "resource.k8s.io"),
    AccessRight("delete", "provisioningrequests", "autoscaling.x-k8s.io"),
    AccessRight("delete", "podtemplates"),
    AccessRight("create", "configmaps"),
    AccessRight("patch", "configmaps", name="edl-queue"),
    AccessRight("delete", "configmaps", name="edl-queue"),
    AccessRight("create", "events"),
    AccessRight("patch", "events"),
)
"""The writes of the ClusterRole edl-reconciler: a test compares the two."""
OF_MODES: Final[Mapping[ModeRight, tuple[AccessRight, ...]]] = {
    ModeRight.SECRETS: (AccessRight("create", "secrets"),),
    ModeRight.ROLEBINDINGS: (
        AccessRight("create", "serviceaccounts"),
        AccessRight("create", "rolebindings", _RBAC),
        AccessRight("bind", "clusterroles", _RBAC, name="edl-launcher"),
    ),
}
"""Those of edl-reconciler-secrets and edl-reconciler-rolebindings."""
PROVISIONING: Final = (
    AccessRight("create", "pods"),
    AccessRight("create", "provisioningrequests", "autoscaling.x-k8s.io"),
    AccessRight("create", "podtemplates"),
)
"""Those of edl-reconciler-provisioning, which requests for nodes need."""

_MISSING: Final = (
    '"%s" may not %s: decisions that take such writes are not carried out; the '
    "manifests grant them to ServiceAccount %s/edl-reconciler (requests for nodes: with the fence)"
)
USUAL: Final = 300.0
"""Seconds between two checks while no right was missing and no write was refused."""
SOONEST: Final = 10.0
"""Seconds between two checks otherwise: a quota refuses writes, too."""


def needed(autoscaler: Autoscaler, withheld: Container[ModeRight] = ()) -> tuple[AccessRight, ...]:
    """The writes that decisions may need: without an autoscaler no nodes are requested."""
    modes = (one for right, given in OF_MODES.items() if right not in withheld for one in given)
    return (*NEEDED, *modes, *(() if autoscaler is Autoscaler.NONE else PROVISIONING))


@dataclass(slots=True)
class WritePermissions:
    """Checks when this process begins to lead and periodically; logs changes.

    `forbidden` is set by refused writes. `publish` is called with None while the result is unknown.
    """

    cluster: Cluster
    needed: Sequence[AccessRight]
    forbidden: Event
    gauge: Gauge
    publish: Callable[[MissingRights | None], None]
    monotonic: Callable[[], float]
    _missing: tuple[str, ...] = ()
    _looked: float | None = None
    _pause: float = 0.0

    def lead(self) -> float:
        """Checks, if a check is due; returns the seconds until the next run."""
        now = self.monotonic()
        pause = SOONEST if self.forbidden.is_set() else self._pause
        if self._looked is None or now >= self._looked + pause:
            self.forbidden.clear()
            self._looked, self._pause = now, self._check()
        return FOLLOWING

    def follow(self) -> None:
        self._looked = None
        self.gauge.set(0)

    def _check(self) -> float:
        """Checks once; returns the seconds until the next check."""
        try:
            missing = tuple(map(str, lacking(self.cluster, self.needed)))
            user = whoami(self.cluster)
        except ClusterError as error:
            _log.debug("cannot check write permissions: %s", error)
            self.publish(None)
            return SOONEST
        self.gauge.set(len(missing))
        self.publish(MissingRights(user, missing))
        if missing and missing != self._missing:
            _log.warning(_MISSING, user, ", ".join(missing), self.cluster.system_namespace)
        elif self._missing and not missing:
            _log.info("all write permissions are granted again")
        self._missing = missing
        return SOONEST if missing else USUAL
