"""Key pairs are asked for when pods need them: at a start, and while they wait in vain."""

from datetime import timedelta

from msgspec.structs import replace

from edl.model import ObjectRef, Pod, PodPhase, TrainingJob
from edl.planner.plan import Admission
from edl.steps.dependents import PATIENCE, dependents_of
from edl.steps.running_jobs import upkeep_of_dependents
from edl.steps.sizes.start import start
from edl.writes import CreateKeys, Step
from tests.edl.trainings import KEY, NOW, pod, pods, role, training
from tests.reasons import because

SECRET = ObjectRef("Secret", "lab", "mnist-ssh")


def horovod(*workers: Pod, mode: str = "ssh", suspended: bool = False) -> TrainingJob:
    return training(
        role("launcher", suspended=suspended),
        role("worker", 2, 4, pods=workers, suspended=suspended),
        framework="horovod",
        mode=mode,
    )


def asked(step: Step) -> list[CreateKeys]:
    return [write for write in step.writes if isinstance(write, CreateKeys)]


def pending(age: timedelta, node: str = "n1") -> Pod:
    found = pod("worker", 1, ready=False, phase=PodPhase.PENDING)
    return replace(found, created_at=NOW - age, node=node)


def test_they_come_before_the_start_and_belong_to_every_job() -> None:
    admission = Admission(KEY, (("launcher", 1), ("worker", 2)), because("room"))
    step = start(horovod(suspended=True), admission, NOW)
    first, *_ = step.writes
    assert asked(step) == [first]
    assert first.target == SECRET
    metadata = asked(step)[0].manifest["metadata"]
    assert [owner["name"] for owner in metadata["ownerReferences"]] == [
        "mnist-launcher",
        "mnist-worker",
    ]
    assert "data" not in asked(step)[0].manifest


def test_kubexec_needs_none() -> None:
    admission = Admission(KEY, (("launcher", 1), ("worker", 2)), because("room"))
    assert asked(start(horovod(mode="kubexec", suspended=True), admission, NOW)) == []


def test_a_running_job_requests_no_ssh_key() -> None:
    assert upkeep_of_dependents(horovod(*pods("worker", range(2))), NOW) == ()


def test_a_pod_that_waits_on_its_node_may_lack_them() -> None:
    late = horovod(pod("worker", 0), pending(PATIENCE + timedelta(seconds=1)))
    (step,) = upkeep_of_dependents(late, NOW)
    assert [write.target for write in asked(step)] == [SECRET]


def test_a_pod_that_was_just_bound_or_has_no_node_lacks_nothing() -> None:
    for found in (pending(PATIENCE), pending(timedelta(hours=1), node="")):
        assert upkeep_of_dependents(horovod(found), NOW) == ()


def test_ssh_creates_no_rbac_object() -> None:
    kinds = {write.target.kind for write in dependents_of(horovod())}
    assert not kinds & {"RoleBinding", "ServiceAccount"}
