"""MXNet without a training cluster: local, tuning; and who decides that it is done, in each mode.

Sources: kubeflow/mxnet-operator, `pkg/controller.v2/mxnet/pod.go` (DMLC_TUNER_*),
`pkg/controller.v1/mxnet/{pod,mxnet,status}.go` and `examples/tune/start-job.py`.
"""

import json

import pytest

from edl import contract, phases
from edl.errors import Denied
from edl.frameworks import FRAMEWORKS, decides, serves
from edl.model import Ending, Phase, Resizing
from edl.parse import parse
from edl.writes import Json
from tests.edl import trainings
from tests.edl.kubelet import told
from tests.edl.manifests import created, job
from tests.edl.mxnet import DIST, DIST_ROLES, OURS, TUNE, hosts, mxnet, ports


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
    assert [spec.role for spec in specs if decides(spec)] == deciding
    assert [spec.role for spec in specs if serves(spec)] == serving


def test_without_a_scheduler_the_worker_decides() -> None:
    assert decides(parse(job("solo", framework="mxnet")))


def standing(**endings: Ending | None) -> Phase:
    """The phase of a training in which some roles have ended."""
    roles = [
        trainings.role(
            name,
            size=1,
            ending=endings.get(name),
            decides=name == "scheduler",
            serves=name == "server",
            pods=trainings.pods(name, [] if endings.get(name) else [0]),
        )
        for name in DIST_ROLES
    ]
    return phases.phase(trainings.training(*roles, framework="mxnet", mode="dist"))


def test_workers_that_are_done_do_not_end_the_training() -> None:
    assert standing(worker=Ending.COMPLETE) is Phase.RUNNING


def test_the_scheduler_ends_the_training_and_the_servers_are_ended() -> None:
    assert standing(worker=Ending.COMPLETE, scheduler=Ending.COMPLETE) is Phase.FINISHING
    everybody = dict.fromkeys(DIST_ROLES, Ending.COMPLETE)
    assert standing(**everybody) is Phase.SUCCEEDED


def test_a_worker_that_fails_for_good_fails_the_training() -> None:
    ended = {"worker": Ending.FAILED, "scheduler": None}
    assert standing(**ended) is Phase.FINISHING


@pytest.mark.parametrize("mode", [{}, {"annotations": {"mode": "local"}}])
def test_a_local_worker_hears_nothing_of_a_cluster(mode: Json) -> None:
    manifest = job("solo", framework="mxnet", **mode)
    found = told(manifest)
    assert found.keys() == {contract.COMPLETION_INDEX_ENV}
    assert ports(manifest) == []


def test_local_is_one_worker() -> None:
    with pytest.raises(Denied) as denied:
        created(job("solo", framework="mxnet", max="2"))
    assert "exactly one" in str(denied.value)


def tuned(role: str, **fields: object) -> Json:
    return mxnet(role, TUNE, **fields)


def test_tuning_is_told_who_tracks() -> None:
    found = told(tuned("tuner"), 0, {"tuner-server-key": "2080ti"})
    assert found.keys() - OURS == {
        "MX_CONFIG",
        "DMLC_TUNER_TRACKER_URI",
        "DMLC_TUNER_TRACKER_PORT",
        "DMLC_TUNER_SERVER_KEY",
        "DMLC_ROLE",
        "DMLC_USE_KUBERNETES",
    }
    assert found["DMLC_TUNER_TRACKER_URI"] == "mnist-tunertracker-0.mnist.lab.svc"
    assert found["DMLC_TUNER_TRACKER_PORT"] == "9091"
    assert found["DMLC_TUNER_SERVER_KEY"] == "2080ti"
    assert found["DMLC_ROLE"] == "tuner"


def test_tunings_scripts_find_what_they_look_up() -> None:
    # kubeflow/mxnet-operator, examples/tune/start-job.py looks up exactly these.
    config = json.loads(told(tuned("tunerserver"), 1, {"tuner-server-key": "2080ti"})["MX_CONFIG"])
    assert config["task"] == {"type": "tunerserver", "index": 1}
    assert config["cluster"]["tunertracker"][0] == hosts("tunertracker", 1)[0]
    assert config["labels"] == {"tuner": "", "tunerserver": "2080ti", "tunertracker": ""}


def test_without_a_key_the_label_is_empty() -> None:
    config = json.loads(told(tuned("tuner"))["MX_CONFIG"])
    assert config["labels"]["tunerserver"] == ""


def test_training_and_tuning_do_not_mix() -> None:
    with pytest.raises(Denied) as denied:
        created(mxnet("worker", f"{TUNE},worker=2"))
    assert any("no place in mode tune" in finding.what for finding in denied.value.findings)


def test_the_fork_is_never_guessed() -> None:
    framework = FRAMEWORKS["mxnet"]
    default = framework.mode("", DIST_ROLES)
    assert default is not None
    assert default.name == "dist"
    assert parse(mxnet("worker", annotations={"mode": "fork"})).resizing is Resizing.LIVE
