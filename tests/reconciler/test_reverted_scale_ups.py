"""A scale-up that is not ready in time, from the request to its history, round by round."""

import pytest

from edl import contract
from edl.annotations.job_history import entries
from edl.model import ObjectRef
from edl.planner.decision_limits import Limits
from tests.edl.kube import manifests
from tests.reconciler.rounds import NAMESPACE, Rounds

CEILING = "load ceiling: growth stops at 60 % of the cluster's CPU"
QUOTA = 'exceeded ResourceQuota "team" of namespace web, requested: pods=1, limited: pods=6'


def started(rounds: Rounds, framework: str, lead: str) -> None:
    """A training job with two workers, which run and are listed."""
    labels = {contract.FRAMEWORK: framework, contract.JOB: "ring"}
    roles = {contract.ROLES: f"{lead}=1,worker=1..8"}
    rounds.submit(f"ring-{lead}", labels | {contract.ROLE: lead}, roles)
    manual = {contract.REPLICAS: "2"}
    rounds.submit("ring-worker", labels | {contract.ROLE: "worker"}, roles | manual)
    rounds.run(25)


@pytest.mark.parametrize(("framework", "lead"), [("horovod", "launcher"), ("tensorflow", "ps")])
@pytest.mark.parametrize(
    ("ceiling", "cause"), [(0.6, CEILING), (1, QUOTA)], ids=["load ceiling", "quota"]
)
def test_a_reverted_scale_up_names_what_stopped_it(
    framework: str, lead: str, ceiling: float, cause: str
) -> None:
    rounds = Rounds(10, Limits(load_ceiling=ceiling))
    if cause == QUOTA:
        hard = {"pods": "6"}
        quota = {
            "metadata": manifests.metadata("team", NAMESPACE),
            "spec": {"hard": hard},
            "status": {"hard": hard, "used": {"pods": "0"}},
        }
        rounds.cluster.create(ObjectRef("ResourceQuota", NAMESPACE, "team"), quota)
    started(rounds, framework, lead)
    limit = {contract.SCALE_TIMEOUT: "5s", contract.SCALE_FALLBACK: "2"}
    rounds.annotate("ring-worker", {contract.REPLICAS: "8"} | limit)
    rounds.run(12)
    *_, grown, failed = entries(rounds.annotations("ring-worker")[contract.HISTORY])
    assert (grown.before, grown.after) == (2, 5)
    assert failed.message == f"reverted to 2: 8 not ready within 5 s ({cause})"
