"""What the rules on a training job's blockers read, and what they find."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum
from typing import Final, NamedTuple, Self

from edl.model import Node, TrainingJob
from kubectl_edl.client.failed_pods import FailedPod
from kubectl_edl.client.pending_pods import WaitingPod
from kubectl_edl.client.reconciler_lease import LeaseView
from kubectl_edl.job_views.training_job_view import JobView
from kubectl_edl.output.safe_text import harmless

SOON: Final = timedelta(seconds=30)
"""A wait up to this long is normal: pods are created, and images are pulled."""
SLOW: Final = timedelta(minutes=10)
"""An operation that takes longer does not end by itself."""


class Urgency(Enum):
    """`status` shows each blocker; `doctor` reports the first that is not usual."""

    USUAL = "it may end without an action of the user"
    STUCK = "it ends only by an action of the user, or has lasted unusually long"
    UNATTENDED = "the reconciler does not act"


@dataclass(frozen=True, slots=True)
class JobBlocker:
    """One blocker in a sentence, and the remedy; empty if the sentence contains it.

    `explained`: the remedy is `explain`, which names what would help.
    """

    what: str
    remedy: str
    urgency: Urgency = Urgency.STUCK
    explained: bool = False


@dataclass(frozen=True, slots=True)
class BlockerFacts:
    """A training job, and what its reader knows about it; facts that were not read are empty."""

    view: JobView
    now: datetime
    reconciler: str = ""
    """What to do if the reconciler does not act."""
    uncreated: Sequence[JobBlocker] = ()
    """Why pods cannot be created."""
    waiting: Sequence[WaitingPod] = ()
    """Its pending pods."""
    failed: Sequence[FailedPod] = ()
    nodes: Sequence[Node] = ()
    lead: LeaseView | None = None
    crashed: Mapping[tuple[str, str], Sequence[FailedPod]] = field(default_factory=dict)
    """Pods that failed, by (namespace, Job)."""

    @property
    def job(self) -> TrainingJob:
        return self.view.job

    @property
    def stalled(self) -> str:
        """Why no reconciler works; empty if one does, or if that was not read."""
        return self.lead.why if self.lead and self.lead.stalled else ""


class BlockerList(NamedTuple):
    """Blockers in order, as (sentence, remedy); a remedy may be empty."""

    title: str
    lines: tuple[tuple[str, str], ...]
    remedy: str = "would help"
    """The word before each remedy."""
    complete: bool = True

    @classmethod
    def of_job(cls, blockers: Iterable[JobBlocker]) -> Self:
        """The section `Blockers:` of a report."""
        lines = tuple((blocker.what, blocker.remedy) for blocker in blockers)
        return cls("Blockers:", lines, remedy="fix")

    @property
    def note(self) -> str:
        """Empty if there are no more blockers than these."""
        more = not self.complete and any(helps for _, helps in self.lines)
        return "Further blockers may follow." if more else ""

    @property
    def text(self) -> str:
        """Empty without blockers."""
        lines = [self.title] if self.lines else []
        for number, (what, helps) in enumerate(self.lines, 1):
            lines.append(f"  {number}. {harmless(what)}")
            lines += [f"     {self.remedy}: {harmless(helps)}"] if helps else []
        lines += [f"  {self.note}"] if self.note else []
        return "".join(f"{line}\n" for line in lines)
