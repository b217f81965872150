"""The queue of a namespace as published by the reconciler for users without cluster-wide rights."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import Final, cast

import msgspec
from msgspec import structs

from edl.errors import ClusterError, Forbidden, NotFound
from edl.forecast.estimate import Certainty, Estimate
from edl.job_state.phases import waits_to_start
from edl.kube.cluster import server_time
from edl.model import Code, JobKey, ObjectRef
from edl.model.causes.reason_codes import code_of
from edl.visibility.namespace_queue import (
    CONFIG_MAP,
    KEY,
    NamespaceQueue,
    PublishedEstimate,
    PublishedJob,
    TeamCount,
    parse,
)
from kubectl_edl.cli.context import ClusterConnection
from kubectl_edl.client.cluster_view import Survey
from kubectl_edl.client.optional_reads import Hints
from kubectl_edl.client.reconciler_lease import LeaseView, leadership
from kubectl_edl.job_views.job_reasons import Why
from kubectl_edl.output.age import duration
from kubectl_edl.output.cell_quantities import counted
from kubectl_edl.output.documents.shared_documents import TeamCountDocument
from kubectl_edl.output.safe_text import harmless

_NAMED: Final = 3
_SILENT: Final = timedelta(seconds=30)
"""The reconciler publishes each ten seconds; a document that is older may be out of date."""
_HANGS_ON: Final = {
    Certainty.LATEST: "sooner if a job ends whose end is not known",
    Certainty.LATER: "it was not computed within the time limit",
    Certainty.UNKNOWN: "it depends on jobs whose end is not known",
}
OWN_CODES: Final = frozenset(
    {Code.INCOMPLETE, Code.INVALID, Code.EXEC_NOT_ALLOWED, Code.PAUSED, Code.START_REFUSED}
    | {Code.NAMESPACE_TERMINATING, Code.WAITING_FOR_NODES, Code.NODES_NOT_PROVISIONED}
)
"""Codes of jobs that wait for no other job: their message says what the start depends on."""


@dataclass(frozen=True, slots=True)
class PublishedView:
    """A namespace's published queue; `as_of` by the API server's clock, `ago` is its age."""

    namespace: str
    queue: NamespaceQueue
    as_of: datetime
    ago: timedelta

    def job(self, key: JobKey) -> PublishedJob | None:
        if key.namespace != self.namespace:
            return None
        item = next((job for job in self.queue.items if job.name == key.name), None)
        return cast("PublishedJob | None", _harmless(item))

    @property
    def hint(self) -> str:
        """The source and the age of the queue, for stderr."""
        return (
            f"hint: the queue is shown as the reconciler published it {duration(self.ago)} ago "
            f"(ConfigMap {self.namespace}/{CONFIG_MAP})"
        )


def read_published(
    connection: ClusterConnection,
    now: datetime,
    namespace: str = "",
    lead: LeaseView | None = None,
) -> tuple[PublishedView | None, Hints]:
    """The published queue; None if there is none or, with a hint, if it cannot be read.

    The Lease, which has the time of the last confirmation, is read unless `lead` has what it says.
    """
    target = ObjectRef("ConfigMap", namespace or connection.namespace, CONFIG_MAP)
    where = f"ConfigMap {target.namespace}/{CONFIG_MAP}"
    try:
        manifest = connection.cluster.get(target)
        queue = parse(str((manifest.get("data") or {}).get(KEY, "")))
        queue = structs.replace(queue, team=harmless(queue.team))
    except NotFound:
        return None, ()
    except (Forbidden, ValueError) as error:
        return None, (f"hint: {where} is not read: {harmless(str(error))}",)
    as_of = queue.changed_at
    hints: Hints = ()
    with suppress(ClusterError):
        lead = lead or leadership(connection, now)
        as_of = max(as_of, lead.queue_as_of or as_of)
        hints = _unconfirmed(lead)
    ago = server_time(connection.cluster, now) - as_of
    return PublishedView(target.namespace, queue, as_of, max(ago, timedelta())), hints


def _unconfirmed(lead: LeaseView) -> Hints:
    """A hint if the Lease may not be read, which alone says that the queue is current."""
    if lead.refusal is None:
        return ()
    what = "whether a reconciler runs and the published queue is current is unknown"
    return (f"hint: {what}: {lead.refusal}",)


def ranked(survey: Survey, published: PublishedView | None) -> Survey:
    """The survey with the published priorities, and without the hint if no queued job lacks one."""
    if not (survey.unranked and published):
        return survey
    named = {JobKey(published.namespace, job.name): job.priority for job in published.queue.items}
    priorities = {key: value for key, value in named.items() if value is not None}
    jobs = tuple(
        structs.replace(job, priority=priorities[job.key]) if job.key in priorities else job
        for job in survey.jobs
    )
    if all(job.key in priorities for job in jobs if waits_to_start(job)):
        survey = structs.replace(survey, hints=survey.hints_but_priorities)
    return structs.replace(survey, jobs=jobs)


def _harmless(value: object) -> object:
    """The value with terminal control sequences escaped: other users may write to the ConfigMap."""
    if isinstance(value, str) and not isinstance(value, Enum):
        return harmless(value)
    if isinstance(value, tuple):
        return tuple(map(_harmless, value))
    if isinstance(value, msgspec.Struct):
        fields = {name: _harmless(getattr(value, name)) for name in value.__struct_fields__}
        return structs.replace(value, **fields)
    return value


def why_of_published(job: PublishedJob) -> Why:
    return Why(code_of(job.reason), job.message)


def estimate_of(job: PublishedJob, published: PublishedView) -> Estimate | None:
    """The published estimate; unknown if its time has passed, as while no reconciler runs."""
    estimate = job.estimate
    if estimate is None:
        return None
    code = code_of(job.reason)
    if why := _why_outdated(estimate, published):
        return Estimate(Certainty.UNKNOWN, reason=why)
    if estimate.certainty is Certainty.NEVER or code in OWN_CODES:
        return Estimate(estimate.certainty, estimate.time, job.message, code)
    return Estimate(estimate.certainty, estimate.time, _HANGS_ON.get(estimate.certainty, ""))


def _why_outdated(estimate: PublishedEstimate, published: PublishedView) -> str:
    """Why an estimate is out of date; empty if it is not."""
    now, silent = published.as_of + published.ago, published.ago > _SILENT
    since = f", and the reconciler has published nothing for {duration(published.ago)}"
    if estimate.certainty is Certainty.NOW:
        return f"it was to start{since}" if silent else ""
    if estimate.time is None or estimate.time + _SILENT >= now:
        return ""
    if estimate.certainty is Certainty.LATER:
        return _HANGS_ON[Certainty.LATER]
    return f"its estimated start has passed{since if silent else ''}"


def ahead_text(counts: Sequence[TeamCount]) -> str:
    """`3 jobs`, or `2 jobs of team vision, 1 of team deals and 4 others`."""
    named = [count for count in counts if count.team]
    rest = sum(count.jobs for count in counts if not count.team)
    if not named:
        return counted(rest, "job") if rest else ""
    first, *others = named
    parts = [
        f"{counted(first.jobs, 'job')} of team {first.team}",
        *(f"{count.jobs} of team {count.team}" for count in others),
    ]
    return ", ".join(parts) + (f" and {rest} other{'s' * (rest > 1)}" if rest else "")


def first_ahead(ahead: Sequence[JobKey], position: int | None) -> tuple[Sequence[JobKey], int]:
    """The first jobs ahead of one, and the number of the others; a plan names only a few."""
    first = ahead[:_NAMED]
    return first, max(len(ahead), (position or 1) - 1) - len(first)


def place_text(position: int | None, ahead: str) -> str:
    """`position 3, behind 2 jobs of team vision`; empty without a position."""
    if not position:
        return ""
    return "first in the queue" if position == 1 else f"position {position}, behind {ahead}"


def counts_document(counts: Sequence[TeamCount]) -> list[TeamCountDocument]:
    return [{"team": count.team or None, "jobs": count.jobs} for count in counts]
