"""A real node's own processes: up, down, every way to lose one, and that nothing is left."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from sandbox import NodeGroup, Sandbox, SandboxError
from sandbox.processes.components import ORDER
from sandbox.real.node import PARTS
from sandbox.temporary import ended_with_process
from tests.e2e.conftest import require_a_node_to_break
from tests.e2e.support import machine
from tests.e2e.support.busybox import FOR_EVER, IMAGE, manifest, page, pods_on, service

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from edl.writes import Json

    Make = Callable[[], Sandbox]

pytestmark = [pytest.mark.e2e, pytest.mark.sandbox]

IMPORT = "from sandbox import Sandbox"
SIMULATED: Json = {
    "nodeSelector": {"sandbox.edl.dev/simulated": "true"},
    "tolerations": [{"key": "kwok.x-k8s.io/node", "operator": "Exists"}],
}


@pytest.fixture(scope="module")
def shared() -> Iterator[Sandbox]:
    """One for all tests that end nothing for good, after those that look at the whole machine."""
    require_a_node_to_break()
    with ended_with_process(Sandbox(f"pytest-{os.getpid()}-shared")) as sandbox:
        sandbox.up(NodeGroup(1), real=True)
        yield sandbox


@pytest.fixture
def sandbox(shared: Sandbox) -> Sandbox:
    """The shared one, all of which runs."""
    shared.up()
    return shared


def kill_everything(sandbox: Sandbox) -> None:
    for component in sandbox.running():
        sandbox.kill(component)


def test_up_has_all_parts_once_and_says_what_it_started(own_real_sandbox: Make) -> None:
    sandbox = own_real_sandbox()
    start = sandbox.up(real=True)
    assert set(start.started) == {*ORDER, *PARTS} == set(sandbox.running())
    before = sandbox.running()
    for again in (sandbox.up(real=True), sandbox.up()):
        assert (again.fresh, again.started) == (False, ())
    assert sandbox.running() == before
    assert sandbox.real


def test_down_leaves_nothing_when_everything_was_killed(own_real_sandbox: Make) -> None:
    before = machine.seen()
    sandbox = own_real_sandbox()
    sandbox.up(real=True)
    network = machine.network_of(sandbox)
    with pods_on(sandbox) as pods:
        pods.run("pod")
    assert machine.left_by(sandbox, network, before)
    kill_everything(sandbox)
    assert sandbox.down()
    assert machine.left_by(sandbox, network, before) == set()
    assert not sandbox.folder.exists()


@pytest.mark.parametrize("part", ["node", "kubelet"])
def test_down_removes_the_half_made_parts_of_a_killed_run(
    own_real_sandbox: Make, part: str
) -> None:
    before = machine.seen()
    sandbox = own_real_sandbox()
    script = f"{IMPORT}; Sandbox({sandbox.name!r}).up(real=True)"
    run = subprocess.Popen([sys.executable, "-c", script])
    while part not in sandbox.running():
        assert run.poll() is None
    run.kill()
    run.wait()
    network = machine.network_of(sandbox)
    assert sandbox.down()
    assert machine.left_by(sandbox, network, before) == set()


def test_a_sandbox_without_a_real_node_says_how_to_get_one(own_real_sandbox: Make) -> None:
    sandbox = own_real_sandbox()
    sandbox.up()
    assert not sandbox.real
    with pytest.raises(SandboxError, match=r"made without a real node: end it first \(python -m"):
        sandbox.up(real=True)
    with pytest.raises(SandboxError, match="has no real node"):
        sandbox.images()
    assert set(sandbox.running()) == {*ORDER}


def test_pods_run_on_the_real_node_unless_they_select_a_simulated_one(sandbox: Sandbox) -> None:
    sandbox.add_nodes(NodeGroup(1))
    with pods_on(sandbox) as pods:
        pods.create(manifest("anywhere"), manifest("simulated", **SIMULATED))
        pods.ready("anywhere")
        pods.ready("simulated")
        place = "-o=jsonpath={.spec.nodeName}"
        assert pods.kubectl("get", "pod", "anywhere", place) == "real-0"
        assert pods.kubectl("get", "pod", "simulated", place).startswith("node-00")
        label = "-o=jsonpath={.metadata.labels['edl\\.dev/sandbox-node']}"
        assert pods.kubectl("get", "node", "real-0", label) == "real"


def test_pods_live_on_while_parts_of_their_node_are_away(sandbox: Sandbox) -> None:
    with pods_on(sandbox) as pods:
        pods.create(service("web"))
        pods.run("web", page("welcome"))
        pods.run("asker")
        before = pods.container("web")
        for part in ("containerd", "kubelet", "kube-proxy", "coredns"):
            sandbox.kill(part)
            assert sandbox.dead() == (part,)
            assert sandbox.up().started == (part,)
        for part in ("containerd", "kubelet"):
            sandbox.stop(part)
            sandbox.check()
            sandbox.start(part)
        assert IMAGE in sandbox.images()
        assert pods.reach("asker", "http://web") == "welcome"
        pods.run("later")
        assert pods.container("web") == before == (before[0], 0)


def test_when_the_namespaces_are_lost_all_that_lived_in_them_comes_back(sandbox: Sandbox) -> None:
    with pods_on(sandbox) as pods:
        pods.create(service("web"))
        pods.run("web", page("welcome"))
        pods.run("asker")
        sandbox.kill("node")
        assert set(sandbox.up().started) == {*PARTS}
        assert pods.reach("asker", "http://web") == "welcome"
        sandbox.kill("node")
        sandbox.start("node")
        assert pods.reach("asker", "http://web") == "welcome"


def test_what_a_killed_repair_left_half_made_is_made_anew(sandbox: Sandbox) -> None:
    kill_everything(sandbox)
    run = subprocess.Popen([sys.executable, "-c", f"{IMPORT}; Sandbox({sandbox.name!r}).up()"])
    while "node" not in sandbox.running():
        assert run.poll() is None
    run.kill()
    run.wait()
    sandbox.up()
    sandbox.check()
    with pods_on(sandbox) as pods:
        pods.run("pod")


def test_pods_and_their_data_come_back_when_everything_was_killed(sandbox: Sandbox) -> None:
    with pods_on(sandbox) as pods:
        mount = {
            "volumes": [
                {"name": "data", "hostPath": {"path": f"{sandbox.folder}/node/volumes/00"}}
            ],
            "volumeMounts": [{"name": "data", "mountPath": "/data"}],
        }
        pods.run("writer", f"echo again >> /data/file; {FOR_EVER}", **mount)
        kill_everything(sandbox)
        assert set(sandbox.up().started) == {*ORDER, *PARTS}
        pods.answers("writer", "[ $(busybox wc -l < /data/file) = 2 ]")


def test_two_real_nodes_live_side_by_side(sandbox: Sandbox, own_real_sandbox: Make) -> None:
    one = own_real_sandbox()
    one.up(real=True)
    with pods_on(sandbox) as pods:
        pods.create(service("web"))
        pods.run("web", page("welcome"))
        pods.run("asker")
        with pods_on(one) as others:
            others.run("stranger")
        one.down()
        sandbox.check()
        assert pods.reach("asker", "http://web") == "welcome"
