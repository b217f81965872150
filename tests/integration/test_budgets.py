"""Quotas, LimitRanges and GPU budgets: what they forbid waits and says so, and comes when it may.

The cluster has four nodes with 8 CPU and 4 GPUs each.
"""

import json
from typing import Any

import pytest

from edl import contract
from edl.errors import EdlError
from edl.kube.decode import namespace_quotas
from edl.kube.decode.admission_inputs import admission_inputs
from edl.kube.decode.namespace_quotas import NamespaceConstraints
from edl.kube.state.jobs import pod_admission
from edl.model import ObjectRef
from edl.quantities import pod_requests
from edl.writes import Json
from tests.integration.support.stage import Stage, elastic
from tests.integration.test_plugin import Shell

pytestmark = pytest.mark.integration


def create(stage: Stage, kind: str, name: str, spec: Json) -> Json:
    body = {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}, "spec": spec}
    return stage.api.create(ObjectRef(kind, stage.namespace, name), body)


def quota(stage: Stage, **hard: str) -> None:
    """A ResourceQuota `team` that is enforced already."""
    named = {name.replace("__", "."): amount for name, amount in hard.items()}
    create(stage, "ResourceQuota", "team", {"hard": named})
    stage.until(lambda: _status(stage).get("used"), "the quota has counted")


def _status(stage: Stage) -> Json:
    return stage.api.get(ObjectRef("ResourceQuota", stage.namespace, "team")).get("status") or {}


def raise_quota(stage: Stage, **hard: str) -> None:
    named = {name.replace("__", "."): amount for name, amount in hard.items()}
    stage.api.patch(ObjectRef("ResourceQuota", stage.namespace, "team"), {"spec": {"hard": named}})


def limit_range(stage: Stage, **limit: object) -> None:
    create(stage, "LimitRange", "small", {"limits": [{"type": "Container", **limit}]})


def sized(name: str, low: int, high: int, **labels: str) -> Json:
    bounds = {"min": str(low), "max": str(high)}
    return elastic(name, labels=bounds | labels, parallelism=low)


def refusals(stage: Stage) -> list[str]:
    """Pods that the Job controller could not make."""
    events = [event for event in stage.all("Event") if event.get("reason") == "FailedCreate"]
    return [event["message"] for event in events]


def test_a_gang_that_a_quota_forbids_waits_until_the_quota_is_raised(installed: Stage) -> None:
    quota(installed, pods="2")
    installed.apply(sized("mnist", 3, 3))
    installed.until(lambda: "ResourceQuota" in installed.message("mnist"), "it says why it waits")
    assert installed.message("mnist").startswith(
        f'exceeded ResourceQuota "team" of namespace {installed.namespace}, requested: pods=3, '
        "limited: pods=2"
    )
    assert installed.job("mnist")["spec"]["suspend"]
    assert not installed.pods("mnist")
    raise_quota(installed, pods="3")
    installed.until_runs("mnist", 3)
    assert not refusals(installed)


def test_growth_stops_at_a_quota_that_others_use_too(installed: Stage) -> None:
    quota(installed, requests__cpu="5", limits__memory="8Gi")
    container = {
        "name": "web",
        "image": "none",
        "resources": {"limits": {"memory": "1Gi", "cpu": "1"}},
    }
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web"},
        "spec": {"containers": [container]},
    }
    installed.apply(pod)
    mine = sized("mnist", 1, 9)
    (main,) = mine["spec"]["template"]["spec"]["containers"]
    main["resources"]["limits"] = {"memory": "1Gi"}
    installed.apply(mine)
    installed.until_runs("mnist", 4)
    raise_quota(installed, requests__cpu="20")
    installed.until_runs("mnist", 7)
    assert not refusals(installed)


def test_a_container_that_a_quota_wants_to_name_its_cpu_is_told_so(installed: Stage) -> None:
    quota(installed, limits__cpu="5")
    installed.apply(sized("mnist", 1, 1))
    installed.until(lambda: "limits.cpu" in installed.message("mnist"), "it says what is missing")
    assert not installed.pods("mnist")
    limit_range(installed, default={"cpu": "2"})
    installed.until_runs("mnist", 1)


def test_room_is_counted_with_the_defaults_of_a_limit_range(installed: Stage) -> None:
    limit_range(installed, defaultRequest={"cpu": "3"}, default={"cpu": "3"})
    mine = sized("mnist", 1, 20)
    (main,) = mine["spec"]["template"]["spec"]["containers"]
    del main["resources"]
    installed.apply(mine)
    installed.until_runs("mnist", 8)
    assert len(installed.pods("mnist")) == 8


def test_a_template_that_a_limit_range_refuses_waits_with_the_field(installed: Stage) -> None:
    limit_range(installed, min={"cpu": "2"})
    installed.apply(sized("mnist", 2, 2))
    installed.until(lambda: "LimitRange" in installed.message("mnist"), "it says who refuses")
    assert "requests.cpu 1 is below 2 (spec.limits[0].min.cpu)" in installed.message("mnist")
    assert not installed.pods("mnist")
    installed.kubectl("delete", "limitrange", "small")
    installed.until_runs("mnist", 2)
    assert not refusals(installed)


def test_the_jobs_of_a_namespace_share_its_gpu_budget(installed: Stage) -> None:
    installed.kubectl("annotate", "namespace", installed.namespace, f"{contract.GPU_BUDGET}=4")
    installed.apply(sized("rich", 1, 4, gpu="1"))
    installed.until_runs("rich", 4)
    installed.apply(sized("poor", 2, 2, gpu="1"))
    installed.until_runs("poor", 2)
    installed.until_runs("rich", 2)
    budget = f"{contract.GPU_BUDGET}=3"
    installed.kubectl("annotate", "namespace", installed.namespace, budget, "--overwrite")
    installed.until_runs("rich", 1)
    assert installed.running("poor") == 2


TEMPLATES: dict[str, dict[str, Any]] = {
    "nothing": {"containers": [{}]},
    "a request": {"containers": [{"requests": {"cpu": "500m"}}]},
    "a large request": {"containers": [{"requests": {"cpu": "3"}}]},
    "a limit": {"containers": [{"limits": {"cpu": "2"}}]},
    "both": {"containers": [{"requests": {"cpu": "1"}, "limits": {"cpu": "3"}}]},
    "two": {"containers": [{"limits": {"cpu": "1"}}, {"limits": {"cpu": "2"}}]},
    "large": {"containers": [{"limits": {"cpu": "8"}}]},
    "init": {
        "containers": [{"limits": {"cpu": "1"}}],
        "initContainers": [{"limits": {"cpu": "3"}}],
    },
}
RANGES: dict[str, dict[str, Any]] = {
    "defaults": {"default": {"cpu": "2"}, "defaultRequest": {"cpu": "1"}},
    "most": {"max": {"cpu": "2"}},
    "least": {"min": {"cpu": "1"}},
    "ratio": {"maxLimitRequestRatio": {"cpu": "2"}, "default": {"cpu": "2"}},
    "pods": {"type": "Pod", "max": {"cpu": "2"}, "min": {"cpu": "1"}},
}


def spec_of(template: dict[str, Any]) -> Json:
    return {
        group: [
            {"name": f"{group.lower()}-{number}", "image": "none", "resources": resources}
            for number, resources in enumerate(found)
        ]
        for group, found in template.items()
    }


@pytest.mark.parametrize("bounds", RANGES)
def test_admission_is_what_the_api_server_does(installed: Stage, bounds: str) -> None:
    limit_range(installed, **RANGES[bounds])
    stored = json.dumps(installed.api.get(ObjectRef("LimitRange", installed.namespace, "small")))
    found = namespace_quotas.limit_range(stored.encode())
    assert found is not None
    for name, template in TEMPLATES.items():
        ours = pod_admission.admit(
            admission_inputs(spec_of(template)), NamespaceConstraints(ranges=(found,))
        )
        theirs = admitted(installed, spec_of(template))
        assert (theirs is None) == bool(ours.refusals), (name, ours)
        if theirs is not None:
            assert pod_requests(theirs) == ours.requests, name


def admitted(stage: Stage, spec: Json) -> Json | None:
    """The spec of a pod as it would be stored; None where it is refused."""
    target = ObjectRef("Pod", stage.namespace, "probe")
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "probe"}, "spec": spec}
    try:
        return dict(stage.api.create(target, body, dry_run=True)["spec"])
    except EdlError as error:
        refused = ("usage per", "ratio per", "must be less than or equal to cpu limit")
        if any(text in str(error) for text in refused):
            return None
        raise


def test_scale_does_not_wait_for_pods_that_a_quota_never_admits(installed: Stage) -> None:
    quota(installed, pods="3")
    installed.apply(sized("mnist", 1, 9))
    installed.until_runs("mnist", 3)
    done = Shell(installed.cluster, installed.namespace).edl("scale", "mnist", "5", "--wait")
    limit = f'ResourceQuota "team" of namespace {installed.namespace}'
    assert done.returncode == 1
    assert f"exceeded {limit}, requested: pods=2, used: pods=3, limited: pods=3" in done.stderr
    assert f"for which only this makes room: {limit} raised to pods=5" in done.stderr
    raise_quota(installed, pods="5")
    installed.until_runs("mnist", 5)
