from datetime import timedelta

from msgspec.structs import replace

from edl import contract
from edl.model import ClusterState, Owner, ResizePolicy, TrainingJob
from edl.planner.plan import Plan
from edl.steps.plan_steps import steps
from edl.steps.running_jobs import bare_pod_upkeep
from edl.writes import DEPENDENTS, Create, Step
from tests.edl.trainings import KEY, LONG_AGO, NOW, created, hostfile, pod, pods, published, role
from tests.reasons import invalid

PODS = (Owner("v1", "Pod", "any", "uid-any"),)


def training(ready: int = 2) -> TrainingJob:
    gated = pod("launcher", 0, ready=False, node="", gates=(contract.HOSTS_GATE,))
    launcher = role("launcher", pods=(gated,), account="mine")
    worker = role("worker", 2, 2, resizing=ResizePolicy.FIXED, pods=pods("worker", range(ready)))
    return TrainingJob(KEY, "horovod", (launcher, worker), LONG_AGO, mode="kubexec", pods=PODS)


def done(job: TrainingJob) -> Step:
    (step,), _ = bare_pod_upkeep(job, NOW)
    return step


def test_its_hosts_are_published_and_its_launcher_let_go() -> None:
    assert published(done(training()).writes) == hostfile([0, 1])


def test_it_waits_for_all_of_its_workers() -> None:
    assert published(done(training(1)).writes) is None


def test_only_a_service_stands_around_it_owned_by_its_pods() -> None:
    assert [target.kind for target in created(done(training()))] == ["Service"]
    for write in done(training()).writes:
        if isinstance(write, Create):
            (owner,) = write.manifest["metadata"]["ownerReferences"]
            assert owner == {"apiVersion": "v1", "kind": "Pod", "name": "any", "uid": "uid-any"}


def test_its_launcher_is_not_let_go_before_its_rights_exist() -> None:
    """A refused one delays the host list; once that is published, only itself."""
    assert done(training()).part == ""
    assert done(training(1)).part == DEPENDENTS


def test_nothing_is_done_where_it_may_not_exec() -> None:
    assert bare_pod_upkeep(replace(training(), problem=invalid("not here")), NOW) == ((), None)


def test_a_round_takes_care_of_it() -> None:
    state = ClusterState(NOW, (), (), unplanned_jobs=(training(),))
    found = steps(Plan(), state)
    assert [step.job for step in found.steps] == [KEY]
    assert found.errors == ()
    assert found.recheck_after is None or found.recheck_after > timedelta()


def test_pods_that_list_their_peers_do_so_by_rights_of_their_users_own() -> None:
    server = role("pserver", pods=pods("pserver", [0]))
    trainer = role("trainer", 2, 2, pods=pods("trainer", [0, 1]))
    job = TrainingJob(KEY, "paddle", (server, trainer), LONG_AGO, mode="cloud", pods=PODS)
    assert [target.kind for target in created(done(job))] == ["Service"]
