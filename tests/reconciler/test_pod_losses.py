"""Lost pods in the history of a training job, round by round."""

from edl import contract
from edl.annotations.job_history import Operation, entries
from edl.planner.decision_limits import Limits
from tests.reconciler.rounds import Rounds

LOST, RECREATED = Operation.LOST, Operation.RECREATED


def started() -> Rounds:
    """A training job with a launcher and three workers, which run."""
    rounds = Rounds(8, Limits())
    labels = {contract.FRAMEWORK: "horovod", contract.JOB: "ring"}
    for role in ("launcher", "worker"):
        roles = {contract.ROLES: "launcher=1,worker=2..3"}
        rounds.submit(f"ring-{role}", labels | {contract.ROLE: role}, roles)
    rounds.run(25)
    return rounds


def history(rounds: Rounds) -> list[tuple[Operation, int, int]]:
    found = entries(rounds.annotations("ring-worker")[contract.HISTORY])
    return [(one.operation, one.before, one.after) for one in found[1:]]


def test_lost_pods_and_their_return_are_in_the_history_once() -> None:
    rounds = started()
    rounds.lose("ring-worker", 1)
    rounds.run(3)
    assert history(rounds) == [(LOST, 3, 2)]
    rounds.backing_off = False
    rounds.run(4)
    assert history(rounds) == [(LOST, 3, 2), (RECREATED, 2, 3)]
    lost, recreated = entries(rounds.annotations("ring-worker")[contract.HISTORY])[1:]
    assert lost.message.startswith("1 of 3 pods is missing: the Job controller creates it again")
    assert recreated.message == "its lost pods were created again"
    version = rounds.job("ring-worker")["metadata"]["resourceVersion"]
    rounds.run(3)
    assert rounds.job("ring-worker")["metadata"]["resourceVersion"] == version


def test_a_further_loss_is_recorded_before_the_first_has_ended() -> None:
    rounds = started()
    rounds.lose("ring-worker", 1)
    rounds.run(2)
    rounds.lose("ring-worker", 2)
    rounds.run(2)
    rounds.backing_off = False
    rounds.run(4)
    assert history(rounds) == [(LOST, 3, 2), (LOST, 2, 1), (RECREATED, 1, 3)]


def test_a_lost_pod_that_a_smaller_size_does_without_is_not_recreated() -> None:
    rounds = started()
    rounds.lose("ring-worker", 2)
    rounds.run(2)
    rounds.annotate("ring-worker", {contract.REPLICAS: "2"})
    rounds.run(12)
    assert history(rounds) == [(LOST, 3, 2), (Operation.SCALED_DOWN, 3, 2)]
