"""Topology on a real API server and kube-scheduler: four nodes with 8 CPU each, two a rack."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from edl import contract
from tests.integration.support.stage import elastic, tensorflow, web
from tests.integration.test_plugin import Shell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from edl.writes import Json
    from tests.integration.support.stage import Stage

pytestmark = pytest.mark.integration

RACK = "example.com/rack"
RACKS = {"node-000": "r0", "node-001": "r0", "node-002": "r1", "node-003": "r1"}


@pytest.fixture
def racks(installed: Stage) -> Iterator[Stage]:
    for node, rack in RACKS.items():
        installed.label_node(node, RACK, rack)
    yield installed
    for node in RACKS:
        installed.label_node(node, RACK, None)


def asking(job: Json, **annotations: str) -> Json:
    named = {f"{contract.PREFIX}{name}-topology": text for name, text in annotations.items()}
    metadata = job["metadata"]
    return job | {"metadata": metadata | {"annotations": metadata.get("annotations", {}) | named}}


def workers(name: str, low: int, high: int, **annotations: str) -> Json:
    job = elastic(name, labels={"framework": "pytorch", "min": str(low), "max": str(high)})
    return asking(job, **annotations)


def domains(stage: Stage, *jobs: str) -> list[str]:
    """The racks of the pods, in the order of their indexes."""
    return [RACKS[pod["spec"]["nodeName"]] for job in jobs for pod in stage.pods(job)]


def test_a_job_grows_as_far_as_its_rack_has_room_and_stays_there(racks: Stage) -> None:
    racks.apply(workers("mnist", 4, 30, required=RACK))
    racks.until_runs("mnist", 16)
    (rack,) = {*domains(racks, "mnist")}
    pod = racks.pod("mnist", 3)["metadata"]
    racks.kubectl("delete", "pod", pod["name"], "--wait=false")
    racks.until(lambda: racks.uids("mnist").get("3") not in (None, pod["uid"]), "it is made again")
    racks.until_runs("mnist", 16)
    assert {*domains(racks, "mnist")} == {rack}


def test_all_roles_start_in_one_rack_where_another_has_more_idle_nodes(racks: Stage) -> None:
    """Of r0 and r1 the one that other pods leave less room in is enough, and comes first."""
    racks.apply(web(4, cpu="2"))
    racks.until(lambda: racks.web_running() == 4, "others run")
    chief, servers, trainers = tensorflow("mnist", "5", ps=3)
    racks.apply(asking(chief, required=RACK), servers, asking(trainers, required=RACK))
    racks.until_runs("mnist-worker", 5)
    assert len({*domains(racks, "mnist-chief", "mnist-ps", "mnist-worker")}) == 1


def test_a_job_that_fits_no_rack_waits_and_says_which_is_nearest(racks: Stage) -> None:
    racks.apply(web(1, cpu="3"))
    racks.until(lambda: racks.web_running() == 1, "others run")
    (taken,) = {
        RACKS[pod["spec"]["nodeName"]] for pod in racks.all("Pod") if pod["spec"].get("nodeName")
    }
    shell = Shell(racks.cluster, racks.namespace)
    racks.apply(workers("large", 17, 17, required=RACK))
    racks.until(lambda: racks.message("large"), "it is told")
    assert f"16 of 17 pods would fit in {RACK}=" in shell.edl("plan").stdout
    racks.apply(workers("first", 16, 16, required=RACK))
    racks.until_runs("first", 16)
    assert {*domains(racks, "first")} == {"r0" if taken == "r1" else "r1"}
    racks.apply(workers("next", 14, 14, required=RACK))
    racks.until(lambda: racks.message("next"), "it is told")
    assert f"13 of 14 pods fit in {RACK}={taken} (best domain)" in shell.edl("plan").stdout
    racks.kubectl("delete", "deployment", "web")
    racks.until_runs("next", 14)


def test_ranks_follow_the_racks_that_are_preferred(racks: Stage) -> None:
    racks.apply(workers("mnist", 24, 24, preferred=f"{RACK},kubernetes.io/hostname"))
    racks.until_runs("mnist", 24)
    found = domains(racks, "mnist")
    assert found == sorted(found)
    assert sorted(map(found.count, {*found})) == [8, 16]


def test_a_gang_starts_in_a_rack_that_held_a_part_of_the_minimum_of_work_items(
    racks: Stage,
) -> None:
    """The oldest work items, its minimum, run in both racks; the gang needs all of one."""
    racks.apply(elastic("items", labels={"min": "12", "max": "40"}, parallelism=12))
    racks.until(lambda: racks.running("items") >= 30, "the cluster is full")
    racks.apply(workers("gang", 16, 16, required=RACK))
    racks.until_runs("gang", 16)
    assert len({*domains(racks, "gang")}) == 1
    assert 12 <= racks.size("items") <= 16
