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


def pod(cpu: str = "1", *added: Json) -> Json:
    """A running pod whose own container requests `cpu`, with containers that were added."""
    made = job_pod("sweep-a", 0, "sweep", cpu=cpu, node="n1")
    made["spec"]["containers"] += added
    return made


def proxy(cpu: str) -> Json:
    return {"name": "proxy", "resources": {"limits": {"cpu": cpu}}}


def test_a_stopped_job_counts_the_containers_that_were_added_to_its_pods() -> None:
    running = read(sweep(suspend=False), pod("1", proxy("100m")))
    record = recorded_at_stop(running)
    assert record == {NAME: '{"cpu":"100m"}'}
    (role,) = read(sweep(record[NAME])).roles
    assert role.template.shape.requests == Resources.of({"cpu": 1100, "pods": 1})


def test_a_sidecar_counts_and_an_init_container_that_ends_does_not() -> None:
    one = pod()
    sidecar = proxy("100m") | {"restartPolicy": "Always"}
    one["spec"]["initContainers"] = [sidecar, proxy("4") | {"name": "init"}]
    assert recorded_at_stop(read(sweep(suspend=False), one)) == {NAME: '{"cpu":"100m"}'}


def test_the_next_stop_records_what_its_pods_have_then() -> None:
    """The webhook may add more, or be gone."""
    before = sweep('{"cpu":"100m"}', suspend=False)
    assert recorded_at_stop(read(before, pod())) == {NAME: None}
    assert recorded_at_stop(read(before, pod("1", proxy("100m")))) == {}
    assert recorded_at_stop(read(before, pod("1", proxy("1")))) == {NAME: '{"cpu":"1000m"}'}
    assert recorded_at_stop(read(before)) == {}


def test_a_container_of_the_template_with_other_requests_is_none_that_was_added() -> None:
    """It was resized in place, or a LimitRange of that time set them."""
    running = read(sweep(suspend=False), pod("3"))
    assert running.roles[0].template.shape.requests.get("cpu") == 3000
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


def test_a_record_that_would_be_too_long_is_none() -> None:
    """An API server would refuse the patch, and the job could not be stopped."""
    many = {f"example.com/{number:040}": "1" for number in range(99)}
    owned = pod("1", proxy("1") | {"resources": {"limits": many}})
    assert recorded_at_stop(read(sweep(suspend=False), owned)) == {NAME: None}


def test_added_containers_ask_for_nothing_that_the_template_requests_for_the_whole_pod() -> None:
    """They share these requests of the pod with its other containers."""
    owned, manifest = pod("1", proxy("1")), sweep(suspend=False)
    owned["spec"]["containers"][1]["resources"]["limits"]["example.com/nic"] = "1"
    whole = {"resources": {"requests": {"cpu": "4"}}}
    for spec in (owned["spec"], manifest["spec"]["template"]["spec"]):
        spec.update(whole)
    assert recorded_at_stop(read(manifest, owned)) == {NAME: '{"example.com/nic":"1"}'}
