"""Reads a scenario (nodes, jobs, services and node events) from one YAML document."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from math import inf
from pathlib import Path
from random import Random
from typing import Any, Final

from msgspec.structs import replace

from edl.errors import Denied, refuse
from edl.kube.state.affinity_index import met_by_each_other
from edl.model import ClusterState, JobKey, Node, Teams
from edl.parsing.manifest_reader import MAX_REPLICAS
from edl.parsing.team_document import parse_teams
from edl.planner.decision_limits import Limits
from edl.planner.policies import POLICIES
from edl.planner.published_settings import Setting, filled, schema
from edl.simulator import Scenario, Service, SimulatedNodePool, Timing, Training
from edl.simulator.scenario import START
from kubectl_edl.resources.manifest_sources import ManifestSource, Unreadable
from kubectl_edl.resources.yaml_reader import documents
from kubectl_edl.simulate.scenario import scenario_nodes
from kubectl_edl.simulate.scenario.csv_traces import trace
from kubectl_edl.simulate.scenario.field_reader import SHOWN, TIME, Field, Reading
from kubectl_edl.simulate.scenario.manifest_templates import with_unique_names
from kubectl_edl.simulate.scenario.scenario_jobs import POD, shape, trainings

SCENARIO: Final = (
    *("apiVersion", "kind", "horizon", "seed", "policies", "limits", "settings"),
    *("nodes", "nodePools", "jobs", "trace", "services", "events", "teams"),
)
_SHOWN: Final = 200
"""The most characters of a path in a message."""
SERVICE: Final = (
    *("name", "namespace", "priority", "replicas", "steps"),
    *POD,
    *("startUp", "shutDown"),
)
SETTINGS: Final = ("startUp", "shutDown", "round", "autoscaler")


@dataclass(frozen=True, slots=True)
class ScenarioFile:
    """A scenario, the policies to run it under, and its `horizon` in seconds."""

    scenario: Scenario
    policies: tuple[str, ...]
    """Empty to use the command's policies."""
    limits: Limits
    horizon: float
    hints: tuple[str, ...] = ()
    """Hints on differences between the file and the scenario, such as renamed jobs."""


def read_scenario(source: ManifestSource, seed: int | None = None) -> ScenarioFile:
    """Read a scenario. Raises Denied with every finding, Unreadable if it is not YAML.

    `seed` overrides the scenario's own. Relative paths start at the scenario's folder.
    """
    parsed = list(documents(source))
    if len(parsed) != 1:
        raise Unreadable(f"{source.name}: {len(parsed)} documents; a scenario is one")
    reading = Reading(parsed[0])
    scenario = _Reader(reading, Path(source.name).parent, seed).scenario()
    refuse(reading.findings)
    return scenario


@dataclass(frozen=True, slots=True)
class _Reader:
    reading: Reading
    folder: Path
    asked_seed: int | None

    def scenario(self) -> ScenarioFile:
        root = self.reading.root().only(SCENARIO)
        pools = tuple(scenario_nodes.pools(root["nodePools"]))
        nodes = self._nodes(root["nodes"], pools)
        traced = [job for field in root["trace"].items() for job in self._traced(field)]
        trainings, hints = with_unique_names(self._trainings(root), traced)
        jobs = met_by_each_other(tuple(training.job for training in trainings))
        trainings = tuple(replace(one, job=job) for one, job in zip(trainings, jobs, strict=True))
        services = tuple(_service(field) for field in root["services"].listed())
        teams = _teams(root["teams"])
        names = {job.key.namespace for job in trainings} | {one.namespace for one in services}
        of_names = {name: teams.team_of(name, {}) for name in names} if teams else {}
        scenario = Scenario(
            nodes=nodes,
            trainings=trainings,
            services=services,
            events=tuple(scenario_nodes.events(root["events"], nodes)),
            pools=pools,
            settings=_settings(root["settings"]),
            around=ClusterState(START, (), (), teams=teams, namespace_teams=of_names),
        )
        policies = root["policies"].items()
        return ScenarioFile(
            scenario=scenario,
            policies=tuple(field.choice(tuple(POLICIES), "fair") for field in policies),
            limits=_limits(root["limits"]),
            horizon=root["horizon"].seconds(0) or inf,
            hints=hints,
        )

    def _nodes(self, field: Field, pools: Sequence[SimulatedNodePool]) -> tuple[Node, ...]:
        nodes = [node for part in field.listed() for node in scenario_nodes.group(part)]
        if not (nodes or pools):
            field.report("no nodes", "a list of groups, such as {count: 10, cpu: 16, memory: 64Gi}")
        names = [*(node.name for node in nodes), *(pool.name for pool in pools)]
        if len(set(names)) < len(names):
            field.report("two nodes of one name", "another name for one of the groups, or pools")
        return tuple(nodes)

    def _trainings(self, root: Field) -> tuple[Training, ...]:
        default = root["seed"].whole(0)
        seed = default if self.asked_seed is None else self.asked_seed
        # Each entry has its own random generator, so that added entries do not change others.
        jobs = [
            job
            for number, field in enumerate(root["jobs"].listed())
            for job in _within(
                field,
                trainings(field, Random(f"{seed}/{number}")),  # noqa: S311 - not for security
            )
        ]
        names = Counter(job.key.name for job in jobs)
        for twice in sorted(name for name, number in names.items() if number > 1):
            root["jobs"].report(f'two jobs are called "{twice}"', "a name of its own for each")
        return tuple(jobs)

    def _traced(self, field: Field) -> Sequence[Training]:
        path, line = self.folder / field.text(), self.reading.document.line_of(field.place)
        try:
            if not path.is_file():  # a pipe or a device might never end
                field.report(f'"{path}" is not a file', "a CSV file, relative to the scenario")
                return ()
            return trace(str(path), path.read_text("utf-8-sig"))
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            field.report(f'"{str(path)[:_SHOWN]}" cannot be read: {why}', "a CSV file, in UTF-8")
            return ()
        except Denied as denied:
            for finding in denied.findings:
                self.reading.add(line, finding)
            return ()


def _within(field: Field, trainings: Iterable[Training]) -> Iterator[Training]:
    """Set the namespace that the entry names."""
    namespace = field["namespace"].text()
    for training in trainings:
        key = JobKey(namespace or training.key.namespace, training.key.name)
        yield replace(training, job=replace(training.job, key=key)) if namespace else training


def _teams(field: Field) -> Teams:
    """Teams, in the format of the ConfigMap `edl-teams`."""
    if not field:
        return Teams()
    try:
        return parse_teams(json.dumps({"teams": field.value}))
    except Denied as denied:
        for finding in denied.findings:
            field.report(f"{finding.path}: {finding.what}", finding.allowed)
        return Teams()


def _service(field: Field) -> Service:
    field.only(SERVICE)
    steps = [(0.0, _pods(field["replicas"]))] if field["replicas"] else []
    for step in field["steps"].listed():
        step.only(("at", "replicas"))
        steps.append((step["at"].seconds(0), _pods(step["replicas"])))
    if not steps:
        field.report("a service without pods", "replicas, or steps: [{at: 0, replicas: 4}]")
    return Service(
        name=field["name"].text(f"service-{field.place[-1]}"),
        shape=shape(field),
        steps=tuple(sorted(steps)),
        priority=field["priority"].priority(),
        namespace=field["namespace"].text("default"),
        start_up=field["startUp"].seconds(0) if field["startUp"] else None,
        shut_down=field["shutDown"].seconds(0) if field["shutDown"] else None,
    )


def _pods(field: Field) -> int:
    if not field:
        field.report("is missing", f"a whole number from 0 to {MAX_REPLICAS}")
    return field.whole(0, most=MAX_REPLICAS)


def _settings(field: Field) -> Timing:
    field.only(SETTINGS)
    usual = Timing()
    if not (between := field["round"].seconds(usual.round)):
        field["round"].report("no time at all", f"above 0: {TIME}")
        return usual
    return Timing(
        start_up=field["startUp"].seconds(usual.start_up),
        shut_down=field["shutDown"].seconds(usual.shut_down),
        round=between,
        autoscaler=field["autoscaler"].seconds(usual.autoscaler),
    )


_FIXED: Final = (
    *("queueing_schedulers", "drain_patience"),
    *("provisioner", "provisioning_class", "provisioning_parameters", "provisional_image"),
)
"""The services of a scenario have one scheduler, and no drain of it waits for an eviction."""


def _limits(field: Field) -> Limits:
    """The planner's limits, with names in camel case: `growthCooldown: 10s`."""
    names = limit_fields()
    field.only(tuple(names))
    given = {limit.name: _limit(field[name], limit) for name, limit in names.items() if field[name]}
    return filled(Limits(), given)


def _limit(field: Field, setting: Setting) -> Any:  # noqa: ANN401 - of the setting's kind
    """The limit; its default if the value is not allowed, which is reported."""
    if setting.is_duration:
        return timedelta(seconds=field.seconds(setting.default.total_seconds()))
    try:
        return setting.read(field.value)
    except ValueError:
        shown = f'"{field.value}"' if isinstance(field.value, str) else f"{field.value}"
        field.report(shown[:SHOWN], setting.allowed)
        return setting.default


def limit_fields() -> Mapping[str, Setting]:
    """The limits that a scenario may set, by the names of its fields."""
    return {_camel(limit.name): limit for limit in schema(Limits()) if limit.name not in _FIXED}


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
