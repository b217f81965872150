"""One object that nobody thought of never stops the others: the whole way from JSON to writes."""

import copy
import logging
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, TypeAlias

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edl.kube.cache.store import Store
from edl.kube.cache.watched_kinds import Stores
from edl.planner.decide import decide
from edl.planner.decision_limits import Limits
from edl.planner.policies import POLICIES
from edl.steps.plan_steps import Steps, steps
from edl.writes import Json, Patch
from tests.edl.kube import manifests
from tests.edl.kube.manifests import job, job_pod, member
from tests.edl.kube.whole_state import whole_state

NOW = datetime(2026, 1, 1, 1, tzinfo=UTC)
Path: TypeAlias = tuple[Any, ...]

NAMES_AND_WORDS = ("Succeeded", "Failed", "caffe", "mnist", "launcher", "uid-mnist-ps", "n1", "n9")
AMOUNTS = ("9" * 5000, "1e9999999", "-5", "9223372036854775807", "-9E", "٣", "1..2", "..", "", "x")
TIMES_AND_ROLES = ("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59Z", "chief=1,worker=1..100000")
TEXTS = st.sampled_from((*NAMES_AND_WORDS, *AMOUNTS, *TIMES_AND_ROLES))
NUMBERS = st.sampled_from([0, -1, 1, 3, 100_000])
LAUNCHER = {"edl.dev/framework": "horovod", "edl.dev/job": "h", "edl.dev/role": "launcher"}
ALL_ROLES = {"edl.dev/roles": "launcher=1,worker=1..4"}
TOLD = {"edl.dev/hostfile": "h-worker-0.h.web.svc:1\n", "edl.dev/published-at": manifests.CREATED}
TIMES = {"edl.dev/resized-at": manifests.CREATED, "edl.dev/started-at": manifests.CREATED}
GT = {"matchExpressions": [{"key": "zone", "operator": "Gt", "values": ["1"]}]}
AFFINITY = {
    "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [GT]}}
}
OBJECTS: dict[str, list[Json]] = {
    "Node": [manifests.node("n1"), manifests.node("n2", taints=[{"key": "a", "effect": "x"}])],
    "Pod": [
        job_pod("w0", 0, "mnist-worker", node="n2", phase="Running", notes=dict(TOLD)),
        job_pod("l0", 0, "h-launcher", node="n2", phase="Running", notes=dict(TOLD)),
        manifests.pod("web", priority=5, spec={"affinity": AFFINITY}),
    ],
    "Job": [
        member("chief", suspend=False, notes=dict(TIMES)),
        member("ps", suspend=False, conditions=["Failed"]),
        member("worker", suspend=False, notes=TIMES | {"edl.dev/replicas": "2"}),
        job("h-launcher", labels=LAUNCHER, notes=ALL_ROLES, suspend=False),
        job(
            "h-worker", labels=LAUNCHER | {"edl.dev/role": "worker"}, notes=ALL_ROLES, suspend=False
        ),
        job("odd", labels={"edl.dev/framework": "none"}, pod={"affinity": AFFINITY}),
    ],
    "PriorityClass": [{"metadata": manifests.metadata("low"), "value": 5, "globalDefault": True}],
}
GOOD = job(
    "good",
    labels={"edl.dev/framework": "none"},
    pod={"tolerations": [{"key": "good", "operator": "Exists"}]},
)
"""Queued, with a node of its own: whatever the others are, it starts."""
ROOM = manifests.node("room", taints=[{"key": "good", "effect": "NoSchedule"}])
NAMES = {"name", "namespace", "resourceVersion", "creationTimestamp", "key", "type", "operator"}
"""What the API server sets, or checks, so strictly that nothing else is ever read."""


def places(value: object, path: Path = ()) -> Iterator[Path]:
    """Where a text or a number stands."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from places(inner, (*path, name)) if name not in NAMES else ()
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from places(inner, (*path, index))
    elif isinstance(value, str | int) and not isinstance(value, bool):
        yield path


def change(objects: dict[str, list[Json]], path: Path, text: str, number: int) -> None:
    """Another value of the same type: types are the API server's business."""
    place: Any = objects
    for part in path[:-1]:
        place = place[part]
    place[path[-1]] = text if isinstance(place[path[-1]], str) else number


def decided(objects: dict[str, list[Json]]) -> Steps:
    stores = Stores()
    for selection, store in stores:
        fill(store, objects.get(selection.kind, []))
    state = whole_state(stores, NOW)
    return steps(decide(state, POLICIES["fair"], Limits()), state)


def fill(store: Store[Any], bodies: list[Json]) -> None:
    items = (store.item(msgspec.json.encode(body)) for body in bodies)
    store.replace({item.key: item for item in items}, 7)


PLACES = list(places(OBJECTS))


@pytest.fixture(autouse=True, scope="module")
def _quiet() -> Iterator[None]:
    """What cannot be read is logged, each with its traceback."""
    logging.disable(logging.ERROR)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.slow
@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from(PLACES), TEXTS, NUMBERS), min_size=1, max_size=4))
def test_no_object_stops_a_job_that_has_nothing_to_do_with_it(
    changes: list[tuple[Path, str, int]],
) -> None:
    objects = copy.deepcopy(OBJECTS)
    for path, text, number in changes:
        change(objects, path, text, number)
    objects["Job"].append(GOOD)
    objects["Node"].append(ROOM)
    found = decided(objects)
    assert found.errors == ()
    (patch,) = (
        write
        for step in found.steps
        for write in step.writes
        if isinstance(write, Patch) and write.target.name == "good"
    )
    assert patch.body["spec"]["suspend"] is False
