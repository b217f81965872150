"""Whole manifests are in tests/golden/pytorch; here is the rest."""

from typing import Any

import pytest

from edl.contract import registry
from edl.frameworks import is_leader, is_service
from edl.model import ResizePolicy
from edl.parsing.parser import parse
from edl.writes import Json
from tests.edl.manifests import created, environment, job, pod_spec, role_manifest
from tests.edl.readings import findings

ROLES = "rendezvous=1,worker=2..4"


def pytorch(role: str, roles: str = ROLES, **fields: Any) -> Json:  # noqa: ANN401 - JSON
    """One Job of the PyTorch training job `mnist`."""
    return role_manifest(role, roles, framework="pytorch", **fields)


def alone(**fields: Any) -> Json:  # noqa: ANN401 - JSON
    """A PyTorch Job without a rendezvous of its own."""
    return job("mnist", framework="pytorch", min="2", max="4", **fields)


def pet(manifest: Json) -> dict[str, str]:
    """The variables that torchrun reads, without their prefix."""
    found = environment(created(manifest))
    return {name[4:]: value for name, value in found.items() if name.startswith("PET_")}


def command(manifest: Json) -> list[str]:
    (container,) = pod_spec(created(manifest))["containers"]
    return list(container.get("command") or ())


def test_every_variable_stands_in_the_contract() -> None:
    known = {entry.name for entry in registry.ENTRIES}
    assert {f"PET_{name}" for name in pet(pytorch("worker"))} <= known


def test_a_rendezvous_without_a_command_is_a_store_at_the_jobs_port() -> None:
    program, flag, script = command(pytorch("rendezvous", annotations={"port": "3333"}))
    assert (program, flag) == ("python3", "-c")
    compile(script, "rendezvous", "exec")
    assert 'TCPStore("localhost", 3333, ' in script
    (container,) = pod_spec(created(pytorch("rendezvous")))["containers"]
    port = {"name": "rendezvous", "containerPort": 29400, "protocol": "TCP"}
    assert container["ports"] == [port]


def test_a_workers_command_is_its_users() -> None:
    assert command(pytorch("worker")) == []
    own = {"containers": [{"name": "main", "image": "busybox", "command": ["my-store"]}]}
    assert command(pytorch("rendezvous", pod=own)) == ["my-store"]


@pytest.mark.parametrize(
    ("asked", "processes"),
    [
        ({}, "1"),
        ({"gpu": "2"}, "2"),
        ({"gpu": "0.5"}, "1"),
        ({"gpu": "2", "annotations": {"slots": "3"}}, "3"),
    ],
)
def test_a_pod_runs_a_process_for_each_gpu(asked: Json, processes: str) -> None:
    assert pet(pytorch("worker", **asked))["NPROC_PER_NODE"] == processes


def test_the_first_of_workers_that_come_and_go_completes_the_training() -> None:
    policy = {"rules": [{"succeededCount": 1}]}
    assert created(pytorch("worker"))["spec"]["successPolicy"] == policy
    assert created(alone())["spec"]["successPolicy"] == policy
    assert "successPolicy" not in created(pytorch("rendezvous"))["spec"]


def fixed(*command: str, sidecar: Json | None = None) -> Json:
    containers = [{"name": "main", "image": "a", "command": list(command)}]
    pods = {"containers": [*containers, *([sidecar] if sidecar else ())]}
    return job(framework="pytorch", spec={"parallelism": 4, "completions": 4}, pod=pods)


@pytest.mark.parametrize(
    "manifest",
    [
        job(framework="pytorch", spec={"parallelism": 4, "completions": 4}),
        pytorch("worker", "rendezvous=1,worker=4"),
        fixed("python3", "train.py"),
        fixed("./run.sh", sidecar={"name": "prints", "image": "a", "args": ["torchrun"]}),
    ],
    ids=["unknown", "with a rendezvous", "python", "sidecar"],
)
def test_each_worker_of_a_fixed_number_has_to_succeed(manifest: Json) -> None:
    """Rank 0 of a program that torchrun did not start may still save the model."""
    assert "successPolicy" not in created(manifest)["spec"]


@pytest.mark.parametrize(
    "command",
    [
        ["torchrun", "train.py"],
        ["python3", "-m", "torch.distributed.run", "train.py"],
        ["bash", "-c", "cd /app && torchrun train.py"],
    ],
)
def test_the_first_of_torchruns_agents_completes_a_training_of_a_fixed_size(
    command: list[str],
) -> None:
    """One that fails at the end cannot meet the others again, which have succeeded."""
    policy = {"rules": [{"succeededCount": 1}]}
    assert created(fixed(*command))["spec"]["successPolicy"] == policy


def test_workers_decide_and_move_and_the_rendezvous_serves() -> None:
    store, worker = parse(pytorch("rendezvous")), parse(pytorch("worker"))
    assert (is_leader(store), is_service(store)) == (False, True)
    assert (is_leader(worker), is_service(worker)) == (True, False)
    assert (store.scaling.resizing, worker.scaling.resizing) == (
        ResizePolicy.FIXED,
        ResizePolicy.LIVE,
    )
    assert parse(alone()).scaling.resizing is ResizePolicy.LIVE


@pytest.mark.parametrize(
    ("roles", "what"),
    [
        ("rendezvous=2,worker=2..4", "2 × rendezvous"),
        ("rendezvous=1..2,worker=2", "a rendezvous is never resized"),
        ("rendezvous=1", "none of its roles decides when pytorch is done"),
    ],
)
def test_a_list_of_roles_that_cannot_meet_is_refused(roles: str, what: str) -> None:
    assert what in [finding.what for finding in findings(pytorch("rendezvous", roles))]
