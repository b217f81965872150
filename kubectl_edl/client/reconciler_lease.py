"""Whether a reconciler leads now, judged by its Lease for all commands."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from enum import Enum, auto
from typing import TYPE_CHECKING, Final

from edl import contract
from edl.errors import ClusterError, Forbidden, NotFound
from edl.kube.auth.access_review import read as missing_rights
from edl.model import ObjectRef
from edl.parsing.yaml_values import timestamp
from kubectl_edl.output.age import duration

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from edl.kube.auth.access_review import MissingRights
    from edl.kube.cluster import Cluster, PluginCluster
    from edl.writes import Json
    from kubectl_edl.cli.context import ClusterConnection

SLACK: Final = timedelta(seconds=5)
"""How far the clocks of the reconciler and of the API server may be apart."""
_USUAL_SECONDS: Final = 15
_LONGEST: Final = timedelta(minutes=1)
"""A leader renews its Lease every two seconds, however long the Lease may last."""


class Lead(Enum):
    """What the Lease says of the reconciler."""

    LEADS = auto()
    EXPIRED = auto()
    RELEASED = auto()
    NEVER = auto()
    """It names a holder, and was not renewed once."""
    ABSENT = auto()
    UNREADABLE = auto()
    """The user may not read it: nothing is known."""


_STALLED: Final = frozenset({Lead.EXPIRED, Lead.RELEASED, Lead.NEVER, Lead.ABSENT})


@dataclass(frozen=True, slots=True)
class LeaseView:
    """`silence` is the time since the Lease was renewed, negative where that is still to come."""

    lead: Lead
    where: str
    """`Lease edl-system/edl-reconciler`."""
    holder: str = ""
    silence: timedelta = timedelta()
    lasts: timedelta = timedelta()
    """The Lease's own length."""
    settings: str | None = None
    """The annotation that says how it decides."""
    refusal: Forbidden | None = None
    missing: MissingRights | None = None
    """Writes that the leader lacks rights for; None if it does not publish them."""
    flags: str = ""
    """How a command that is suggested reaches the cluster: ` --context prod`."""
    queue_as_of: datetime | None = None
    """Until when each ConfigMap `edl-queue` was right; None where it does not say."""

    @property
    def stalled(self) -> bool:
        """No reconciler works: nothing starts and nothing is resized."""
        return self.lead in _STALLED

    @property
    def overdue(self) -> bool:
        """It was not renewed in its time, by less than clocks may be apart."""
        return self.lead is Lead.LEADS and self.silence > min(self.lasts, _LONGEST)

    @property
    def clock_is_ahead(self) -> bool:
        return self.silence < -SLACK

    @property
    def why(self) -> str:
        """`Lease edl-system/edl-reconciler was renewed 27s ago`."""
        return {
            Lead.EXPIRED: f"{self.where} was renewed {duration(self.silence)} ago",
            Lead.RELEASED: f"{self.where} was released",
            Lead.NEVER: f"{self.where} was never renewed",
            Lead.ABSENT: f"there is no {self.where}",
        }.get(self.lead, "")

    @property
    def hints(self) -> tuple[str, ...]:
        """For stderr; empty while a reconciler leads and may write, and where nothing is known."""
        doctor = f"kubectl edl doctor{self.flags}"
        if self.missing and self.missing.rights and self.lead is Lead.LEADS:
            what = f"hint: the reconciler may not {self.missing}"
            return (f"{what}: decisions that take such writes are not carried out; {doctor}",)
        if not self.stalled:
            return ()
        what = f"hint: no reconciler is at work now ({self.why})"
        return (f"{what}: nothing starts or changes its size; {doctor}",)


def leadership(connection: ClusterConnection, now: datetime) -> LeaseView:
    """By the API server's clock: this machine's may be wrong."""
    cluster = connection.cluster
    return read(connection, lambda: cluster.get(lease_ref(cluster)), now)


def lease_ref(cluster: Cluster) -> ObjectRef:
    return ObjectRef("Lease", cluster.system_namespace, contract.RECONCILER_LEASE)


def read(connection: ClusterConnection, lease: Callable[[], Json], now: datetime) -> LeaseView:
    """The same, of a Lease that may have been asked for before."""
    found = _read(connection.cluster, lease, now)
    return replace(found, flags=connection.scope.edl_flags)


def _read(cluster: PluginCluster, lease: Callable[[], Json], now: datetime) -> LeaseView:
    target = lease_ref(cluster)
    where = f"Lease {target.namespace}/{target.name}"
    try:
        found = lease()
        return judged(where, found, now + cluster.clock_ahead())
    except NotFound:
        return LeaseView(Lead.ABSENT, where)
    except Forbidden as error:
        return LeaseView(Lead.UNREADABLE, where, refusal=error)


def judged(where: str, lease: Json, now: datetime) -> LeaseView:
    spec = lease.get("spec") or {}
    notes = lease["metadata"].get("annotations") or {}
    settings = notes.get(contract.SETTINGS)
    holder, renewed = spec.get("holderIdentity") or "", timestamp(spec.get("renewTime") or "")
    if not holder:
        return LeaseView(Lead.RELEASED, where, settings=settings)
    if renewed is None:
        return LeaseView(Lead.NEVER, where, holder, settings=settings)
    lasts = timedelta(seconds=spec.get("leaseDurationSeconds") or _USUAL_SECONDS)
    silence = now - renewed
    lead = Lead.EXPIRED if silence > lasts + SLACK else Lead.LEADS
    missing = missing_rights(notes.get(contract.MISSING_RIGHTS))
    as_of = timestamp(notes.get(contract.QUEUE_AS_OF) or "")
    return LeaseView(
        lead, where, holder, silence, lasts, settings, missing=missing, queue_as_of=as_of
    )


def unattended(
    connection: ClusterConnection, now: datetime, dry_run: str = "none"
) -> tuple[str, ...]:
    """What a command says after a change: that no reconciler sees it.

    The change is made already, so a failure to read the Lease is not an error.
    """
    if dry_run != "none":
        return ()
    try:
        return leadership(connection, now).hints
    except ClusterError:
        return ()
