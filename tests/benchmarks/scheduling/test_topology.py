"""The cluster of racks, the gangs that ask for it, and what is told of them."""

import pytest

from benchmarks.scheduling import runs, topology
from benchmarks.scheduling.contestants import CONTESTANTS, KUEUE, OURS
from benchmarks.scheduling.racks import (
    BLOCK,
    DEMANDS,
    GPU,
    GPUS,
    RACK,
    Gang,
    Machine,
    Placements,
    RackScenario,
    groups,
    scenario,
    template,
    tenants,
)
from edl import contract

MACHINES = (
    Machine("a", "block-0", "rack-00", 0),
    Machine("b", "block-0", "rack-01", 3),
    Machine("c", "block-1", "rack-02", 8),
)
GANG = Gang("gang-000", 2, 4, RACK)


def seen(*nodes: str, gang: Gang = GANG) -> Placements:
    found = Placements(RackScenario(MACHINES, (gang,)))
    for index, node in enumerate(nodes):
        found.see(gang.name, str(index), node, at=float(index))
    return found


@pytest.mark.parametrize("demand", DEMANDS)
def test_a_seed_makes_the_same_cluster_and_gangs(demand: float) -> None:
    first = scenario(3, demand)
    assert first == scenario(3, demand)
    assert first != scenario(4, demand)
    assert sum(gang.total for gang in first.gangs) >= demand * first.free


def test_the_sandbox_has_the_nodes_of_the_world() -> None:
    names = {f"{one.name_prefix}-{number:03}" for one in groups() for number in range(one.count)}
    assert names == {machine.name for machine in scenario(0, 0.7).machines}
    labels = {one.labels[RACK]: one.labels[BLOCK] for one in groups()}
    assert labels == {machine.rack: machine.block for machine in scenario(0, 0.7).machines}


def test_tenants_hold_what_is_not_free() -> None:
    held = {
        pod["spec"]["nodeName"]: int(pod["spec"]["containers"][0]["resources"]["limits"][GPU])
        for pod in tenants(MACHINES)
    }
    assert held == {"b": 3, "c": 8}
    assert RackScenario(MACHINES, ()).free == 3 * GPUS - 11


def test_a_gang_is_whole_with_all_of_its_pods_and_broken_outside_of_its_rack() -> None:
    assert (seen("a").whole, seen("a").half) == ([], 1)
    together, apart = seen("a", "a"), seen("a", "b")
    assert (together.whole, together.half, together.broken) == ([GANG], 0, 0)
    assert (apart.domains(GANG, RACK), apart.domains(GANG, BLOCK), apart.broken) == (2, 1, 1)


def test_a_pod_that_is_made_again_counts_once() -> None:
    found = seen("a", "a")
    found.see(GANG.name, "1", "b", at=9.0)
    assert found.nodes[GANG.name] == {"0": "a", "1": "b"}


@pytest.mark.parametrize("required", [RACK, BLOCK, ""])
def test_each_way_asks_for_the_same_pods_and_domains(required: str) -> None:
    gang = Gang("gang-000", 4, 2, required)
    ours, theirs = CONTESTANTS[OURS].job(gang), CONTESTANTS[KUEUE].job(gang)
    for job in (ours, theirs):
        assert (job["spec"]["parallelism"], job["spec"]["completions"]) == (4, 4)
        assert job["spec"]["template"]["spec"] == template(2)["spec"]
    mine = ours["metadata"]["annotations"]
    others = theirs["spec"]["template"]["metadata"]["annotations"]
    assert mine.get(contract.REQUIRED_TOPOLOGY, "") == required
    assert others.get("kueue.x-k8s.io/podset-required-topology", "") == required
    assert mine[contract.PREFERRED_TOPOLOGY] == f"{BLOCK},{RACK}"
    assert others.get("kueue.x-k8s.io/podset-preferred-topology", "") == ("" if required else RACK)


def test_the_simulator_keeps_to_required_racks_where_they_are_asked_for() -> None:
    given = scenario(0, 0.7)
    near, anywhere = (topology.simulated(given, near=near) for near in (True, False))
    assert (near.broken, near.half, anywhere.half) == (0, 0, 0)
    assert len(near.whole) == len(given.gangs)
    assert anywhere.broken > 0
    rows = topology.row(near)[0], topology.row(anywhere)[0]
    assert (rows[0].running, rows[0].broken) == (len(given.gangs), 0)
    assert rows[0].racks < rows[1].racks


def test_means_are_those_of_each_figure() -> None:
    rows = [(topology.Row(*range(9)), 2.0), (topology.Row(*range(2, 11)), 4.0)]
    assert runs.mean(rows) == (topology.Row(*range(1, 10)), 3.0)
    assert topology.line("ours", *runs.mean(rows)).split()[1:3] == ["1", "2"]
