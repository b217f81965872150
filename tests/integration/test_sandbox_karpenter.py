"""Karpenter beside the sandbox: nodes come for pending pods, and go when nothing needs them."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest

from sandbox.autoscaler import NAME, add_karpenter
from sandbox.objects.node_pools import NodePool

if TYPE_CHECKING:
    from collections.abc import Callable

    from sandbox import Sandbox

pytestmark = [pytest.mark.integration, pytest.mark.sandbox, pytest.mark.long]

WITHIN = 120.0  # seconds until a test gives up: Karpenter gathers pods, and looks every 10 s
POOL = NodePool(sizes=(16,), cpu_limit="48", node_delay="1s", consolidate_after="5s")


def job(pods: int, cpu: str, seconds: int) -> dict[str, Any]:
    resources = {"requests": {"cpu": cpu, "memory": "1Gi"}}
    container = {"name": "main", "image": "none", "resources": resources}
    template = {
        "metadata": {"annotations": {"sandbox.edl.dev/complete-after": f"{seconds}s"}},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "job"},
        "spec": {"completions": pods, "parallelism": pods, "template": template},
    }


def listed(sandbox: Sandbox, kind: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(sandbox.kubectl("get", kind, "-o", "json"))["items"]
    return found


def until(sandbox: Sandbox, holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + WITHIN
    while not holds():
        sandbox.check()
        if time.monotonic() > deadline:
            seen = sandbox.kubectl("get", "nodes,nodeclaims,jobs,pods", "-o", "wide")
            raise AssertionError(f"it never came: {what}\n{seen}")
        time.sleep(0.2)


def test_nodes_come_for_pods_within_the_limit_and_go_after_them(
    own_sandbox: Callable[[], Sandbox],
) -> None:
    sandbox = own_sandbox()
    sandbox.up()
    add_karpenter(sandbox, POOL)
    assert listed(sandbox, "nodes") == []
    sandbox.kubectl("create", "-f", "-", input=json.dumps(job(pods=6, cpu="4", seconds=3)))
    until(sandbox, lambda: bool(listed(sandbox, "nodes")), "a node")
    sizes = {node["status"]["allocatable"]["cpu"] for node in listed(sandbox, "nodes")}
    assert sizes == {"15900m"}, "of 16, without what the kubelet keeps"
    until(sandbox, lambda: listed(sandbox, "jobs")[0]["status"].get("succeeded") == 6, "its end")
    assert len(listed(sandbox, "nodes")) == 2, "three pods on each"
    until(sandbox, lambda: not listed(sandbox, "nodes"), "no node is left")


def test_karpenter_is_started_again_with_the_sandbox_and_ends_with_it(
    own_sandbox: Callable[[], Sandbox],
) -> None:
    sandbox = own_sandbox()
    sandbox.up()
    add_karpenter(sandbox, POOL)
    add_karpenter(sandbox, NodePool(cpu_limit="8"))
    (pool,) = listed(sandbox, "nodepools")
    assert pool["spec"]["limits"] == {"cpu": "8"}, "as it was said last"
    sandbox.kill(NAME)
    assert sandbox.dead() == (NAME,)
    assert sandbox.up().started == (NAME,)
    assert sandbox.down()
    assert sandbox.running() == {}
