"""Whether a reconciler leads now, judged by its Lease."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum, auto
from typing import Final

import msgspec

from edl import contract
from edl.contract.manifest_parts import annotations
from edl.errors import ClusterError, Forbidden, NotFound
from edl.kube.cluster import Cluster, server_time
from edl.model import ObjectRef
from edl.parsing.yaml_values import timestamp
from edl.writes import Json
from kubectl_edl.cli.context import ClusterConnection
from kubectl_edl.output.age import duration

SLACK: Final = timedelta(seconds=5)
"""The tolerated difference between the clocks of the reconciler and of the API server."""
_USUAL_SECONDS: Final = 15
_LONGEST_SILENCE: Final = timedelta(minutes=1)
"""A leader renews its Lease every two seconds, however long the Lease may last."""


class Lead(Enum):
    """The reconciler's state as its Lease shows it."""

    LEADS = auto()
    EXPIRED = auto()
    RELEASED = auto()
    NEVER = auto()
    """It has a holder, but was never renewed."""
    ABSENT = auto()
    UNREADABLE = auto()
    """The user may not read it, so the state is unknown."""


_STALLED: Final = frozenset({Lead.EXPIRED, Lead.RELEASED, Lead.NEVER, Lead.ABSENT})


@dataclass(frozen=True, slots=True)
class LeaseView:
    """The Lease's state; `silence` is the time since its renewal, negative if that lies ahead."""

    lead: Lead
    where: str
    """`Lease edl-system/edl-reconciler`."""
    holder: str = ""
    silence: timedelta = timedelta()
    lasts: timedelta = timedelta()
    """The Lease's duration."""
    settings: str | None = None
    """The annotation with the reconciler's settings."""
    refusal: Forbidden | None = None
    flags: str = ""
    """Options for a suggested command: ` --context prod`."""
    queue_as_of: datetime | None = None
    """The time of each published ConfigMap `edl-queue`; None if it does not state one."""

    @property
    def stalled(self) -> bool:
        """Whether no reconciler works, so that nothing is started or resized."""
        return self.lead in _STALLED

    @property
    def overdue(self) -> bool:
        """Whether it was not renewed in time, but within the tolerated clock difference."""
        return self.lead is Lead.LEADS and self.silence > min(self.lasts, _LONGEST_SILENCE)

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
        """Hints for stderr; empty if a reconciler leads, or if that is unknown."""
        if not self.stalled:
            return ()
        what = f"hint: no reconciler is running ({self.why})"
        return (f"{what}: nothing is started or resized; kubectl edl doctor{self.flags}",)


def read_lease(cluster: Cluster) -> Json:
    return cluster.get(ObjectRef("Lease", cluster.system_namespace, contract.RECONCILER_LEASE))


def leadership(
    connection: ClusterConnection, now: datetime, lease: Callable[[], Json] | None = None
) -> LeaseView:
    """The Lease's state by the API server's clock, because this machine's may be wrong.

    `lease` is for one that is requested already.
    """
    cluster = connection.cluster
    where = f"Lease {cluster.system_namespace}/{contract.RECONCILER_LEASE}"
    try:
        manifest = lease() if lease else read_lease(cluster)
        view = judged(where, manifest, server_time(cluster, now))
    except NotFound:
        view = LeaseView(Lead.ABSENT, where)
    except Forbidden as error:
        view = LeaseView(Lead.UNREADABLE, where, refusal=error)
    return replace(view, flags=connection.scope.edl_flags)


def judged(where: str, lease: Json, now: datetime) -> LeaseView:
    spec = lease.get("spec") or {}
    notes = annotations(lease)
    settings = notes.get(contract.SETTINGS)
    holder, renewed = spec.get("holderIdentity") or "", timestamp(spec.get("renewTime") or "")
    if not holder:
        return LeaseView(Lead.RELEASED, where, settings=settings)
    if renewed is None:
        return LeaseView(Lead.NEVER, where, holder, settings=settings)
    lasts = timedelta(seconds=spec.get("leaseDurationSeconds") or _USUAL_SECONDS)
    silence = now - renewed
    lead = Lead.EXPIRED if silence > lasts + SLACK else Lead.LEADS
    as_of = timestamp(notes.get(contract.QUEUE_AS_OF) or "")
    return LeaseView(lead, where, holder, silence, lasts, settings, queue_as_of=as_of)


class _Settings(msgspec.Struct, rename="camel"):
    ignored_namespaces: tuple[str, ...] = ()


_decoder: Final = msgspec.json.Decoder(_Settings)


def unmanaged(cluster: Cluster, lease: Callable[[], Json] | None = None) -> frozenset[str]:
    """The namespaces in which nothing is managed, as far as the Lease may be read."""
    try:
        notes = annotations(lease() if lease else read_lease(cluster))
        settings = _decoder.decode(notes.get(contract.SETTINGS) or "{}")
    except (ClusterError, msgspec.DecodeError):
        settings = _Settings()
    return frozenset({"kube-system", cluster.system_namespace, *settings.ignored_namespaces})


def unattended(
    connection: ClusterConnection, now: datetime, dry_run: str = "none"
) -> tuple[str, ...]:
    """Hints after a change: no reconciler will see it.

    The change is already made, so a failure to read the Lease is not an error.
    """
    if dry_run != "none":
        return ()
    try:
        return leadership(connection, now).hints
    except ClusterError:
        return ()
