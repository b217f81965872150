"""What the rules on a training job's blockers read, and what they find."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum
from typing import Final

from edl.model import Node, TrainingJob
from kubectl_edl.client.failed_pods import FailedPod
from kubectl_edl.client.pending_pods import WaitingPod
from kubectl_edl.client.reconciler_lease import LeaseView
from kubectl_edl.job_views.training_job_view import JobView

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
