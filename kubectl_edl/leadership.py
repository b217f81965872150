"""Whether a reconciler leads now: its Lease is judged here, once, for every command."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import Enum, auto
from typing import TYPE_CHECKING, Final

from edl import contract
from edl.errors import ClusterError, Forbidden, NotFound
from edl.kube.facts import time
from edl.model import Target
from kubectl_edl.printers.age import duration

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from edl.writes import Json
    from kubectl_edl.world import Connection

LEASE: Final = Target("Lease", contract.SYSTEM_NAMESPACE, contract.RECONCILER_LEASE)
WHERE: Final = f"Lease {LEASE.namespace}/{LEASE.name}"
SLACK: Final = timedelta(seconds=5)
"""How far the clocks of the reconciler and of the API server may be apart."""
_USUAL_SECONDS: Final = 15


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
class Leadership:
    """`silence` is the time since the Lease was renewed, negative where that is still to come."""

    lead: Lead
    holder: str = ""
    silence: timedelta = timedelta()
    settings: str | None = None
    """The annotation that says how it decides."""
    refusal: Forbidden | None = None

    @property
    def stalled(self) -> bool:
        """No reconciler works: nothing starts and nothing is resized."""
        return self.lead in _STALLED

    @property
    def clock_is_ahead(self) -> bool:
        return self.silence < -SLACK

    @property
    def why(self) -> str:
        """`Lease edl-system/edl-reconciler was renewed 27s ago`."""
        return {
            Lead.EXPIRED: f"{WHERE} was renewed {duration(self.silence)} ago",
            Lead.RELEASED: f"{WHERE} was given back",
            Lead.NEVER: f"{WHERE} was never renewed",
            Lead.ABSENT: f"there is no {WHERE}",
        }.get(self.lead, "")

    @property
    def hints(self) -> tuple[str, ...]:
        """For stderr; empty while a reconciler leads, and where that cannot be known."""
        if not self.stalled:
            return ()
        what = f"hint: no reconciler is at work now ({self.why})"
        return (f"{what}: nothing starts or changes its size; kubectl edl doctor",)


def leadership(connection: Connection, now: datetime) -> Leadership:
    """By the API server's clock: this machine's may be wrong."""
    cluster = connection.cluster
    return read(lambda: cluster.get(LEASE), lambda: now + cluster.clock_ahead())


def read(lease: Callable[[], Json], now: Callable[[], datetime]) -> Leadership:
    """`now` is asked when the Lease is there."""
    try:
        return judged(lease(), now())
    except NotFound:
        return Leadership(Lead.ABSENT)
    except Forbidden as error:
        return Leadership(Lead.UNREADABLE, refusal=error)


def judged(lease: Json, now: datetime) -> Leadership:
    spec = lease.get("spec") or {}
    settings = (lease["metadata"].get("annotations") or {}).get(contract.SETTINGS)
    holder, renewed = spec.get("holderIdentity") or "", time(spec.get("renewTime") or "")
    if not holder:
        return Leadership(Lead.RELEASED, settings=settings)
    if renewed is None:
        return Leadership(Lead.NEVER, holder, settings=settings)
    lasts = timedelta(seconds=spec.get("leaseDurationSeconds") or _USUAL_SECONDS)
    silence = now - renewed
    lead = Lead.EXPIRED if silence > lasts + SLACK else Lead.LEADS
    return Leadership(lead, holder, silence, settings)


def unattended(connection: Connection, now: datetime, dry_run: str = "none") -> tuple[str, ...]:
    """What a command says after a change: that no reconciler sees it.

    The change is made: what cannot be known now is no error.
    """
    if dry_run != "none":
        return ()
    try:
        return leadership(connection, now).hints
    except ClusterError:
        return ()
