"""The reconciler's policy and limits, as published on its Lease; options override them for what-if.

A plan under settings other than the reconciler's would mislead, so every output names them.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

import click
from msgspec import structs

from edl import contract
from edl.forecast.estimate import Certainty, Estimate
from edl.kube.option_group import group, option, option_group
from edl.planner.decision_limits import Limits
from edl.planner.policies import POLICIES
from edl.planner.published_settings import Settings, read
from kubectl_edl.cli.context import ClusterConnection
from kubectl_edl.client.reconciler_lease import Lead, LeaseView, leadership
from kubectl_edl.output.documents.shared_documents import SettingsDocument


@option_group
class SettingsOverrides:
    """Settings from the command line that override the reconciler's; None if not given."""

    policy: str | None = option(
        type=click.Choice(list(POLICIES)),
        help="Policy to plan with; defaults to the reconciler's.",
    )
    load_ceiling: float | None = option(
        type=click.FloatRange(0, 1, min_open=True),
        metavar="SHARE",
        help="Load ceiling to plan with, 0.97 for 97 %; defaults to the reconciler's.",
    )


AS_PUBLISHED: Final = SettingsOverrides()
settings_options: Final = group(SettingsOverrides, "asked")
"""`--policy --load-ceiling`, as `asked`."""


@dataclass(frozen=True, slots=True)
class EffectiveSettings:
    """Settings that decisions use. `source` is `reconciler`, `flags` or `default`."""

    settings: Settings
    source: str
    hints: tuple[str, ...] = ()
    stalled: str = ""
    """The reason why no reconciler decides now; empty if one leads or that is unknown."""

    @property
    def provisioning_timeout(self) -> timedelta | None:
        """How long the reconciler awaits nodes; None if none decides, or if it is unknown."""
        if self.source != "reconciler" or self.stalled:
            return None
        return self.settings.limits.provisioning.provisioning_timeout

    @property
    def text(self) -> str:
        """`policy fair, load ceiling 97 % (from the reconciler)`."""
        whose = {
            "reconciler": "from the reconciler",
            "flags": "from flags; the reconciler may use others",
            "default": "defaults; the reconciler's settings are unknown",
        }[self.source]
        return f"{self.settings} ({whose})"

    @property
    def document(self) -> SettingsDocument:
        return {
            "policy": self.settings.policy,
            "loadCeiling": self.settings.limits.load_ceiling,
            "preempt": self.settings.limits.preempt,
            "source": self.source,
        }


def deciding(
    connection: ClusterConnection, now: datetime, asked: SettingsOverrides = AS_PUBLISHED
) -> EffectiveSettings:
    """The reconciler's settings if published, with the overrides from the command line."""
    lead = leadership(connection, now)
    effective = replace(_published(lead), stalled=lead.why)
    settings = effective.settings
    if asked.policy is not None:
        settings = structs.replace(settings, policy=asked.policy, patience=None, idle=None)
    if asked.load_ceiling is not None:
        limits = structs.replace(settings.limits, load_ceiling=asked.load_ceiling)
        settings = structs.replace(settings, limits=limits)
    if settings == effective.settings:
        return replace(effective, hints=(*effective.hints, *lead.hints))
    hints = effective.hints if effective.source == "reconciler" else ()
    return replace(effective, settings=settings, source="flags", hints=(*hints, *lead.hints))


def unattended(by: EffectiveSettings) -> Estimate:
    """The estimate while no reconciler leads: unknown, because no plan is executed."""
    return Estimate(Certainty.UNKNOWN, reason=f"no reconciler is running ({by.stalled})")


def _published(lead: LeaseView) -> EffectiveSettings:
    """The settings that the Lease publishes, or else assumed ones with a hint."""
    if lead.refusal:
        return _assumed(f"hint: assumed settings: {lead.refusal}")
    if lead.lead is Lead.ABSENT:  # already reported
        return _assumed()
    if lead.settings is None:
        return _assumed(
            f"hint: assumed settings: {lead.where} does not publish them: its reconciler is older"
        )
    try:
        settings = read(lead.settings)
    except ValueError as error:
        return _assumed(f"hint: assumed settings: {lead.where}, {contract.SETTINGS}: {error}")
    names = ", ".join(settings.unknown)
    unknown = f"hint: the reconciler has settings that this plugin does not know ({names})"
    hints = (f"{unknown}: update it",) if names else ()
    return EffectiveSettings(settings, "reconciler", hints)


def _assumed(*hints: str) -> EffectiveSettings:
    return EffectiveSettings(Settings(limits=Limits()), "default", hints)
