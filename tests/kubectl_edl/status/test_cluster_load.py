"""The line about the cluster's load."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace as replaced
from threading import Event

from msgspec.structs import replace

from edl.kube.cluster import ListOptions, RawList
from edl.quantities import DEVICE_CLASS, Resources
from kubectl_edl.cli.context import Scope
from kubectl_edl.status.cluster_load import ClusterLoad, sentence
from tests.edl.planner.states import cluster, node
from tests.kubectl_edl.cluster_wrappers import ClusterWrapper
from tests.kubectl_edl.stage import NOW, WITHIN, Stage
from tests.kubectl_edl.stage import node as manifest


def test_devices_are_named_after_their_class() -> None:
    gpus = Resources.of({"cpu": 4000, f"{DEVICE_CLASS}gpu.example.com": 4})
    one = replace(node("a"), allocatable=gpus, used=Resources.of({"cpu": 1000}))
    assert sentence(cluster(one)) == (
        "Cluster: 0 queued; requested: CPU 25 % of 4, devices of DeviceClass gpu.example.com "
        "0 % of 4"
    )


class Late(ClusterWrapper):
    """A cluster that lists nothing before `answers` is set."""

    answers = Event()

    def list(self, selection: ListOptions) -> RawList:
        assert self.answers.wait(WITHIN)
        return super().list(selection)


def test_the_first_output_waits_as_long_for_the_load_as_it_is_given() -> None:
    stage = Stage()
    stage.create(manifest("node-1"))
    connection = replaced(stage.cli().connect(Scope()), cluster=Late(stage.cluster))
    assert ClusterLoad(connection, 0.0).text(NOW) == ""
    with ThreadPoolExecutor(1) as pool:
        text = pool.submit(ClusterLoad(connection, WITHIN).text, NOW)
        Late.answers.set()
        assert text.result().startswith("Cluster: 0 queued; requested: CPU 0 %")
