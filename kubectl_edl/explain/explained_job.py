"""The explanation of one training job, as far as the user's rights allow, and its texts."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from edl.domain_counts import DomainCounts
from edl.forecast.estimate import Estimate
from edl.job_state.phases import filling, waits_to_start
from edl.model import Caveat, Code, Reason, TrainingJob
from edl.model.causes.blockers import InProgress, JobCondition, OwnCondition
from edl.model.causes.reason_codes import code_of
from edl.model.causes.scarcity import NodePoolLimit
from edl.planner.explain.blocker_search import BlockerSearch
from edl.planner.explain.explanation import Explanation, RoleExplanation
from edl.planner.explain.room_trials import RoomTrials
from edl.planner.plan import WaitingJob
from edl.quantities import Resources
from edl.visibility.borrowed_capacity import JobCapacity
from edl.visibility.namespace_queue import PublishedJob
from edl.visibility.team_figures import TeamFigures
from kubectl_edl.client.pending_pods import WaitingPod
from kubectl_edl.client.reconciler_settings import EffectiveSettings
from kubectl_edl.explain.blocker_documents import blockers_document, published_document
from kubectl_edl.job_views.blocker_facts import BlockerList, JobBlocker
from kubectl_edl.job_views.job_blockers import incomplete, left_out, recorded_problem
from kubectl_edl.job_views.job_reasons import Why, why_of
from kubectl_edl.job_views.published_queue import OWN_CODES, ahead_text, first_ahead, place_text
from kubectl_edl.job_views.role_history import PastOperation
from kubectl_edl.job_views.training_job_view import JobView
from kubectl_edl.output.cell_quantities import quantities
from kubectl_edl.output.documents.decision_documents import BlockersDocument
from kubectl_edl.output.documents.team_documents import JobCapacityDocument


@dataclass(frozen=True, slots=True)
class DecidedFacts:
    """What a decision on the whole cluster says of the job; empty without rights to read that."""

    explanation: Explanation | None = None
    caveats: tuple[tuple[str, Caveat], ...] = ()
    """(role, caveat)."""
    domains: tuple[DomainCounts, ...] | None = None
    """The topology domains of its pods; None if the nodes may not be read."""
    figures: TeamFigures | None = None
    """Usage of its team; None without teams."""
    capacity: JobCapacity | None = None
    """Guaranteed and borrowed capacity of its running pods; None if unknown."""

    nodes_due: datetime | None = None
    """Until when requested nodes are awaited; None if none were requested."""

    @property
    def roles(self) -> tuple[RoleExplanation, ...]:
        return self.explanation.roles if self.explanation else ()

    @property
    def trials(self) -> RoomTrials:
        return self.explanation.trials if self.explanation else RoomTrials()

    @property
    def waiting(self) -> WaitingJob | None:
        """Why the plan does not start or scale up the job now."""
        return self.explanation.waiting if self.explanation else None

    @property
    def position(self) -> int | None:
        return (self.waiting.position or None) if self.waiting else None

    @property
    def ahead(self) -> str:
        """`a, b and 1 more`."""
        first, unnamed = first_ahead(self.waiting.ahead if self.waiting else (), self.position)
        return ", ".join(map(str, first)) + (f" and {unnamed} more" if unnamed else "")

    def awaited(self, now: datetime) -> str:
        """Until when requested nodes are awaited; empty if none are."""
        due, whose = self.nodes_due, "the reconciler's --provisioning-timeout"
        return f"awaited until {due:%H:%M:%S} UTC, {whose}" if due and due > now else ""

    def start(self, argument: str) -> BlockersDocument | None:
        search = self.explanation.start_blockers if self.explanation else None
        return blockers_document(search, argument, self.trials.start) if search else None


@dataclass(frozen=True, slots=True)
class PublishedFacts:
    """The published entry of a waiting job; no fields are set where the whole cluster is read."""

    entry: PublishedJob | None = None
    as_of: datetime | None = None

    @property
    def position(self) -> int | None:
        return self.entry.position if self.entry else None

    @property
    def ahead(self) -> str:
        """`2 jobs of team vision and 1 other`."""
        return ahead_text(self.entry.ahead) if self.entry else ""

    @property
    def start(self) -> BlockersDocument | None:
        return published_document(self.entry.start) if self.entry else None


@dataclass(frozen=True, slots=True)
class ExplainedJob:
    """The data of an explanation; one of `decided` and `published` is empty, or both are.

    `roles` are the names of the roles to show.
    """

    view: JobView
    roles: tuple[str, ...]
    deciding: EffectiveSettings
    waiting_pods: tuple[WaitingPod, ...]
    past: tuple[PastOperation, ...]
    uncreated: tuple[JobBlocker, ...]
    """Why pods of started roles cannot be created, or failed; nodes that hold them up."""
    team: str
    """Team of its namespace; empty if no teams are configured, or it is unknown."""
    estimate: Estimate | None
    decided: DecidedFacts
    published: PublishedFacts

    @property
    def position(self) -> int | None:
        """The position in the queue, from 1; None if it has none or that is unknown."""
        return self.decided.position or self.published.position

    @property
    def start(self) -> BlockersDocument | None:
        """Why the job does not start, by the decision or as published; None if it may."""
        return self.decided.start(self.view.argument) or self.published.start

    @property
    def waits_for(self) -> Reason | None:
        """The plan's reason why the job waits, or does not grow."""
        return self.decided.waiting.reason if self.decided.waiting else None

    @property
    def why(self) -> Why:
        """The recorded reason; limits of NodePools with the amounts, which are never recorded."""
        reason = self.waits_for
        above = reason and isinstance(reason.about, NodePoolLimit)
        queued = above and waits_to_start(self.view.job)
        return why_of(reason) if reason and queued else self.view.why

    @property
    def team_text(self) -> str:
        """`vision, guaranteed 8 CPU, uses 12 CPU, borrows 4 CPU`."""
        figures = self.decided.figures
        if figures is None:
            return self.team
        amounts = {
            "guaranteed": figures.guaranteed,
            "uses": figures.used,
            "borrows": figures.borrowed,
            "lends": figures.lent,
        }
        return ", ".join(
            [self.team, *(f"{word} {amount}" for word, amount in amounts.items() if amount)]
        )

    @property
    def place(self) -> str:
        """The position as users read it: `position 3, behind a, b and 1 more`."""
        return place_text(self.position, self.decided.ahead or self.published.ahead)


_TEAMS_NAMED: Final = 8


def guaranteed_text(capacity: JobCapacity | None) -> str:
    """`8 CPU, 2 nvidia.com/gpu`; `nothing` if all is borrowed."""
    return str(capacity.guaranteed) if capacity else ""


def borrowed_text(capacity: JobCapacity | None) -> str:
    """`2 CPU that no team is guaranteed; 4 CPU from speech`."""
    borrowed = capacity.borrowed if capacity else ()
    parts = [
        f"{amounts} from {team}" if team else f"{amounts} that no team is guaranteed"
        for team, amounts in borrowed[:_TEAMS_NAMED]
    ]
    rest = sum((amounts for _, amounts in borrowed[_TEAMS_NAMED:]), Resources())
    others = len(borrowed) - _TEAMS_NAMED
    more = [f"{rest} from {others} more team{'s' * (others > 1)}"] if rest else []
    return "; ".join([*parts, *more])


def capacity_document(capacity: JobCapacity | None) -> JobCapacityDocument | None:
    if capacity is None:
        return None
    return {
        "guaranteed": quantities(capacity.guaranteed),
        "borrowed": [
            {"team": team or None, "amounts": quantities(amounts)}
            for team, amounts in capacity.borrowed
        ],
    }


def blocker_lists(explained: ExplainedJob) -> Iterator[BlockerList]:
    """Why the job does not start, or why each of the roles to show is not scaled up."""
    job = explained.view.job
    if start := explained.start:
        yield _listed(f"Why {job.key.name} {_does_not_run(job)}:", start)
    for role, search in _not_grown(explained):
        yield _listed(
            f"Why not one more {role.role} (now {role.before}, next {role.after}):",
            blockers_document(search, explained.view.argument),
        )


def _not_grown(explained: ExplainedJob) -> Iterator[tuple[RoleExplanation, BlockerSearch]]:
    """The roles to show that are not scaled up."""
    for role in explained.decided.roles:
        if role.blockers and role.role in explained.roles and not _is_fixed(role.blockers):
            yield role, role.blockers


def other_blockers(explained: ExplainedJob) -> Iterator[JobBlocker]:
    """Missing Jobs and a problem, if `blocker_lists` has none; refused pods; left-out Jobs."""
    above = any(blocker_lists(explained))
    if not above:
        yield from incomplete(explained.view)
        yield from recorded_problem(explained.view)
    yield from explained.uncreated
    named = filling(explained.view.job) if _names_missing(explained) else None
    yield from left_out(explained.view, named)


def reason_is_listed(explained: ExplainedJob) -> bool:
    """Whether the sentence of the job's reason is in one of its lists of blockers."""
    job, code, entry = explained.view.job, explained.why.reason, explained.published.entry
    if code not in OWN_CODES:
        return False
    if not any(blocker_lists(explained)):
        left_out_role = code is Code.INCOMPLETE and filling(job) is not None
        return left_out_role or any(recorded_problem(explained.view))
    return any(
        blocker["type"] == OwnCondition.__name__
        and code_of(blocker.get("reason", entry.reason if entry else "")) is code
        for blocker in (explained.start["blockers"] if explained.start else ())
    )


def _names_missing(explained: ExplainedJob) -> bool:
    """Whether `blocker_lists` say that Jobs of roles are left out, or do not exist."""
    plan, entry = explained.decided.explanation, explained.published.entry
    if entry and entry.start:
        return code_of(entry.reason) is Code.INCOMPLETE
    searches = [search for _, search in _not_grown(explained)]
    searches += [plan.start_blockers] if plan and plan.start_blockers else []
    every = (blocker for search in searches for blocker in search.found)
    return any(isinstance(one, OwnCondition) and one.what is JobCondition.MISSING for one in every)


def _does_not_run(job: TrainingJob) -> str:
    """What the plan does instead of running all of its roles."""
    if not any(role.status.suspended for role in job.live):
        return "is to be stopped"
    return "does not start as a whole" if not job.suspended else "does not start"


def _is_fixed(search: BlockerSearch) -> bool:
    """Whether the role is fixed, which the table of roles shows, unless only its max keeps it."""
    conditions = [one.what for one in search.found if isinstance(one, OwnCondition)]
    later = JobCondition.ONE_SIZE in conditions and len(search.found) > 1
    return later or JobCondition.FIXED in conditions


def _listed(title: str, blockers: BlockersDocument) -> BlockerList:
    """All but the first are hypothetical: what a decision without those before them would find."""
    lines = []
    for number, blocker in enumerate(blockers["blockers"], 1):
        then = "plan" if blocker["type"] == InProgress.__name__ else "next blocker"
        what = f"{f'then the {then} would be: ' if number > 1 else ''}{blocker['message']}"
        lines.append((what, blocker["remediation"]))
    return BlockerList(title, tuple(lines), complete=blockers["complete"])
