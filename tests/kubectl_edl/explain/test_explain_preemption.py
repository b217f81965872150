"""`kubectl edl explain` of a job that preemption, which is turned off, would let start."""

import pytest

from tests.kubectl_edl.stage import Stage, job, node, pod

WOULD = (
    "Preempts:    only replicas above other jobs' minimum; whole jobs of lower priority too, "
    "which makes room for it, with: "
)
BY_UPGRADE = "kubectl edl upgrade --context prod --set reconciler.planning.preempt=true"


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


def explained(stage: Stage) -> str:
    return stage.run("explain", "high", "--context", "prod").out


def test_explain_names_the_preemption_that_would_help(stage: Stage) -> None:
    found = explained(stage)
    asks = f"{WOULD}{BY_UPGRADE}, or --preempt of a reconciler outside of the cluster\n"
    assert 0 < found.index("fewer worker replicas (1 fit now: ") < found.index(asks)
