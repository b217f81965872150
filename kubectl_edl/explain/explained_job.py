"""The explanation of one training job, as far as the user's rights allow, and its texts."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from edl.domain_counts import DomainCounts
from edl.forecast.estimate import Estimate
from edl.model import Caveat, Code, Reason, TrainingJob
from edl.model.causes.blockers import BlockerKind, JobCondition, OwnCondition
from edl.model.causes.reason_codes import code_of
from edl.model.causes.scarcity import NodePoolLimit
from edl.phases import filling
from edl.planner.explain.explanation import Blockers, Explanation, RoleExplanation
from edl.quantities import Resources
from edl.visibility.borrowed_capacity import JobCapacity
from edl.visibility.namespace_queue import PublishedJob
from edl.visibility.team_figures import TeamFigures
from kubectl_edl.client.pending_pods import WaitingPod
from kubectl_edl.client.reconciler_settings import EffectiveSettings
from kubectl_edl.explain.blocker_documents import published_document, stops_document
from kubectl_edl.job_views.blocker_facts import BlockerList, JobBlocker
from kubectl_edl.job_views.job_blockers import incomplete, left_out, recorded_problem
from kubectl_edl.job_views.job_reasons import Why, why_of
from kubectl_edl.job_views.published_queue import ahead_text, first_ahead, place_text
from kubectl_edl.job_views.role_history import PastOperation
from kubectl_edl.job_views.training_job_view import JobView
from kubectl_edl.output.cell_quantities import quantities
from kubectl_edl.output.documents.decision_documents import BlockersDocument
from kubectl_edl.output.documents.team_documents import JobCapacityDocument


@dataclass(frozen=True, slots=True)
class Explained:
    """The data of an explanation, as far as the user's rights allow.

    `explanation` and `estimate` are None without rights to read the whole cluster. `roles` are the
    names of the roles to show.
    """

    view: JobView
    roles: tuple[str, ...]
    deciding: EffectiveSettings
    waiting_pods: tuple[WaitingPod, ...]
    past: tuple[PastOperation, ...]
    uncreated: tuple[JobBlocker, ...] = ()
    """Why pods of started roles cannot be created, or failed; nodes that hold them up."""
    explanation: Explanation | None = None
    estimate: Estimate | None = None
    caveats: tuple[tuple[str, Caveat], ...] = ()
    """(role, caveat)."""
    domains: tuple[DomainCounts, ...] | None = None
    """The topology domains of its pods; None if the nodes may not be read."""
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
        """The position in the queue, from 1; None if it has none or that is unknown."""
        if self.explanation:
            return self.explanation.position or None
        return self.published.position if self.published else None

    @property
    def start(self) -> BlockersDocument | None:
        """Why the job does not start, by the decision or as published; None if it may."""
        plan = self.explanation
        if plan and plan.start_blockers:
            return stops_document(plan.start_blockers, self.view.argument, plan.trials.start)
        return published_document(self.published.start) if self.published else None

    @property
    def waits_for(self) -> Reason | None:
        """The plan's reason why the job waits, or does not grow."""
        explanation, key = self.explanation, self.view.job.key
        held = explanation.plan.held if explanation else ()
        return next((entry.reason for entry in held if entry.job == key), None)

    @property
    def why(self) -> Why:
        """The recorded reason; limits of NodePools with the amounts, which are never recorded."""
        reason = self.waits_for
        above = reason and isinstance(reason.about, NodePoolLimit)
        return why_of(reason) if reason and above else self.view.why

    @property
    def team_text(self) -> str:
        """`vision, guaranteed 8 CPU, uses 12 CPU, borrows 4 CPU`."""
        figures = self.figures
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
        plan, published = self.explanation, self.published
        first, unnamed = first_ahead(plan.ahead if plan else (), self.position)
        names = ", ".join(map(str, first)) + (f" and {unnamed} more" if unnamed else "")
        ahead = ahead_text(published.ahead) if published and not plan else names
        return place_text(self.position, ahead)


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


def stop_lists(explained: Explained) -> Iterator[BlockerList]:
    """Why the job does not start, or why each of the roles to show is not scaled up."""
    job = explained.view.job
    if start := explained.start:
        yield _listed(f"Why {job.key.name} {_does_not_run(job)}:", start)
    for role, blockers in _not_grown(explained):
        yield _listed(
            f"Why not one more {role.role} (now {role.before}, next {role.after}):",
            stops_document(blockers, explained.view.argument),
        )


def _not_grown(explained: Explained) -> Iterator[tuple[RoleExplanation, Blockers]]:
    """The roles to show that are not scaled up."""
    for role in explained.explanation.roles if explained.explanation else ():
        if role.blockers and role.role in explained.roles and not _is_fixed(role.blockers):
            yield role, role.blockers


def other_blockers(explained: Explained) -> Iterator[JobBlocker]:
    """Missing Jobs and a problem, if `stop_lists` has none; refused pods; left-out Jobs."""
    above = any(stop_lists(explained))
    if not above:
        yield from incomplete(explained.view)
        yield from recorded_problem(explained.view)
    yield from explained.uncreated
    named = filling(explained.view.job) if _names_missing(explained) else None
    yield from left_out(explained.view, named)


def _names_missing(explained: Explained) -> bool:
    """Whether `stop_lists` say that Jobs of roles are left out, or do not exist."""
    plan, published = explained.explanation, explained.published
    if published and published.start:
        return code_of(published.reason) is Code.INCOMPLETE
    lists = [blockers for _, blockers in _not_grown(explained)]
    lists += [plan.start_blockers] if plan and plan.start_blockers else []
    every = (stop for blockers in lists for stop in blockers.blockers)
    return any(isinstance(one, OwnCondition) and one.what is JobCondition.MISSING for one in every)


def _does_not_run(job: TrainingJob) -> str:
    """What the plan does instead of running all of its roles."""
    if not any(role.status.suspended for role in job.live):
        return "is to be stopped"
    return "does not start as a whole" if not job.suspended else "does not start"


def _is_fixed(stops: Blockers) -> bool:
    """Whether the role is fixed, which the table of roles shows, unless only its max keeps it."""
    conditions = [stop.what for stop in stops.blockers if isinstance(stop, OwnCondition)]
    later = JobCondition.ONE_SIZE in conditions and len(stops.blockers) > 1
    return later or JobCondition.FIXED in conditions


def _listed(title: str, stops: BlockersDocument) -> BlockerList:
    """All but the first are hypothetical: what a decision without those before them would find."""
    lines = []
    for number, stop in enumerate(stops["blockers"], 1):
        then = "plan" if stop["type"] == BlockerKind.IN_PROGRESS else "next blocker"
        what = f"{f'then the {then} would be: ' if number > 1 else ''}{stop['message']}"
        lines.append((what, stop["remediation"]))
    return BlockerList(title, tuple(lines), complete=stops["complete"])
