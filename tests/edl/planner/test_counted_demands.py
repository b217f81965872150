"""Which pending pods of other owners decisions read, and which of their resources."""

from msgspec.structs import replace

from edl.contract.pod_limits import PodCount
from edl.model import Demand
from edl.planner.counted_demands import with_counted_demands, with_offered_names
from edl.planner.decide import observed_snapshot
from edl.planner.decision_limits import Limits
from edl.planner.policies import POLICIES
from edl.quantities import Resources
from tests.edl.planner.plans import plan_for
from tests.edl.planner.states import cluster, demand, node, shape, worker


def asking(name: str, *resources: str) -> Demand:
    own = shape(1)
    more = Resources.of(dict.fromkeys(resources, 2))
    return demand(name, replace(own, requests=own.requests + more))


def test_pods_with_more_rules_than_are_followed_do_not_count() -> None:
    many = replace(demand("many", shape(3)), excess=PodCount("spec", "rules", 9, 8))
    extras = worker("a", 1, 4, on=["n"] * 4)
    state = cluster(node("n"), extras, many, demand("few", shape(1)))
    assert [one.example for one in with_counted_demands(state, Limits()).demands] == ["web/few"]
    assert plan_for(cluster(node("n"), extras, many)) == plan_for(cluster(node("n"), extras))


def test_of_the_resources_that_no_node_offers_a_demand_names_one() -> None:
    """Each name is a row of numbers about all nodes."""
    found = [asking(str(pod), *(f"e.com/{pod}-{one}" for one in range(9))) for pod in range(9)]
    plain = demand("plain", shape(1))
    state = with_offered_names(cluster(node("n"), plain, *found))
    assert state.demands[0] == plain
    assert {dict(one.shape.requests)["e.com/0-0"] for one in state.demands[1:]} == {1}
    state = cluster(node("n"), plain, *found)
    snapshot = observed_snapshot(state, POLICIES["fair"], Limits())
    assert snapshot.capacity.resources == ("cpu", "e.com/0-0", "memory", "pods")


def test_demands_for_what_nodes_offer_stay_as_they_are() -> None:
    state = cluster(node("n", gpu=1), demand("p", shape(1, gpu=9)))
    assert with_offered_names(state) is state
