"""`kubectl edl explain` of a job that preemption, which is turned off, would let start."""

import pytest

from edl import contract
from edl.model import ObjectRef
from tests.kubectl_edl.cluster_wrappers import reading
from tests.kubectl_edl.stage import Stage, job, node, pod

WOULD = (
    "Preempts:    only replicas above other jobs' minimum; whole jobs of lower priority too, "
    "which makes room for it, with: "
)
BY_UPGRADE = "kubectl edl upgrade --context prod --set reconciler.planning.preempt=true"
WEBHOOKS = "MutatingWebhookConfiguration"


@pytest.fixture
def stage() -> Stage:
    """7 of 8 pods run for a job of low priority; the one of high priority needs 4 more."""
    stage = Stage()
    stage.create(node("node-1", cpu="16"))
    stage.create({"kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000})
    low = stage.put(job("low", framework="none", min="7", max="7"), suspend=False, parallelism=7)
    for index in range(7):
        stage.create(pod(low, index))
    high = job("high", framework="none", min="4", max="4")
    high["spec"]["template"]["spec"]["priorityClassName"] = "high"
    stage.put(high)
    return stage


def outside(stage: Stage) -> None:
    """The webhook is served by a process of another host, as in a sandbox."""
    config = {"url": "https://127.0.0.1:8443/mutate", "caBundle": ""}
    entry = {"name": "jobs.edl.dev", "clientConfig": config}
    body = {"metadata": {"name": "edl"}, "webhooks": [entry]}
    stage.cluster.create(ObjectRef(WEBHOOKS, "", "edl"), body)


def explained(stage: Stage) -> str:
    return stage.run("explain", "high", "--context", "prod").out


def test_explain_names_the_preemption_that_would_help(stage: Stage) -> None:
    found = explained(stage)
    asks = f"{WOULD}{BY_UPGRADE} (its --preempt)\n"
    assert 0 < found.index("fewer worker replicas (1 fit now: ") < found.index(asks)


def test_a_reconciler_outside_of_the_cluster_is_restarted_with_the_option(stage: Stage) -> None:
    """`kubectl edl upgrade` upgrades none that runs as a process."""
    outside(stage)
    asks = f"{WOULD}--preempt of the reconciler, which runs outside of this cluster\n"
    assert asks in explained(stage)


def test_a_reconciler_in_the_cluster_is_upgraded_though_its_webhook_is_outside(
    stage: Stage,
) -> None:
    outside(stage)
    name = "edl-reconciler"
    stage.cluster.create(ObjectRef("Deployment", contract.SYSTEM_NAMESPACE, name), {"spec": {}})
    assert f"{WOULD}{BY_UPGRADE}" in explained(stage)


@pytest.mark.parametrize("name", ["edl-reconciler", "edl"])
def test_users_who_cannot_read_where_it_runs_get_the_usual_command(stage: Stage, name: str) -> None:
    outside(stage)
    stage.wrapped = reading([], refused=name)
    assert f"{WOULD}{BY_UPGRADE}" in explained(stage)
