"""The page's state as JSON, a pure function of what was read from the cluster.

`page` is {"cluster", "nodes", "jobs", "queue", "teams", "costs", "hints"}; times are whole seconds
since 1970. All lists are bounded, so that the state of the largest cluster is still small; the
totals count everything.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import Final

from edl.domain_counts import NodeLabels, labels_of, running
from edl.job_state.phases import ENDED, phase, unready
from edl.model import ClusterState, Phase, Role, TrainingJob
from edl.quantities import Resources, amount_text
from edl.simulator.scenario import counted
from edl.visibility.team_figures import TeamFigures
from edl.writes import Json
from kubectl_edl.dashboard import node_load
from kubectl_edl.dashboard.cluster_reader import DashboardSnapshot
from kubectl_edl.job_views import topology_view
from kubectl_edl.job_views.published_queue import ahead_text, first_ahead
from kubectl_edl.job_views.size_timeline import steps
from kubectl_edl.job_views.start_estimates import when
from kubectl_edl.job_views.training_job_view import view
from kubectl_edl.output.cell_quantities import decimal
from kubectl_edl.queue.view import QueuedJob
from kubectl_edl.top.cluster_costs import (
    ClusterCosts,
    NodeShares,
    cluster_costs,
    hours_lines,
    unpriced,
)
from kubectl_edl.top.options import NO_PRICES, CostOptions

MAX_JOBS: Final = 200
MAX_WAITING_JOBS: Final = 100
MAX_TEAMS: Final = 100
"""The most teams that are shown, from the top of the tree."""
_MAX_RESOURCES: Final = 4
_RESTS: Final = frozenset({Phase.QUEUED, Phase.INCOMPLETE, Phase.PAUSED})
_UNPRICED: Final = "To see what they cost, start the dashboard with --price TYPE=AMOUNT."
_NO_COSTS: Final = "hint: --price shows no costs: they need the nodes and pods of the whole cluster"


SPACING: Final = 10
"""Seconds between two samples, at least."""
MAX_SAMPLES: Final = 360


def sample(snapshot: DashboardSnapshot) -> Json:
    """The load now; `shares`: used percent of allocatable by resource."""
    nodes = snapshot.state.nodes if snapshot.state else ()
    return {
        "at": _second(snapshot.at),
        "shares": {total["title"]: total["share"] for total in node_load.totals(nodes)},
        "running": _running(snapshot),
        "queued": len(snapshot.waiting),
    }


def recorded(samples: tuple[Json, ...], newest: Json) -> tuple[Json, ...]:
    """The latest samples with a new one, unless it is within `SPACING` of the last one."""
    if samples and newest["at"] - samples[-1]["at"] < SPACING:
        return samples
    return (*samples, newest)[-MAX_SAMPLES:]


def page(
    snapshot: DashboardSnapshot,
    samples: Iterable[Json],
    asked: CostOptions = NO_PRICES,
    costs: Callable[[ClusterState, CostOptions], ClusterCosts] = cluster_costs,
) -> Json:
    """The whole page; `asked` are the options for costs."""
    state = snapshot.state
    nodes = state.nodes if state else ()
    hints = (*snapshot.hints, *([_NO_COSTS] if asked.prices and not state else []))
    jobs = sorted(snapshot.jobs, key=lambda job: (phase(job) in ENDED, job.key))
    labels = labels_of(nodes)
    rows = [
        job_row(job) | {"domains": _domains(job, labels)} for job in jobs[:MAX_JOBS] if job.roles
    ]
    return {
        "cluster": _cluster(snapshot, samples),
        "nodes": {
            "known": state is not None,
            "all": len(nodes),
            "ready": sum(node.ready for node in nodes),
            "titles": [node_load.title(name) for name in node_load.names(nodes)],
            "rows": node_load.each(nodes),
            "spread": node_load.spread(nodes),
        },
        "jobs": {"all": len(jobs), "rows": rows},
        "queue": {
            "all": len(snapshot.waiting),
            "rows": [_waiting(entry, snapshot.at) for entry in snapshot.waiting[:MAX_WAITING_JOBS]],
        },
        "teams": {
            "all": len(snapshot.teams),
            "rows": [_team(figures) for figures in _first_teams(snapshot.teams)],
        },
        "costs": state and _costs(state, costs(state, asked), asked),
        "hints": [hint.removeprefix("hint: ") for hint in hints],
    }


def _cluster(snapshot: DashboardSnapshot, samples: Iterable[Json]) -> Json:
    nodes = snapshot.state.nodes if snapshot.state else ()
    return {
        "loads": node_load.totals(nodes),
        "running": _running(snapshot),
        "queued": len(snapshot.waiting),
        "deciding": snapshot.deciding.text if snapshot.deciding else "",
        "samples": list(samples),
    }


def _running(snapshot: DashboardSnapshot) -> int:
    return sum(phase(job) not in ENDED | _RESTS for job in snapshot.jobs)


def job_row(job: TrainingJob) -> Json:
    """One training job, and the size over time of its elastic role."""
    shown = view(job)
    role = counted(job)
    row = next(row for row in shown.roles if row.role is role)
    return {
        "namespace": job.key.namespace,
        "name": job.key.name,
        "framework": job.framework,
        "phase": shown.phase.value,
        "sizes": shown.sizes,
        "role": role.name,
        "size": row.size,
        "running": row.running,
        "min": role.spec.min,
        "max": role.spec.max,
        "wanted": role.request.replicas,
        "imaginable": shown.phase not in ENDED and not unready(job),
        **shown.why.document,
        "line": [[_second(time), size] for time, size in _sizes(job, role)],
        "ended": _second(end.since) if (end := role.status.end_condition) else None,
    }


def _sizes(job: TrainingJob, role: Role) -> list[tuple[datetime, int]]:
    """The role's sizes over time, (time, size) per change, without the step to 0 at its end."""
    end = role.status.end_condition
    every = steps(job, role).points
    points = [(at, size) for at, size in every if size or not end or at < end.since]
    return [next(equal) for _, equal in groupby(points, key=itemgetter(1))]


def _domains(job: TrainingJob, labels: NodeLabels) -> list[Json]:
    """Topology domains of the job's running pods, by role."""
    return [
        {
            "role": counts.role,
            "label": counts.label,
            "required": counts.required,
            "pods": topology_view.domains(counts.domains),
        }
        for counts in running(job, labels)
        if counts.domains
    ]


def _team(figures: TeamFigures) -> Json:
    return {
        "name": figures.team.name,
        "level": figures.level,
        "guaranteed": _amounts(figures.guaranteed),
        "used": _amounts(figures.used),
        "borrowed": _amounts(figures.borrowed),
        "lent": _amounts(figures.lent),
        "waiting": figures.waiting,
        "bars": _bars(figures),
    }


def _amounts(amounts: Resources) -> str:
    return str(amounts) if amounts else ""


def _first_teams(teams: Sequence[TeamFigures]) -> tuple[TeamFigures, ...]:
    """The topmost `MAX_TEAMS` teams, in their order."""
    first = sorted(range(len(teams)), key=lambda place: (teams[place].level, place))
    shown = set(first[:MAX_TEAMS])
    return tuple(team for place, team in enumerate(teams) if place in shown)


def _bars(figures: TeamFigures) -> list[Json]:
    """Bars of the resources that the team is guaranteed, then of others that it uses."""
    owed = [name for name, _ in figures.guaranteed]
    others = [name for name, _ in figures.used if name not in owed]
    return [_bar(figures, name) for name in (*owed, *others)[:_MAX_RESOURCES]]


def _bar(figures: TeamFigures, name: str) -> Json:
    """One resource; parts are percent of the larger of its guarantee and its usage.

    The parts are drawn in this order: used within the guarantee, borrowed, lent. The rest up to 100
    is idle and not lent. The text is `40 of 32 nvidia.com/gpu, 8 borrowed`.
    """
    owed, used = figures.guaranteed.get(name), figures.used.get(name)
    borrowed, lent = figures.borrowed.get(name), figures.lent.get(name)
    whole = max(owed, used, 1)
    parts = [f"{_figure(name, used)} of {amount_text(name, owed)}"]
    parts += [f"{_figure(name, borrowed)} borrowed"] * bool(borrowed)
    parts += [f"{_figure(name, lent)} lent"] * bool(lent)
    shares = {"within": used - borrowed, "borrowed": borrowed, "lent": lent}
    return {
        "resource": name,
        "text": ", ".join(parts),
        **{part: round(100 * amount / whole, 1) for part, amount in shares.items()},
    }


def _figure(name: str, amount: int) -> str:
    """An amount without the resource's name, which follows the guarantee."""
    return amount_text(name, amount).partition(" ")[0]


def _costs(state: ClusterState, costs: ClusterCosts, asked: CostOptions) -> Json:
    """The costs that `kubectl edl top cluster` prints below its table."""
    rows = [("Node-hours", costs.nodes.nodes), ("Cost", costs.nodes.hourly)] if state.nodes else []
    return {
        "rows": [_shares(title, shares) for title, shares in rows if shares],
        "hours": hours_lines(costs),
        "note": unpriced(costs.nodes) or ("" if asked.prices else _UNPRICED),
    }


def _shares(title: str, shares: NodeShares) -> Json:
    """`parts` in percent of the whole, in the order of the columns."""
    columns = ("minimums", "extras", "others", "idle")
    amounts = [getattr(shares, name) for name in columns]
    return {
        "title": title,
        "total": decimal(shares.total),
        "parts": [round(100 * part / shares.total, 1) if shares.total else 0 for part in amounts],
        **{name: decimal(amount) for name, amount in zip(columns, amounts, strict=True)},
    }


def _waiting(entry: QueuedJob, now: datetime) -> Json:
    first, unnamed = first_ahead(entry.ahead, entry.position)
    ahead = list(map(str, first))
    if entry.counted:
        ahead, unnamed = [ahead_text(entry.counted)], 0
    return {
        "namespace": entry.job.key.namespace,
        "name": entry.job.key.name,
        "position": entry.position,
        "team": entry.team,
        "placeInTeam": entry.position_in_team,
        "priority": entry.job.priority,
        "asks": str(entry.requests),
        "ahead": [*ahead, *([f"{unnamed} more"] if unnamed > 0 else [])],
        "starts": when(entry.estimate, now) if entry.estimate else "unknown",
        **entry.why.document,
        "since": _second(entry.job.queued_at),
    }


def _second(moment: datetime) -> int:
    return round(moment.timestamp())
