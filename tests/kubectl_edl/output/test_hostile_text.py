"""No command prints control characters from objects of the cluster."""

import json
import re

import pytest

from edl import contract
from edl.errors import Invalid
from edl.writes import Json
from tests.kubectl_edl.cluster_wrappers import ClusterWrapper
from tests.kubectl_edl.stage import Stage, job, node, pod

STEERS = "\x1b]0;title\x07\x9b31m\u202e\u2028"
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2028\u2029]")
WHO = {"namespace": f"d{STEERS}", "name": f"n{STEERS}"}
FAILURE = {"at": "2026-11-21T11:59:00Z", "attempts": 3, "message": f"no {STEERS}"}
SIZES = [{"role": "worker", "size": 3, "grows": True}, {"role": STEERS, "size": 1, "grows": True}]
NOTES = {
    contract.REASON: f"Reclaimed{STEERS}",
    contract.MESSAGE: f"for others {STEERS}",
    contract.HISTORY: f"2026-11-21T11:00:00Z Started 1 2 Admitted fits {STEERS}",
    contract.LAST_CHANGE: json.dumps(
        {"code": "Reclaimed", "about": {"type": "TrainingJob", "job": WHO}}
    ),
    contract.WRITE_REFUSED: json.dumps([FAILURE, *(FAILURE | {"size": size} for size in SIZES)]),
    contract.PROVISIONING_FAILED: json.dumps(FAILURE),
}


@pytest.fixture(scope="module")
def stage() -> Stage:
    found = Stage()
    found.create(node("node-1") | {"spec": {"taints": [{"key": STEERS, "effect": "NoSchedule"}]}})
    for name in ("waits", "runs", "wrong"):
        found.put(job(name, framework="none", min="1", max="3"))
        found.patch(name, {"metadata": {"annotations": NOTES}})
    found.patch("runs", {"spec": {"suspend": False}})
    found.patch("wrong", {"metadata": {"annotations": {contract.ROLES: STEERS}}})
    conditions = [{"type": "PodScheduled", "status": "False", "reason": STEERS, "message": STEERS}]
    waiting = {"name": "main", "state": {"waiting": {"reason": STEERS, "message": STEERS}}}
    status = {"phase": "Pending", "conditions": conditions, "containerStatuses": [waiting]}
    found.create(pod(found.job("runs"), 0, "", **status))
    about = {"kind": "Job", "name": "runs", "namespace": "default"}
    event = {"involvedObject": about, "reason": STEERS, "message": STEERS, "type": STEERS}
    found.create(
        {"kind": "Event", "metadata": {"name": "e", "namespace": "default"}}
        | {"lastTimestamp": "2026-11-21T11:59:00Z", "source": {"component": STEERS}}
        | event
    )
    return found


@pytest.mark.parametrize(
    "command",
    [
        *("status -o wide", "status waits", "status runs", "status wrong", "status -o json"),
        *("explain waits", "explain runs", "explain wrong", "explain waits -o json"),
        *("queue", "plan", "history runs", "events runs", "events runs -o json", "top jobs"),
        *("logs waits", "logs runs", "scale wrong 2", "status -o custom-columns=A:.message"),
    ],
)
def test_no_command_prints_control_characters(stage: Stage, command: str) -> None:
    found = stage.run(*command.split())
    assert not CONTROL.findall(found.out + found.err)
    assert found.code in (0, 1)


FORGED = "waits\nBlockers:\n  1. all is lost\n     fix: kubectl delete namespace prod"


@pytest.mark.parametrize("command", ["status forged", "explain forged", "status"])
def test_no_text_of_the_cluster_forges_lines_of_a_screen(command: str) -> None:
    stage = Stage()
    stage.put(job("forged", framework="none", min="1", max="3"))
    said = {contract.REASON: "InsufficientCapacity", contract.MESSAGE: FORGED}
    stage.patch("forged", {"metadata": {"annotations": said}})
    found = stage.run(*command.split()).out
    assert not re.search(r"^ *fix: kubectl delete", found, re.MULTILINE)
    assert "waits Blockers:" in found


@pytest.mark.parametrize("command", ["logs forged", "scale forged 2", "pause forged"])
def test_no_text_of_the_cluster_forges_lines_on_stderr(command: str) -> None:
    class Refusing(ClusterWrapper):
        def patch(self, *_: object, **__: object) -> Json:
            raise Invalid(f"a webhook denied it: {FORGED}", 422)

    stage = Stage()
    stage.put(job("forged", framework="none", min="1", max="3"))
    said = {contract.REASON: "InsufficientCapacity", contract.MESSAGE: FORGED}
    stage.patch("forged", {"metadata": {"annotations": said}})
    stage.wrapped = Refusing
    found = stage.run(*command.split())
    assert (found.code, found.err.count("\n")) == (1, 1)
    assert "waits Blockers:" in found.err
