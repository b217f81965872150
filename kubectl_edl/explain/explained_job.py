"""The explanation of one training job, within the user's rights."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from edl.domain_counts import DomainCounts
from edl.forecast.estimate import Estimate
from edl.model import Caveat
from edl.planner.explain.explanation import Explanation
from edl.visibility.job_capacity import JobCapacity
from edl.visibility.namespace_queue import PublishedJob
from edl.visibility.team_figures import TeamFigures
from kubectl_edl.client.pending_pods import Unplaced
from kubectl_edl.client.reconciler_settings import Deciding
from kubectl_edl.model.published_queue import place_text
from kubectl_edl.model.role_history import Past
from kubectl_edl.model.training_job_view import JobView

_NAMED: Final = 3


@dataclass(frozen=True, slots=True)
class Explained:
    """One training job, as far as it may be explained.

    `explanation` and `estimate` are None where the whole cluster may not be read. `roles` are the
    names of those that are shown.
    """

    view: JobView
    roles: tuple[str, ...]
    deciding: Deciding
    explanation: Explanation | None
    estimate: Estimate | None
    unplaced: tuple[Unplaced, ...]
    past: tuple[Past, ...]
    caveats: tuple[tuple[str, Caveat], ...] = ()
    """By role."""
    domains: tuple[DomainCounts, ...] | None = None
    """Where its pods are; None where the nodes may not be read."""
    published: PublishedJob | None = None
    """The reconciler's published entry, if the user may not read the whole cluster."""
    as_of: datetime | None = None
    """The time of the published entry."""
    team: str = ""
    """Team of its namespace; empty if no teams are configured."""
    figures: TeamFigures | None = None
    """Usage of this team; None if the user may not read the whole cluster."""
    capacity: JobCapacity | None = None
    """Guaranteed and borrowed capacity of its running pods; None if unknown."""

    @property
    def position(self) -> int | None:
        """In the queue, from 1; None where it has none, or where it is not known."""
        if self.explanation:
            return self.explanation.position or None
        return self.published.position if self.published else None

    @property
    def team_text(self) -> str:
        """`vision, guaranteed 8 CPU, uses 12 CPU, borrows 4 CPU`."""
        found = self.figures
        if found is None:
            return self.team
        amounts = {
            "guaranteed": found.guaranteed,
            "uses": found.used,
            "borrows": found.borrowed,
            "lends": found.lent,
        }
        return ", ".join(
            [self.team, *(f"{word} {amount}" for word, amount in amounts.items() if amount)]
        )

    @property
    def place(self) -> str:
        """The same as users read it: `position 3, behind a, b`."""
        if self.explanation:
            return _place(self.explanation)
        return place_text(self.published) if self.published else ""


def _place(found: Explanation) -> str:
    if not found.position:
        return ""
    if found.position == 1:
        return "first in the queue"
    names = ", ".join(map(str, found.ahead[:_NAMED]))
    unnamed = found.position - 1 - len(found.ahead[:_NAMED])
    rest = f" and {unnamed} more" if unnamed else ""
    return f"position {found.position}, behind {names}{rest}"
