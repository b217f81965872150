"""The runs of `kubectl edl simulate`: a scenario under several policies, or the live cluster."""

from collections.abc import Iterator, Sequence
from math import inf
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from edl.model import ClusterState
from edl.model.jobs import queue_order
from edl.planner.decision_limits import GrowthMode, Limits
from edl.planner.policies import POLICIES
from edl.simulator import Elastic, Plain
from kubectl_edl.cli.command_errors import Refused
from kubectl_edl.cli.context import CliContext, ClusterConnection, Scope
from kubectl_edl.cli.options import OutputOptions
from kubectl_edl.cli.watch_report import show
from kubectl_edl.client.cluster_view import survey_cluster
from kubectl_edl.client.reconciler_settings import deciding
from kubectl_edl.output.report import Report
from kubectl_edl.resources.manifest_sources import sources
from kubectl_edl.simulate import plots, what_if
from kubectl_edl.simulate.options import SimulateOptions
from kubectl_edl.simulate.run_variants import Run, Variant, run
from kubectl_edl.simulate.scenario.csv_traces import trace
from kubectl_edl.simulate.scenario.manifest_templates import with_unique_names
from kubectl_edl.simulate.scenario.scenario_reader import read_scenario
from kubectl_edl.simulate.view import runs_report
from kubectl_edl.simulate.what_if_view import what_if_report

_PLAIN: Final = "plain"
_LIVE_SECONDS: Final = 600.0


def scenario(cli: CliContext, _scope: Scope, asked: SimulateOptions) -> None:
    """Simulate a scenario file, with its own jobs and those of traces."""
    if asked.plot:
        plots.check(asked.plot)
    files = sources([asked.filename], cli.stdin)
    if len(files) != 1:
        raise Refused(f"{asked.filename}: {len(files)} files; a scenario is one")
    file = read_scenario(files[0], asked.seed)
    traced = [job for path in asked.trace for job in trace(path, _text(path))]
    trainings, hints = with_unique_names(file.scenario.trainings, traced)
    given = replace(file.scenario, trainings=trainings)
    if not (given.trainings or given.services):
        raise Refused(f"{asked.filename}: nothing to simulate; add jobs, a trace or services")
    for hint in (*file.hints, *hints):
        cli.warn(hint)
    until = asked.until.total_seconds() if asked.until else file.horizon
    if until == inf and any(training.work.seconds == inf for training in given.trainings):
        cli.warn("hint: jobs without length or work never end; a horizon limits the simulation")
    names = asked.policy or file.policies or ("fair",)
    variants = [
        Variant(" ".join([name, *growth]), given, Elastic(POLICIES[name], limits))
        for name in names
        for growth, limits in _grown(file.limits, asked.growth)
    ]
    variants += [Variant(_PLAIN, given, Plain())] if asked.plain else []
    runs = run(variants, until, cli.err)
    wide = asked.output == "wide"
    report = runs_report(runs, wide=wide).with_hints(_never_started(runs, until, wide=wide))
    _answer(cli, asked, runs, report)


def _grown(limits: Limits, modes: Sequence[str]) -> Iterator[tuple[Sequence[str], Limits]]:
    """The limits in each growth mode, and the words that distinguish them in the report."""
    for mode in modes:
        yield [mode] if len(modes) > 1 else [], replace(limits, growth=GrowthMode(mode))
    if not modes:
        yield [], limits


def _never_started(runs: Sequence[Run], until: float, *, wide: bool) -> Iterator[str]:
    """A hint for each run with jobs that never start, which distort its mean wait."""
    for variant in runs:
        never, name = variant.result.never, variant.name
        if never:
            whose = f"{name}: " if len(runs) > 1 else ""
            verbs = ("starts", "does not start") if never == 1 else ("start", "do not start")
            what = f"never {verbs[0]}" if until == inf else f"{verbs[1]} before the end"
            # A run without kubectl-edl records no reasons.
            why = "" if wide or name == _PLAIN else ": -o wide shows why"
            yield f"hint: {whose}{never} of {len(variant.result.jobs)} jobs {what}{why}"


def live(cli: CliContext, scope: Scope, asked: SimulateOptions) -> None:
    """Simulate the live cluster twice: unchanged, and with the requested change."""
    if asked.plot:
        plots.check(asked.plot)
    connection = cli.connect(scope)
    now = cli.now()
    effective = deciding(connection, now)
    state, _ = survey_cluster(connection.cluster, now, effective.settings)
    limits = effective.settings.limits
    control_mode = Elastic(effective.settings.policy_to_apply(), limits)
    changed = _changed(state, asked, connection)
    after = what_if.scenario_of(changed, limits)
    variants = [Variant("as-is", what_if.scenario_of(state, limits), control_mode)]
    if changed is not state and not asked.policy:
        variants.append(Variant("what-if", after, control_mode))
    variants += [Variant(name, after, Elastic(POLICIES[name], limits)) for name in asked.policy]
    variants += [Variant(_PLAIN, after, Plain())] if asked.plain else []
    until = asked.until.total_seconds() if asked.until else _LIVE_SECONDS
    runs = run(variants, until, cli.err)
    namespace = connection.namespace
    live_jobs = [job for job in sorted(state.jobs, key=queue_order) if job.live]
    shown = [job for job in live_jobs if namespace in ("", job.key.namespace)]
    report = what_if_report(shown, runs, namespace)
    hints = what_if.hints(state, asked.like)
    if asked.add_nodes and not asked.like:
        hints.append(what_if.added_kind(state, asked.add_nodes))
    if live_jobs and not shown:
        hints.append("hint: all training jobs are in other namespaces: -A shows them")
    _answer(cli, asked, runs, report.with_hints((*effective.hints, *hints)))


def _changed(
    state: ClusterState, asked: SimulateOptions, connection: ClusterConnection
) -> ClusterState:
    for setting in asked.set:
        state = what_if.with_setting(state, setting, connection.namespace or "default")
    if asked.add_nodes:
        state = what_if.with_nodes(
            state, asked.add_nodes, asked.like, connection.scope.cluster_flags
        )
    return state


def _answer(cli: CliContext, asked: SimulateOptions, runs: Sequence[Run], report: Report) -> None:
    show(cli, OutputOptions(format=asked.output), lambda: report)
    if asked.plot:
        plots.plot(runs, asked.plot)
        cli.warn(f"drawn into {asked.plot}")


def _text(path: str) -> str:
    try:
        return Path(path).read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise Refused(f"--trace {path}: cannot be read: {error}") from error
