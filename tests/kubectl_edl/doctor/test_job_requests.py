"""Checks of pods that request no resources."""

from tests.kubectl_edl.cluster_wrappers import fenced
from tests.kubectl_edl.doctor.findings import checked, only
from tests.kubectl_edl.stage import Stage, job, limit_range, pod, quota


def greedy(stage: Stage, **resources: object) -> None:
    """One pod of up to 60."""
    manifest = job("greedy", framework="none", min="1", max="60")
    (container,) = manifest["spec"]["template"]["spec"]["containers"]
    container["resources"] = resources
    one = pod(stage.put(manifest, suspend=False), 0)
    one["spec"]["containers"] = [container]
    stage.create(one)


def test_pods_that_request_nothing_are_warned_of(stage: Stage) -> None:
    greedy(stage)
    assert only(stage, "requests") == (
        "warning",
        (
            "default/greedy: no container of worker requests CPU or memory: its pods count as "
            "nothing, and all 60 run regardless of free capacity"
        ),
        "kubectl edl explain greedy -n default  # then recreate it with resources.requests",
    )
    assert (
        "Requests:    worker requests no CPU and no memory: such pods count as nothing and fit "
        "anywhere\n"
    ) in stage.run("explain", "greedy").out


def test_pods_with_requests_pass(stage: Stage) -> None:
    greedy(stage, requests={"memory": "1Gi"})
    assert only(stage, "requests")[0] == "ok"
    assert "Requests:" not in stage.run("explain", "greedy").out


REFUSED = (
    'worker: ResourceQuota "compute" refuses its pods: container "main" sets no limits.memory and '
    "no requests.cpu; set them, or create a LimitRange with defaults"
)


def test_pods_without_requests_that_a_quota_refuses_are_a_warning(
    stage: Stage,
) -> None:
    manifest = job("greedy", framework="none", min="1", max="60")
    manifest["spec"]["template"]["spec"]["containers"][0]["resources"] = {}
    stage.put(manifest)
    stage.create(quota("requests.cpu", "limits.memory"))
    found = checked(stage)
    assert [(one["message"], one["remediation"]) for one in found["stuck"]] == [
        (f"default/greedy: {REFUSED}", "")
    ]
    assert "requests" not in found
    told = stage.run("explain", "greedy").out
    assert f"  1. {REFUSED}\n" in told
    assert "Requests:" not in told
    assert "fit anywhere" not in told


def test_pods_that_get_requests_from_a_limit_range_pass(stage: Stage) -> None:
    manifest = job("greedy", framework="none", min="1", max="60")
    manifest["spec"]["template"]["spec"]["containers"][0]["resources"] = {}
    stage.put(manifest)
    assert only(stage, "requests")[0] == "warning"
    stage.create(limit_range(cpu="1"))
    assert only(stage, "requests")[0] == "ok"
    assert "Requests:" not in stage.run("explain", "greedy").out
    inner = stage.wrapped
    stage.wrapped = lambda cluster: fenced("LimitRange")(inner(cluster))
    assert "requests" not in checked(stage), "a LimitRange may give them some"
