"""When pods wait for a peer that is gone, and when its successor joins them."""

from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec.structs import replace

from edl.job_state.lost_peers import lost_peer
from edl.model import Code, Pod, PodPhase, Reason, ResizePolicy, TrainingJob
from edl.model.pods import TrainingRuns
from tests.edl.planner.states import at, job, pod, role

START = -3000.0


def trains(index: int, since: float = 10, **fields: Any) -> Pod:  # noqa: ANN401 - of a pod
    """A rank that trains since so many seconds after the start."""
    runs = TrainingRuns(at(START + since))
    usual = {"created_at": at(START), "ready_since": at(START + since), "runs": runs}
    return pod(index, "a", **(usual | fields))


def failed(index: int, after: float, began: float = 10) -> Pod:
    """A rank whose container failed so many seconds after the start, and runs again since."""
    again = at(START + after + 10)
    runs = TrainingRuns(again, at(START + after), at(START + began), restarts=1)
    return trains(index, ready_since=again, runs=runs, restarts=1)


def collective(*pods: Pod, **fields: Any) -> TrainingJob:  # noqa: ANN401 - of a role
    given = {"suspended": False, "pods": pods, "resizing": ResizePolicy.RESTART}
    return job("mnist", role("worker", 1, 9, **(given | {"size": len(pods)} | fields)))


def lost(*pods: Pod, **fields: Any) -> tuple[Code, float] | None:  # noqa: ANN401 - of a role
    """The code of the loss, and when it happened, in seconds after the start."""
    return loss_of(collective(*pods, **fields))


def loss_of(training: TrainingJob) -> tuple[Code, float] | None:
    loss = lost_peer(training)
    return loss and (loss.reason.code, (loss.at - at(START)).total_seconds())


def test_a_container_that_failed_while_the_others_trained_is_lost_to_them() -> None:
    assert lost(failed(0, after=40), trains(1)) == (Code.CONTAINER_RESTARTED, 40)
    assert lost(trains(0), trains(1)) is None


def test_a_container_that_failed_before_the_others_were_ready_for_long_joins_them() -> None:
    """It failed for lack of its peers: their name, or their port, was not there yet."""
    assert lost(failed(0, after=39), trains(1)) is None
    assert lost(failed(0, after=400), trains(1), trains(2, since=380)) is None
    pulls = pod(2, "a", created_at=at(START), phase=PodPhase.PENDING, ready=False)
    assert lost(failed(0, after=400), trains(1), pulls) is None


@pytest.mark.parametrize("since", [None, 35, 200])
def test_a_peer_trains_since_its_container_runs_ready_or_not(since: float | None) -> None:
    """Its readiness may depend on the very rank that failed, or on its node's heartbeat."""
    unready = trains(1, ready=since is not None, ready_since=since and at(START + since))
    assert lost(failed(0, after=40), unready) == (Code.CONTAINER_RESTARTED, 40)
    assert lost(unready, replacement(0, after=40), ignores=True) == (Code.POD_LOST, 40)


def test_containers_that_failed_in_the_same_run_join_each_other() -> None:
    assert lost(failed(0, after=900), failed(1, after=960)) is None
    found = lost(failed(0, after=900), failed(1, after=960), trains(2))
    assert found == (Code.CONTAINER_RESTARTED, 960), "the third one waits for both"


@pytest.mark.parametrize(("after", "early"), [(609, True), (610, False)])
def test_a_container_failed_early_by_the_time_that_this_start_has_trained(
    after: float,
    early: bool,  # noqa: FBT001
) -> None:
    """A pod of the start before may terminate for long."""
    assert failed_early(failed(0, after), trains(1), trains(2, -9000, terminating=True)) == early


def failed_early(*pods: Pod) -> bool:
    loss = lost_peer(collective(*pods))
    assert loss is not None
    return loss.early


@pytest.mark.parametrize(
    ("after", "run", "failures", "early"),
    [(640, 5, 4, True), (660, 5, 4, False), (1050, 5, 8, True), (2030, 500, 4, True)],
)
def test_failures_in_the_backoff_of_the_kubelet_do_not_count_as_training(
    after: float,
    run: float,
    failures: int,
    early: bool,  # noqa: FBT001
) -> None:
    """Of several failures the last one alone is known, and since when the container failed."""
    waits = TrainingRuns(None, at(START + after), at(START + after - run), failures - 1)
    assert failed_early(trains(0, runs=waits), trains(1)) == early
    runs = TrainingRuns(at(START + after), waits.failed_at, waits.failed_run_began, failures)
    assert failed_early(trains(0, runs=runs), trains(1)) == early


@pytest.mark.parametrize("after", [745, 1299])
def test_a_container_fails_early_until_ten_minutes_after_the_last_pod_began(after: float) -> None:
    """Its image may be pulled for long. An evaluator is not waited for."""
    late = trains(2, since=700)
    assert failed_early(trains(0), failed(1, after, began=650), late)
    assert failed_early(trains(0), failed(1, after, began=700), trains(2))
    assert not failed_early(trains(0), failed(1, after=1300, began=650), late)
    training = with_evaluator(trains(0, since=after - 40))
    chief, workers, evaluator = training.roles
    workers = workers.changed(pods=(trains(0), failed(1, after)))
    loss = lost_peer(replace(training, roles=(chief, workers, evaluator)))
    assert loss is not None
    assert not loss.early


def fails_on(index: int, after: float) -> Pod:
    """A rank whose container has failed again five seconds after a restart."""
    return changed_pod(failed(index, after, began=after - 5), restarts=2)


def changed_pod(rank: Pod, restarts: int) -> Pod:
    runs = replace(rank.containers.runs, restarts=restarts)
    return replace(rank, containers=replace(rank.containers, runs=runs))


def test_containers_that_fail_on_do_not_hide_each_other() -> None:
    """When they first began is unknown, as of those whose kubelet forgot it."""
    crashed = (fails_on(0, after=906), fails_on(1, after=909))
    assert lost(*crashed, trains(2)) == (Code.CONTAINER_RESTARTED, 909)
    assert lost(*crashed, trains(2), replacement(3, after=940), failures=1) == (Code.POD_LOST, 940)
    began = at(START + 900)
    forgot = [trains(i, ready_since=began, runs=TrainingRuns(began, began)) for i in range(2)]
    assert lost(*forgot, trains(2)) == (Code.CONTAINER_RESTARTED, 900)
    assert lost(*crashed) is None


def test_a_container_that_failed_before_peers_first_began_joins_them() -> None:
    """Although these failed as well, for lack of each other."""
    late = (failed(1, after=620, began=600), failed(2, after=622, began=605))
    assert lost(failed(0, after=300), *late, trains(3)) is None


def test_peers_that_failed_before_the_last_one_began_have_joined() -> None:
    """They wait for one that fails, or is replaced, soon afterwards."""
    early = (failed(1, after=300), failed(2, after=405, began=380))
    assert lost(failed(0, after=500), *early) == (Code.CONTAINER_RESTARTED, 500)
    assert lost(*early, replacement(3, after=500), failures=1) == (Code.POD_LOST, 500)
    crash = (failed(1, after=411), failed(2, after=412, began=380), failed(0, after=450))
    assert lost(*crash) is None, "in the same run"


def test_peers_that_failed_for_lack_of_each_other_wait_for_a_pod_replaced_soon() -> None:
    found = lost(failed(0, after=15), replacement(1, after=110), failures=1)
    assert found == (Code.POD_LOST, 110)
    assert lost(failed(0, after=41), replacement(1, after=110), failures=1) is None


@pytest.mark.parametrize("late", [False, True])
def test_absurd_times_break_no_plan(late: bool) -> None:  # noqa: FBT001
    """A kubelet's clock may be wrong, and clients may be allowed to write the status of pods."""
    first, last = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
    moment = last if late else first
    for restarts in (1, 2**31 - 1):
        runs = TrainingRuns(at(START + 910), at(START + 900), moment, restarts)
        assert lost(trains(0, runs=runs), trains(1)) == (Code.CONTAINER_RESTARTED, 900)
        runs = TrainingRuns(moment, moment, moment, restarts)
        assert (lost(trains(0, runs=runs), trains(1)) is not None) == late
    created = trains(0, created_at=moment)
    assert (lost(created, trains(1), failures=1) is not None) == late


def test_no_container_waits_that_does_not_run() -> None:
    delayed = TrainingRuns(None, at(START + 900), at(START + 10), restarts=1)
    pods = [trains(index, ready=False, ready_since=None, runs=delayed) for index in range(2)]
    assert lost(*pods) is None
    assert lost(pods[0], trains(1)) == (Code.CONTAINER_RESTARTED, 900)


def test_a_peer_that_failed_long_before_has_joined_again() -> None:
    """A restart of the whole job may have been left out, after three in a row."""
    found = lost(failed(0, after=3600), failed(1, after=3000))
    assert found == (Code.CONTAINER_RESTARTED, 3600)
    assert lost(failed(0, after=3600), failed(1, after=3001)) is None


def test_a_container_that_failed_after_all_had_joined_again_is_lost() -> None:
    found = lost(failed(0, after=1900, began=920), failed(1, after=900))
    assert found == (Code.CONTAINER_RESTARTED, 1900)


def test_a_container_that_fails_again_at_once_is_lost_as_well() -> None:
    found = lost(failed(0, after=910, began=905), trains(1))
    assert found == (Code.CONTAINER_RESTARTED, 910)


def test_a_container_whose_kubelet_forgot_its_last_run_counts_by_its_present_one() -> None:
    began = at(START + 900)
    forgot = trains(0, ready_since=began, runs=TrainingRuns(began, began))
    assert lost(forgot, trains(1)) == (Code.CONTAINER_RESTARTED, 900)
    assert lost(forgot, failed(1, after=25)) == (Code.CONTAINER_RESTARTED, 900), "it had joined"
    assert lost(forgot, failed(1, after=871)) is None, "in the same run"


def with_evaluator(*pods: Pod, **fields: Any) -> TrainingJob:  # noqa: ANN401 - of a role
    chief = role("chief", suspended=False, pods=(trains(0),))
    workers = role("worker", 1, 2, suspended=False, pods=(trains(0), trains(1)), size=2)
    workers = workers.changed(resizing=ResizePolicy.RESTART, is_leader=False)
    evaluator = role("evaluator", suspended=False, size=1, pods=pods, **fields)
    return replace(job("mnist", chief, workers, evaluator), mode="collective")


@pytest.mark.parametrize("ignores", [False, True])
def test_the_others_need_no_evaluator(ignores: bool) -> None:  # noqa: FBT001
    evaluator = {"failures": 1, "ignores": ignores}
    assert loss_of(with_evaluator(**evaluator)) is None
    assert loss_of(with_evaluator(failed(0, after=900), **evaluator)) is None
    late = trains(0, since=900, created_at=at(START + 890))
    assert loss_of(with_evaluator(late, **evaluator)) is None


def test_nor_does_an_evaluator_say_when_the_others_began() -> None:
    training = with_evaluator(trains(0, since=870))
    chief, workers, evaluator = training.roles
    workers = workers.changed(pods=(trains(0), failed(1, after=880)))
    found = loss_of(replace(training, roles=(chief, workers, evaluator)))
    assert found == (Code.CONTAINER_RESTARTED, 880)


def replacement(index: int, after: float) -> Pod:
    return trains(index, since=after + 4, created_at=at(START + after))


MAY_REPLACE = ({"ignores": True}, {"failures": 1}, {"last": Reason(Code.PODS_REMOVED)})


@pytest.mark.parametrize("fields", MAY_REPLACE)
def test_a_pod_that_was_created_while_the_others_trained_replaces_one(
    fields: dict[str, Any],
) -> None:
    """Some losses are never counted."""
    assert lost(trains(0), replacement(1, after=40), **fields) == (Code.POD_LOST, 40)
    several = (trains(0), replacement(1, after=40), replacement(2, after=75))
    assert lost(*several, **fields) == (Code.POD_LOST, 75)
    assert lost(trains(0), replacement(1, after=40)) is None, "the planner chose another node"


def test_a_pod_that_follows_a_counted_failure_replaces_one_soon_after_the_start() -> None:
    assert lost(trains(0), replacement(1, after=15), failures=1) == (Code.POD_LOST, 15)
    assert lost(trains(0), replacement(1, after=14), failures=1) is None
    ungated = collective(trains(0), replacement(1, after=15), failures=1)
    roles = tuple(part.changed(gated=False) for part in ungated.roles)
    assert loss_of(replace(ungated, roles=roles)) is None


def test_a_pod_that_was_created_before_the_others_could_train_belongs_to_the_start() -> None:
    """A busy Job controller may create a replica above the minimum late."""
    assert lost(trains(0), replacement(1, after=39), ignores=True) is None
    unready = pod(0, "a", created_at=at(START), ready=False)
    assert lost(unready, replacement(1, after=90), ignores=True) is None
    assert lost(replacement(0, after=90), replacement(1, after=90), ignores=True) is None


def test_the_roles_are_looked_at_together() -> None:
    server = role("server", suspended=False, pods=(replacement(0, after=90),), ignores=True)
    scheduler = role("scheduler", suspended=False, pods=(trains(0),))
    workers = role("worker", suspended=False, pods=(trains(0),))
    training = replace(job("mnist", scheduler, server, workers), framework="mxnet")
    assert loss_of(training) == (Code.POD_LOST, 90)
    assert loss_of(replace(training, mode="fork")) is None, "its other pods continue"


def test_a_missing_pod_is_lost_if_a_failure_was_counted_since_the_start() -> None:
    counted = {"size": 2, "failures": 4}
    assert lost(trains(0), **counted, failures_at_start=3) == (Code.POD_LOST, 0)
    terminating = trains(1, terminating=True)
    assert lost(trains(0), terminating, **counted) == (Code.POD_LOST, 0)
    assert lost(trains(0), **counted, failures_at_start=4) is None
    assert lost(trains(0), **counted, finished_indexes=frozenset({1})) is None


def test_failures_that_are_counted_after_the_start_lose_none_of_its_pods() -> None:
    """Those of the last start: the Job controller counts once a second, and less often if busy."""
    assert lost(trains(0), trains(1), failures=2, failures_at_start=1) is None


def test_a_job_that_was_never_started_has_lost_nothing() -> None:
    training = replace(collective(trains(0), size=2, failures=1), started_at=None)
    assert lost_peer(training) is None


@pytest.mark.parametrize("late", [3600, 300, 55])
def test_a_process_has_peers_that_once_failed_for_lack_of_it(late: float) -> None:
    peer = failed(1, after=15)
    assert lost(failed(0, after=late), peer) == (Code.CONTAINER_RESTARTED, late)
    assert lost(failed(0, after=54), peer) is None, "both have only met"


@pytest.mark.parametrize("crashed", [1990, 1999, 2012])
def test_a_peer_waits_for_a_replaced_pod_though_another_one_failed_with_it(crashed: float) -> None:
    """The reconciler was away when the pod was missing."""
    found = lost(failed(0, after=crashed), trains(1), replacement(2, after=2015), failures=1)
    assert found == (Code.POD_LOST, 2015)
    assert lost(failed(0, after=crashed), replacement(1, after=2015), failures=1) is None
