"""Who came in the place of a lost pod that nobody counted."""

from typing import Any

from msgspec.structs import replace

from edl.kube.state.jobs.replaced_pods import with_replacements
from edl.model import Code, Pod, Reason, ResizePolicy, Role, TrainingJob
from tests.edl.trainings import LONG_AGO, NOW, pod, role, seconds, training

YOUNG = NOW - seconds(60)


def worker(*found: Pod, **fields: Any) -> Role:  # noqa: ANN401
    usual = {"ignores": True, "resizing": ResizePolicy.RESTART, "is_leader": True}
    return role("worker", 1, len(found), size=len(found), pods=found, **(usual | fields))


def collective(*roles: Role) -> TrainingJob:
    return training(*roles, mode="collective", started_at=LONG_AGO)


def old(index: int) -> Pod:
    return pod("worker", index, ready_since=LONG_AGO + seconds(5))


NEW = pod("worker", 1, created_at=YOUNG, ready_since=YOUNG + seconds(4))


def restarted(job: TrainingJob) -> list[object]:
    return [one.restarted_at for part in with_replacements(job).roles for one in part.status.pods]


def test_a_pod_that_was_made_while_the_others_worked_replaces_one() -> None:
    assert restarted(collective(worker(old(0), NEW))) == [None, YOUNG]


def test_several_may_have_been_lost() -> None:
    later = replace(NEW, index=2, created_at=YOUNG + seconds(40))
    assert restarted(collective(worker(old(0), NEW, later))) == [None, YOUNG, YOUNG + seconds(40)]


def test_the_roles_are_looked_at_together() -> None:
    server = role("ps", pods=(replace(NEW, name="mnist-ps-0", index=0),), ignores=True)
    assert restarted(collective(server, worker(old(0)))) == [YOUNG, None]


def test_a_pod_created_late_at_a_start_is_not_a_replacement() -> None:
    unready = pod("worker", 0, ready=False)
    job = collective(worker(unready, NEW))
    assert with_replacements(job) is job
    soon = replace(NEW, created_at=LONG_AGO + seconds(20))
    first = replace(old(0), ready_since=LONG_AGO + seconds(2))
    assert restarted(collective(worker(first, soon))) == [None, None]


def test_a_loss_that_is_counted_is_known_already() -> None:
    job = collective(worker(old(0), NEW, ignores=False))
    assert with_replacements(job) is job


def test_the_replacement_of_a_pod_removed_by_name_is_found() -> None:
    named = worker(old(0), NEW, ignores=False, last=Reason(Code.PODS_REMOVED))
    assert restarted(collective(named)) == [None, YOUNG]


def test_where_the_others_go_on_nothing_is_told() -> None:
    live = worker(old(0), NEW, resizing=ResizePolicy.LIVE, is_leader=False)
    server = role("ps", pods=(replace(old(0), name="mnist-ps-0"),))
    job = training(role("chief"), server, live, mode="ps", started_at=LONG_AGO)
    assert with_replacements(job) is job
