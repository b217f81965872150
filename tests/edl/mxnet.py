"""The training job `mnist` of MXNet, as users write it and as a start knows it."""

from collections.abc import Mapping, Sequence

from edl import contract
from edl.writes import Json
from tests.edl import manifests
from tests.edl.manifests import created, pod_spec

DIST = "scheduler=1,server=2,worker=1..3"
TUNE = "tunertracker=1,tunerserver=2,tuner=1"
DIST_ROLES = ("scheduler", "server", "worker")
OURS = {contract.COMPLETION_INDEX_ENV, contract.CLUSTER_ENV}


def mxnet(role: str, roles: str = DIST, **fields: object) -> Json:
    """One Job of the training job `mnist`, its container named as the operators ask for it."""
    return manifests.role_manifest(role, roles, framework="mxnet", **fields)


def hosts(role: str, count: int, port: int = 9091) -> list[Json]:
    return [{"url": f"mnist-{role}-{i}.mnist.lab.svc", "port": port} for i in range(count)]


def addresses(role: str, count: int, port: int = 9091) -> list[str]:
    return [f"{host['url']}:{host['port']}" for host in hosts(role, count, port)]


def members(workers: int, port: int = 9091) -> Mapping[str, Sequence[str]]:
    """Who runs, as the start knows it."""
    sizes = {"scheduler": 1, "server": 2, "worker": workers}
    return {role: addresses(role, size, port) for role, size in sizes.items()}


def ports(manifest: Json) -> list[tuple[str, int]]:
    (container,) = pod_spec(created(manifest))["containers"]
    return [(port["name"], port["containerPort"]) for port in container.get("ports", ())]
