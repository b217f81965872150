"""MXNet without a training cluster: local, tuning; and who decides that it is done, in each mode.

Sources: kubeflow/mxnet-operator, `pkg/controller.v2/mxnet/pod.go` (DMLC_TUNER_*),
`pkg/controller.v1/mxnet/{pod,mxnet,status}.go` and `examples/tune/start-job.py`; the elastic fork:
awslabs/dynamic-training-with-apache-mxnet-on-aws, `python/mxnet/module/base_module.py`, and its
ps-lite, `src/{postoffice,elastic_training}.cc`.
"""

import json
from typing import Any

import pytest

from edl import contract
from edl.errors import Denied
from edl.frameworks import FRAMEWORKS, is_leader, is_service
from edl.job_state import phases
from edl.model import JobEnd, Phase, ResizePolicy
from edl.parsing.parser import parse
from edl.writes import Json
from tests.edl import trainings
from tests.edl.kubelet import told
from tests.edl.manifests import created, job, pod
from tests.edl.mxnet import DIST, DIST_ROLES, TUNE, mxnet, ports


@pytest.mark.parametrize(
    ("roles", "deciding", "serving"),
    [
        (DIST, ["scheduler"], ["server"]),
        (TUNE, ["tuner"], ["tunertracker", "tunerserver"]),
    ],
)
def test_the_scheduler_decides_and_in_tuning_the_tuner(
    roles: str, deciding: list[str], serving: list[str]
) -> None:
    specs = [parse(mxnet(part.split("=")[0], roles)) for part in roles.split(",")]
    assert [spec.role for spec in specs if is_leader(spec)] == deciding
    assert [spec.role for spec in specs if is_service(spec)] == serving


def test_without_a_scheduler_the_worker_decides() -> None:
    assert is_leader(parse(job("solo", framework="mxnet")))


def standing(**endings: JobEnd | None) -> Phase:
    """The phase of a training in which some roles have ended."""
    roles = [
        trainings.role(
            name,
            size=1,
            ending=endings.get(name),
            is_leader=name == "scheduler",
            is_service=name == "server",
            pods=trainings.pods(name, [] if endings.get(name) else [0]),
        )
        for name in DIST_ROLES
    ]
    return phases.phase(trainings.training(*roles, framework="mxnet", mode="dist"))


def test_workers_that_are_done_do_not_end_the_training() -> None:
    assert standing(worker=JobEnd.COMPLETE) is Phase.RUNNING


def test_the_scheduler_ends_the_training_and_the_servers_are_ended() -> None:
    assert standing(worker=JobEnd.COMPLETE, scheduler=JobEnd.COMPLETE) is Phase.FINISHING
    everybody = dict.fromkeys(DIST_ROLES, JobEnd.COMPLETE)
    assert standing(**everybody) is Phase.SUCCEEDED


def test_a_worker_that_fails_for_good_fails_the_training() -> None:
    ended = {"worker": JobEnd.FAILED, "scheduler": None}
    assert standing(**ended) is Phase.FINISHING


@pytest.mark.parametrize("mode", [{}, {"annotations": {"mode": "local"}}])
def test_a_local_worker_gets_no_cluster_variables(mode: Json) -> None:
    manifest = job("solo", framework="mxnet", **mode)
    found = told(manifest)
    assert found.keys() == {contract.COMPLETION_INDEX_ENV}
    assert ports(manifest) == []


def test_local_is_one_worker() -> None:
    with pytest.raises(Denied) as denied:
        created(job("solo", framework="mxnet", max="2"))
    assert str(denied.value).endswith(
        "2 × worker; mode local has exactly one; for more, list all roles: "
        "add scheduler=…, add server=…"
    )


def tuned(role: str, **fields: object) -> Json:
    return mxnet(role, TUNE, **fields)


def test_without_a_key_the_label_is_empty() -> None:
    config = json.loads(told(tuned("tuner"))["MX_CONFIG"])
    assert config["labels"]["tunerserver"] == ""


def test_training_and_tuning_do_not_mix() -> None:
    with pytest.raises(Denied) as denied:
        created(mxnet("worker", f"{TUNE},worker=2"))
    assert any("no place in mode tune" in finding.what for finding in denied.value.findings)


# -- the elastic fork --------------------------------------------------------------------------


def forked(role: str, **fields: Any) -> Json:  # noqa: ANN401 - JSON
    return mxnet(role, annotations={"mode": "fork"}, **fields)


def test_the_fork_is_never_guessed() -> None:
    framework = FRAMEWORKS["mxnet"]
    default = framework.mode("", DIST_ROLES)
    assert default is not None
    assert default.name == "dist"
    assert parse(forked("worker")).scaling.resizing is ResizePolicy.LIVE


def test_bare_pods_of_the_fork_have_no_scheduling_gates() -> None:
    notes = {"roles": "scheduler=1,server=1,worker=2", "size": "2", "mode": "fork"}
    scheduler = created(bare("scheduler", notes | {"size": "1"}))
    assert scheduler["metadata"]["annotations"][contract.WORKER_HOSTS] == (
        "mnist-worker-0.mnist.lab.svc\nmnist-worker-1.mnist.lab.svc\n"
    )
    assert told(bare("worker", notes | {"rank": "1"}))["NEW_WORKER"] == "0"
    stored = [
        created(bare(role, notes | {"size": size}))
        for role, size in zip(DIST_ROLES, "112", strict=True)
    ]
    assert all("schedulingGates" not in manifest["spec"] for manifest in stored)


def bare(role: str, notes: dict[str, str]) -> Json:
    return pod("any", framework="mxnet", job="mnist", role=role, annotations=notes)
