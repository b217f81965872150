"""Bare pods with our labels, on a real control plane: addresses, and a launcher's host list."""

from typing import Any

import pytest

from edl import contract
from edl.writes import Json
from tests.integration.support.stage import Stage

pytestmark = pytest.mark.integration
ALL_ROLES = {contract.ROLES: "launcher=1,worker=2"}


def bare(role: str, rank: int = 0, **spec: Any) -> Json:  # noqa: ANN401 - fields of a manifest
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"mine-{role}-{rank}",
            "labels": {
                contract.FRAMEWORK: "horovod",
                contract.JOB: "mnist",
                contract.ROLE: role,
            },
            "annotations": ALL_ROLES | {contract.RANK: str(rank)},
        },
        "spec": {"containers": [{"name": "main", "image": "none"}]} | spec,
    }


def test_a_bare_launcher_waits_for_its_workers_and_reads_their_hosts(installed: Stage) -> None:
    installed.kubectl("create", "serviceaccount", "trainer")
    installed.apply(bare("launcher", serviceAccountName="trainer"), bare("worker"))
    installed.until(lambda: installed.exists("Service", "mnist"), "they have addresses")

    def launcher() -> Json:
        return installed.api.get(installed._target("Pod", "mine-launcher-0"))  # noqa: SLF001

    assert launcher()["spec"]["schedulingGates"] == [{"name": contract.HOSTS_GATE}]
    installed.apply(bare("worker", 1))
    installed.until(lambda: not launcher()["spec"].get("schedulingGates"), "its gate is gone")
    hosts = launcher()["metadata"]["annotations"][contract.HOSTFILE]
    where = f"mnist.{installed.namespace}.svc:1"
    assert hosts == f"mnist-worker-0.{where}\nmnist-worker-1.{where}\n"


def test_what_stands_around_them_goes_with_them(installed: Stage) -> None:
    installed.apply(bare("worker"))
    installed.until(lambda: installed.exists("Service", "mnist"), "it has an address")
    installed.kubectl("delete", "pod", "mine-worker-0")
    installed.until(lambda: not installed.exists("Service", "mnist"), "nothing is left")
