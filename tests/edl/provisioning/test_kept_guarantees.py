"""A team with `lend: false` keeps what existing nodes have, and no other team from new nodes."""

import yaml

from edl import contract
from edl.model import Code
from tests.edl.provisioning.autoscaled_cluster import AutoscaledCluster


def kept(cpu: int = 20) -> AutoscaledCluster:
    """A cluster in which team nlp has no job and keeps so much CPU."""
    nlp = {"name": "nlp", "namespaces": ["nlp"], "guaranteed": {"cpu": cpu}, "lend": False}
    world = AutoscaledCluster()
    data = {contract.TEAMS_KEY: yaml.safe_dump({"teams": [nlp]})}
    name = contract.TEAMS_CONFIG_MAP
    world.create("ConfigMap", contract.SYSTEM_NAMESPACE, {"metadata": {"name": name}, "data": data})
    return world


def test_from_zero_nodes_a_gang_of_another_team_starts_whole() -> None:
    world = kept()
    world.gang("gang", 8)
    world.settle(300)
    assert (world.running("gang"), world.made) == (8, 4)
    assert world.provisional() == []


def test_it_requests_nodes_for_all_of_its_pods_beside_an_idle_node() -> None:
    world = kept()
    world.node("n1")
    world.gang("gang", 4)
    world.settle(5)
    assert len(world.provisional()) == 4
    world.settle(300)
    assert world.running("gang") == 4


def test_without_an_autoscaler_it_waits() -> None:
    world = kept()
    world.autoscaled = False
    for name in ("n1", "n2"):
        world.node(name)
    world.gang("gang", 4)
    world.settle(300)
    (found,) = world.plan.held
    assert (found.reason.code, found.never) == (Code.QUOTA_EXCEEDED, True)
    assert world.provisional() == []
