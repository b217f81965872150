"""Ten minutes on a real control plane that nothing else changes: sizes stay as they are."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dev.installation import install
from edl.writes import Json
from sandbox import NodeGroup, temporary_sandbox
from tests.integration.support.stage import Stage, elastic, role_jobs, stage, tensorflow, web

pytestmark = [pytest.mark.torture, pytest.mark.timeout(900)]

_SETTLES = 240.0
_WATCHED = 480.0
_NODES = NodeGroup(count=12, cpu="8", memory="32Gi")
_WITH_GPUS = NodeGroup(count=2, cpu="8", memory="32Gi", gpu=2, name_prefix="gpu")


@pytest.fixture(params=[(_NODES,), (_NODES, _WITH_GPUS)], ids=["cpu", "gpu"])
def calm(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Stage]:
    """A cluster of this test alone; what restarts for its size may do so again after 20 s."""
    with temporary_sandbox("calm", *request.param) as sandbox:
        install(sandbox, tmp_path, ("reconciler",), "--restart-cooldown=20")
        with stage(sandbox) as made:
            yield made


def _cast(framework: str, job: str, roles: str) -> list[Json]:
    """Elastic pods of one core, others of a quarter."""
    found = role_jobs(framework, job, roles)
    for manifest in found:
        if not manifest["metadata"]["name"].endswith(("worker", "trainer")):
            container = manifest["spec"]["template"]["spec"]["containers"][0]
            container["resources"]["requests"]["cpu"] = "250m"
    return found


def _alone(framework: str, name: str, most: str, cpu: str, **spec: int) -> Json:
    return elastic(name, cpu, {"framework": framework, "min": "1", "max": most}, **spec)


def _mix() -> list[Json]:
    many = [_cast("tensorflow", f"tf{number}", "chief=1,ps=1,worker=1..12") for number in range(4)]
    many += [_cast("horovod", f"ho{number}", "launcher=1,worker=2..10") for number in range(3)]
    many += [[_alone("pytorch", f"py{number}", "16", "2")] for number in range(2)]
    many += [
        _cast("mxnet", f"mx{number}", "scheduler=1,server=1,worker=1..5") for number in range(2)
    ]
    many += [_cast("paddle", "pa0", "master=1,trainer=1..8")]
    many += [[_alone("none", "no0", "20", "500m", completions=10_000)]]
    many += [tensorflow("big", "14..14", cpu="7")]
    return [manifest for found in many for manifest in found]


def _pod(name: str, **spec: object) -> Json:
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "4"}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [container], **spec},
    }


def _sizes(scene: Stage) -> dict[str, int]:
    return {
        job["metadata"]["name"]: 0 if job["spec"].get("suspend") else job["spec"]["parallelism"]
        for job in scene.all("Job")
    }


def test_sizes_stay_as_they_are_in_a_cluster_that_nothing_else_changes(calm: Stage) -> None:
    never = _pod("nowhere", nodeSelector={"no": "where"})
    gated = _pod("gated", schedulingGates=[{"name": "example.com/wait"}])
    calm.apply(*_mix(), web(10), never, gated)
    time.sleep(_SETTLES)
    settled, deadline = _sizes(calm), time.monotonic() + _WATCHED
    assert sum(size > 0 for size in settled.values()) > len(settled) / 2
    while time.monotonic() < deadline:
        calm.cluster.check()
        now = _sizes(calm)
        assert now == settled, {
            name: (settled[name], size, calm.message(name))
            for name, size in now.items()
            if size != settled[name]
        }
        time.sleep(1)
