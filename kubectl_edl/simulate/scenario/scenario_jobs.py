"""The training jobs of a scenario: named ones, and the requested number of copies."""

import re
from collections.abc import Iterator, Sequence
from itertools import count, islice
from pathlib import Path
from random import Random
from typing import Final

from msgspec.structs import replace

from edl import contract
from edl.errors import EdlError
from edl.frameworks import FRAMEWORKS
from edl.model import Shape, Toleration, Topology, TrainingJob
from edl.parsing import topology_labels
from edl.parsing.manifest_reader import MAX_REPLICAS, ManifestReader
from edl.quantities import CPU, MEMORY, PODS, Resources
from edl.simulator import (
    CONSTANT,
    ENDLESS,
    LINEAR,
    Amdahl,
    Curve,
    Measured,
    Training,
    Work,
    Workload,
    WorkloadRole,
    queued,
)
from kubectl_edl.simulate.scenario import distributions
from kubectl_edl.simulate.scenario.field_reader import LONGEST_TIME, TIME, TOO_LONG, Field
from kubectl_edl.simulate.scenario.manifest_templates import named, template

AMOUNTS: Final = {"cpu": CPU, "memory": MEMORY, "gpus": contract.GPU_RESOURCE}
"""Fields that set the amount of a resource."""
_POD_COUNT: Final = Resources.of({PODS: 1})
POD: Final = (*AMOUNTS, "resources", "nodeSelector", "tolerations")
_SEAT: Final = ("replicas", "min", "max", *POD)
_WORK: Final = ("length", "work", "speed", "checkpoint", "items", "startUp", "shutDown")
_TOPOLOGY: Final = {
    "requiredTopology": contract.REQUIRED_TOPOLOGY,
    "preferredTopology": contract.PREFERRED_TOPOLOGY,
}
_ARRIVAL: Final = ("at", "count", "every", "poisson")
JOB: Final = (
    *("name", "manifest", "framework", "mode", "namespace", "priority"),
    *(*_TOPOLOGY, "roles", *_SEAT, *_WORK, *_ARRIVAL),
)
_OPERATORS: Final = ("Equal", "Exists")
_EFFECTS: Final = ("", "NoSchedule", "NoExecute", "PreferNoSchedule")
_SPEEDS: Final = "linear, constant, amdahl 0.05 (a serial share), or a table {1: 1, 8: 6.5}"
_MAX_JOBS: Final = 100_000
_SIZE: Final = re.compile(r"[0-9]{1,9}")


def trainings(field: Field, random: Random) -> list[Training]:
    """The jobs of one entry of `jobs`: one, or `count` copies."""
    field.only(JOB)
    _check(field)
    how_many = field["count"].whole(1, least=1, most=_MAX_JOBS)
    name = field["name"].text(f"job-{field.place[-1]}")
    names = [name] if how_many == 1 else [f"{name}-{number}" for number in range(how_many)]
    arrivals = list(islice(_arrivals(field, random), how_many))
    if arrivals[-1] > LONGEST_TIME:
        last = field["every"] or field["poisson"] or field["at"]
        last.report(f"the last of {how_many} would come after {TOO_LONG}", "fewer, or less apart")
        return []
    jobs = [
        training(_redrawn(field, distributions.at_random(random)), name, arrival)
        for name, arrival in zip(names, arrivals, strict=True)
    ]
    return [job for job in jobs if job]


def _check(field: Field) -> None:
    """Read the entry with each of its choices, so that invalid choices are always reported."""
    arrival = [name for name in ("every", "poisson") if field[name]]
    if len(arrival) > 1:
        field["poisson"].report("every and poisson", "one of them")
    for number in range(distributions.check(field)):
        training(_redrawn(field, distributions.each(number)), "job", 0.0)


def _redrawn(field: Field, pick: distributions.Pick) -> Field:
    return replace(field, value=distributions.drawn(field.value, pick), ways=distributions.WAYS)


def _arrivals(field: Field, random: Random) -> Iterator[float]:
    """Arrival times from `at` on: all at once, at a fixed interval, or as a Poisson process."""
    time = field["at"].seconds(0)
    every, mean = field["every"].seconds(0), field["poisson"].seconds(0)
    for number in count():
        if mean:
            time += random.expovariate(1 / mean)
            yield round(time, 3)
        else:
            yield time + number * every


def training(field: Field, name: str, arrival: float) -> Training | None:
    """A job whose values are all drawn; None if it is invalid, which is reported."""
    job = _job(field, name)
    if job is None:
        return None
    return Training(
        job,
        _work(field),
        arrival,
        checkpoint=_time(field["checkpoint"]),
        start_up=_time(field["startUp"]),
        shut_down=_time(field["shutDown"]),
    )


def _job(field: Field, name: str) -> TrainingJob | None:
    if field["manifest"]:
        return _templated(field, name)
    kind = Workload(field["framework"].choice(tuple(FRAMEWORKS), "pytorch"), field["mode"].text())
    roles = _roles(field, kind)
    kind = replace(kind, topology=_topology(field, roles))
    priority = field["priority"].priority()
    items = field["items"].whole(1, least=1) if field["items"] else None
    try:
        return queued(name, kind, roles, priority=priority, items=items)
    except ValueError as error:
        what, _, allowed = str(error).partition("; ")
        (field["roles"] or field).report(what, allowed)
        return None


def _templated(field: Field, name: str) -> TrainingJob | None:
    """A job from a manifest, relative to the scenario's folder; other fields apply as usual."""
    part = field["manifest"]
    field.only(("manifest", "name", "namespace", "priority", *_WORK, *_ARRIVAL))
    path = Path(field.reading.document.origin.where).parent / part.text()
    try:
        return named(template(str(path)), name, field["priority"].priority())
    except (EdlError, ValueError) as error:
        what, _, allowed = str(error).partition("; ")
        part.report(what, allowed)
        return None


def _topology(field: Field, roles: Sequence[WorkloadRole]) -> Topology:
    """The topology, in the format of the annotations; several labels may also be a list."""
    texts = {
        note: ",".join(part.text() for part in field[name].items())
        for name, note in _TOPOLOGY.items()
        if field[name]
    }
    if not texts:
        return Topology()
    form = ManifestReader({"metadata": {"annotations": texts}})
    topology = topology_labels.read(form, frozenset(role.role for role in roles))
    for finding in form.findings:
        name = next(name for name, note in _TOPOLOGY.items() if note in finding.path)
        field[name].report(finding.what, finding.allowed)
    return topology


def _time(field: Field) -> float | None:
    return field.seconds(0) if field else None


# -- pods --------------------------------------------------------------------------------------


def _roles(field: Field, kind: Workload) -> Sequence[WorkloadRole]:
    """The roles in `roles`, or the worker role with the entry's own fields."""
    if not field["roles"]:
        return [_role(field, FRAMEWORKS[kind.framework].worker)]
    kinds = FRAMEWORKS[kind.framework].kinds
    roles = field["roles"].only(tuple(kinds))
    return [_role(part.only(_SEAT), name) for name, part in roles.parts() if name in kinds]


def _role(field: Field, role: str) -> WorkloadRole:
    size = field["replicas"].whole(1, least=1, most=MAX_REPLICAS)
    low = field["min"].whole(size, least=1, most=MAX_REPLICAS)
    high = field["max"].whole(max(size, low), least=1, most=MAX_REPLICAS)
    if low > high:
        field["min"].report(f"min {low} is above max {high}", "1 ≤ min ≤ max")
        high = low
    return WorkloadRole(role, low, high, shape(field))


def shape(field: Field) -> Shape:
    """The requests of one pod, and its node constraints."""
    others = field["resources"]
    amounts = field.resources(AMOUNTS) + _POD_COUNT
    if others:
        amounts += others.resources({name: name for name, _ in others.members()})
    selector = sorted((key, part.text()) for key, part in field["nodeSelector"].members())
    tolerations = tuple(_toleration(part) for part in field["tolerations"].items())
    return Shape(amounts, tuple(selector), tolerations)


def _toleration(field: Field) -> Toleration:
    field.only(("key", "operator", "value", "effect"))
    return Toleration(
        field["key"].text(),
        field["operator"].choice(_OPERATORS, "Equal"),
        field["value"].text(),
        field["effect"].choice(_EFFECTS, ""),
    )


# -- work --------------------------------------------------------------------------------------


def _work(field: Field) -> Work:
    """`length`: seconds at any size; `work`: seconds of one replica; otherwise it never ends."""
    name = "length" if field["length"] else "work"
    if field["length"] and field["work"]:
        field["work"].report("length and work", "one of them")
    if field["speed"] and not field["work"]:
        field["speed"].report("without work", "with work; a length is the same at any size")
    if not field[name]:
        return ENDLESS
    seconds = field[name].seconds(1)
    if seconds <= 0:
        field[name].report("no time at all", f"above 0: {TIME}")
        return ENDLESS
    return Work(seconds, CONSTANT if name == "length" else curve(field["speed"]))


def curve(field: Field) -> Curve:
    """A named curve, or a table from replicas to relative speed."""
    if dict(field.parts()):
        return _measured(field)
    words = field.text("linear").split()
    if words in (["linear"], ["constant"]):
        return LINEAR if words == ["linear"] else CONSTANT
    try:
        name, share = words
        if name == "amdahl":
            return Amdahl(float(share))
    except ValueError:
        pass
    field.report(f'"{field.value}"', _SPEEDS)
    return LINEAR


def _measured(field: Field) -> Curve:
    sizes = {size: part for size, part in field.parts() if _SIZE.fullmatch(size)}
    for size, part in field.parts():
        if size not in sizes:
            part.report(f'"{size}" is not a number of replicas', _SPEEDS)
    try:
        pairs = [(int(size), part.number(1) if part else 0.0) for size, part in sizes.items()]
        return Measured(tuple(sorted(pairs))) if pairs else LINEAR
    except ValueError as error:
        field.report(str(error).partition("; ")[0], _SPEEDS)
        return LINEAR
