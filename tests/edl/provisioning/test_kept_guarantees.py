"""A team with `lend: false` keeps what existing nodes have, and no other team from new nodes."""

import yaml

from edl import contract
from edl.model import Code
from tests.edl.provisioning.autoscaled_cluster import AutoscaledCluster
from tests.edl.provisioning.requested_cluster import RequestedCluster


def kept(
    cpu: int = 20, most: int = 100, of: type[AutoscaledCluster] = AutoscaledCluster
) -> AutoscaledCluster:
    """A cluster in which team nlp has no job and keeps so much CPU."""
    world = of(most)
    nlp = {"name": "nlp", "namespaces": ["nlp"], "guaranteed": {"cpu": cpu}, "lend": False}
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


def test_it_starts_once_nodes_are_added_for_all_of_its_pods() -> None:
    """kube-scheduler binds its provisional pods to the idle nodes that are kept, too."""
    world = kept(16)
    for name in ("n1", "n2"):
        world.node(name)
    world.gang("gang", 4)
    world.settle(30)
    assert (world.running("gang"), len(world.provisional())) == (0, 8)
    world.settle(300)
    assert (world.running("gang"), world.made, world.provisional()) == (4, 2, [])


def test_its_request_keeps_nothing_from_jobs_that_fit() -> None:
    """40 CPU, of which 16 are kept; no node can be added."""
    world = kept(16, most=0)
    for number in range(5):
        world.node(f"n{number}")
    world.gang("grows", 1, most=5)
    world.settle(30)
    world.gang("large", 8)
    world.settle(5)
    world.gang("small", 2)
    world.settle(10)
    assert len(world.provisional("large")) >= 8
    assert (world.running("grows"), world.running("small")) == (2, 2)


def test_without_an_autoscaler_it_waits() -> None:
    world = kept()
    world.autoscaled = False
    for name in ("n1", "n2"):
        world.node(name)
    world.gang("gang", 4)
    world.settle(300)
    (found,) = world.plan.waiting
    assert (found.reason.code, found.never) == (Code.QUOTA_EXCEEDED, True)
    assert world.provisional() == []


def test_with_provisioning_requests_it_requests_nothing() -> None:
    """The autoscaler would count the idle capacity that is kept."""
    world = kept(16, of=RequestedCluster)
    for name in ("n1", "n2"):
        world.node(name)
    world.gang("gang", 4)
    world.settle(60)
    (found,) = world.plan.waiting
    assert (found.reason.code, world.plan.requests) == (Code.QUOTA_EXCEEDED, ())
    assert world.running("gang") == 0


def test_a_maximum_is_requested_whole() -> None:
    """Its four provisional pods on the idle nodes that are kept are requested anew."""
    world = kept(16)
    for name in ("n1", "n2"):
        world.node(name)
    world.gang("gang", 2, most=6, annotations={"provision": "maximum"})
    world.settle(30)
    assert len(world.provisional()) == 10
    world.settle(300)
    assert (world.running("gang"), world.made, world.provisional()) == (6, 3, [])


def test_of_a_maximum_no_more_is_requested_than_it_may_use() -> None:
    """Nodes that are added for its extras would be what the team keeps of its guarantee."""
    world = kept(20)
    world.gang("gang", 4, most=8, annotations={"provision": "maximum"})
    world.settle(300)
    assert (world.running("gang"), world.made, world.provisional()) == (4, 2, [])
