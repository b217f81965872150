"""A webhook that injects containers sees pods only: a waiting job counts what its last run had."""

import pytest

from edl import contract
from edl.model import TrainingJob
from edl.planner.plan import Suspension
from edl.quantities import Resources
from edl.steps.sizes.start import stop
from edl.writes import Json, Patch
from tests.edl.kube.manifests import job, job_pod
from tests.edl.kube.state.test_observe import NOW, look, only, snapshot
from tests.edl.kube.state.test_quota_usage import quota, state_of
from tests.reasons import because

NAME = contract.ADDED_REQUESTS
LONG = '{"cpu":"1"' + " " * 4096 + "}"
ONE_CORE = Resources.of({"cpu": 1000, "pods": 1})


def sweep(note: str | None = None, **spec: object) -> Json:
    notes = {} if note is None else {NAME: note}
    return job("sweep", labels={"edl.dev/framework": "none"}, notes=notes, **spec)


def read(manifest: Json, *pods: Json) -> TrainingJob:
    return only(look(snapshot([manifest], pods)))


def recorded_at_stop(job: TrainingJob) -> dict[str, str | None]:
    """What the patch that stops the job writes to the annotation; {} if it leaves it alone."""
    (patch,) = stop(job, Suspension(job.key, because("no capacity")), NOW).writes
    assert isinstance(patch, Patch)
    annotations = patch.body["metadata"]["annotations"]
    return {name: value for name, value in annotations.items() if name == NAME}


def test_a_stopped_job_counts_what_was_added_to_its_pods() -> None:
    running = read(sweep(suspend=False), job_pod("sweep-a", 0, "sweep", cpu="1100m", node="n1"))
    record = recorded_at_stop(running)
    assert record == {NAME: '{"cpu":"100m"}'}
    (role,) = read(sweep(record[NAME])).roles
    assert role.template.shape.requests == Resources.of({"cpu": 1100, "pods": 1})


def test_the_next_stop_records_what_its_pods_show_then() -> None:
    """The webhook may add more, or be gone."""
    pods = {cpu: job_pod("sweep-a", 0, "sweep", cpu=cpu, node="n1") for cpu in ("1", "1100m", "2")}
    before = sweep('{"cpu":"100m"}', suspend=False)
    assert recorded_at_stop(read(before, pods["1"])) == {NAME: None}
    assert recorded_at_stop(read(before, pods["1100m"])) == {}
    assert recorded_at_stop(read(before, pods["2"])) == {NAME: '{"cpu":"1000m"}'}
    assert recorded_at_stop(read(before)) == {}


def test_pods_as_their_template_record_nothing() -> None:
    running = read(sweep(suspend=False), job_pod("sweep-a", 0, "sweep", cpu="1", node="n1"))
    assert recorded_at_stop(running) == {}


@pytest.mark.parametrize(
    "note",
    ["", "{", "[]", '{"cpu":1}', '{"cpu":"much"}', '{"cpu":"-2"}', '{"cpu":"0"}', '{"pods":"3"}'],
)
def test_an_invalid_record_adds_nothing(note: str) -> None:
    (role,) = read(sweep(note)).roles
    assert role.template.shape.requests == ONE_CORE


def test_a_quota_is_charged_for_what_is_added() -> None:
    state = state_of(("Job", sweep('{"cpu":"100m"}')), quota({"requests.cpu": "8"}))
    assert [charge.amount for charge in only(state).roles[0].template.charges] == [1100]
