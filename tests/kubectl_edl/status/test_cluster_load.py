"""The line about the cluster's load."""

from msgspec.structs import replace

from edl.quantities import DEVICE_CLASS, Resources
from kubectl_edl.status.cluster_load import sentence
from tests.edl.planner.states import cluster, node


def test_devices_are_named_after_their_class() -> None:
    gpus = Resources.of({"cpu": 4000, f"{DEVICE_CLASS}gpu.example.com": 4})
    one = replace(node("a"), allocatable=gpus, used=Resources.of({"cpu": 1000}))
    assert sentence(cluster(one)) == (
        "Cluster: 0 queued; requested: CPU 25 % of 4, devices of DeviceClass gpu.example.com "
        "0 % of 4"
    )
