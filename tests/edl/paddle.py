"""Paddle's Jobs, and what their pods are told after a start."""

from collections.abc import Sequence
from typing import Any

from edl import contract
from edl.frameworks.paddle import at_start
from edl.writes import Json
from tests.edl.kubelet import told
from tests.edl.manifests import created, job, pod_spec, role_manifest

TOLERANT = "master=1,pserver=2,trainer=2..10"
STATIC = "pserver=2,trainer=2..10"
ELASTIC = "master=1,trainer=1..3"
SERVED = "pserver=2,trainer=1..4"
ROLES = ("master", "pserver", "trainer")
OURS = contract.COMPLETION_INDEX_ENV
OTHER_DEVICES: tuple[Json, ...] = (
    {"limits": {"nvidia.com/mig-3g.40gb": "1"}},
    {"limits": {"nvidia.com/gpu.shared": "1"}},
    {"limits": {"amd.com/gpu": "8"}},
    {"claims": [{"name": "gpu"}]},
)
"""Devices that may be GPUs, of a container."""


def paddle(role: str, roles: str, **fields: Any) -> Json:  # noqa: ANN401 - JSON
    """One Job of the Paddle training job `mnist`."""
    return role_manifest(role, roles, framework="paddle", **fields)


def cloud(role: str, roles: str = TOLERANT, **fields: Any) -> Json:  # noqa: ANN401 - JSON
    notes = {"mode": "cloud", **fields.pop("annotations", {})}
    return paddle(role, roles, annotations=notes, **fields)


def alone(**fields: Any) -> Json:  # noqa: ANN401 - JSON
    """A collective training of one Job."""
    return job("mnist", framework="paddle", min="2", max="4", **fields)


def env(manifest: Json, index: int = 0, trainers: Sequence[str] = ()) -> dict[str, str]:
    """What a pod's program sees after a start with these trainers, without the index."""
    found = told(manifest, index, at_start({"trainer": trainers}))
    del found[OURS]
    return found


def first(manifest: Json) -> Json:
    """The first container."""
    return dict(pod_spec(created(manifest))["containers"][0])


def hosts(role: str, count: int, port: int = 6170) -> list[str]:
    return [f"mnist-{role}-{index}.mnist.lab.svc:{port}" for index in range(count)]
