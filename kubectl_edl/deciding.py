"""By which policy and limits the reconciler decides: it says so on its Lease; flags ask "what if".

A plan under other settings than the reconciler's would be a lie, so every answer names them.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import click
from msgspec.structs import replace

from edl import contract
from edl.errors import Forbidden, NotFound
from edl.kube.facts import time
from edl.model import Target
from edl.planner.limits import Limits
from edl.planner.policies import POLICIES
from edl.planner.settings import Settings, read
from edl.writes import Json
from kubectl_edl.options import Command, bundled
from kubectl_edl.world import Connection

LEASE: Final = Target("Lease", contract.SYSTEM_NAMESPACE, contract.RECONCILER_LEASE)
_WHERE: Final = f"Lease {LEASE.namespace}/{LEASE.name}"


@dataclass(frozen=True, slots=True)
class Asked:
    """Settings that the user asks about instead of the reconciler's; None where he does not."""

    policy: str | None = None
    load_ceiling: float | None = None


@dataclass(frozen=True, slots=True)
class Deciding:
    """`source` is `reconciler`, `flags` or `default`; `hints` say what to make of it."""

    settings: Settings
    source: str
    hints: tuple[str, ...] = ()

    @property
    def says(self) -> str:
        """`policy fair, load ceiling 97 % (as the reconciler says)`."""
        whose = {
            "reconciler": "as the reconciler says",
            "flags": "as asked for; the reconciler may say otherwise",
            "default": "assumed; nobody says what the reconciler decides by",
        }[self.source]
        return f"{self.settings} ({whose})"

    @property
    def document(self) -> Json:
        return {
            "policy": self.settings.policy,
            "loadCeiling": self.settings.limits.load_ceiling,
            "source": self.source,
        }


def asking(function: Command) -> Command:
    """`--policy --load-ceiling`, as `asked`."""
    options = (
        click.option(
            "--policy",
            type=click.Choice(list(POLICIES)),
            help="Ask what this policy would do. Default: the reconciler's.",
        ),
        click.option(
            "--load-ceiling",
            type=click.FloatRange(0, 1, min_open=True),
            metavar="SHARE",
            help="Ask what this load ceiling would do, 0.97 for 97 %. Default: the reconciler's.",
        ),
    )
    return bundled(Asked, "asked", options)(function)


def deciding(connection: Connection, asked: Asked, now: datetime) -> Deciding:
    """The reconciler's settings where it says them, with what the user asks instead."""
    found = _published(connection, now)
    settings = found.settings
    if asked.policy is not None:
        settings = replace(settings, policy=asked.policy, waits=())
    if asked.load_ceiling is not None:
        limits = replace(settings.limits, load_ceiling=asked.load_ceiling)
        settings = replace(settings, limits=limits)
    if settings == found.settings:
        return found
    return Deciding(settings, "flags", found.hints if found.source == "reconciler" else ())


def _published(connection: Connection, now: datetime) -> Deciding:
    try:
        lease = connection.cluster.get(LEASE)
    except NotFound:
        return _assumed(f"there is no {_WHERE}: is the reconciler installed?")
    except Forbidden as error:
        return _assumed(str(error))
    text = (lease["metadata"].get("annotations") or {}).get(contract.SETTINGS)
    if text is None:
        return _assumed(f"{_WHERE} does not say it: its reconciler is older")
    try:
        settings = read(text)
    except ValueError as error:
        return _assumed(f"{_WHERE}, {contract.SETTINGS}: {error}")
    return Deciding(settings, "reconciler", (*_unknown(settings), *_asleep(lease, now)))


def _assumed(why: str) -> Deciding:
    return Deciding(Settings(limits=Limits()), "default", (f"hint: assumed settings: {why}",))


def _unknown(settings: Settings) -> tuple[str, ...]:
    if not settings.unknown:
        return ()
    names = ", ".join(settings.unknown)
    return (f"hint: the reconciler decides by more than this plugin knows ({names}): update it",)


def _asleep(lease: Json, now: datetime) -> tuple[str, ...]:
    """Nothing of a plan happens while nobody leads."""
    spec = lease.get("spec") or {}
    renewed = time(spec.get("renewTime") or "")
    lasts = timedelta(seconds=spec.get("leaseDurationSeconds") or 0)
    if spec.get("holderIdentity") and renewed and now <= renewed + max(lasts, timedelta(minutes=1)):
        return ()
    return (f"hint: no reconciler is at work now ({_WHERE} is not renewed): nothing will be done",)
