"""How many pods of a role are in which domain."""

from edl.domain_counts import DomainCounts, counted, labels_of, running
from edl.model import Topology
from tests.edl.planner.states import job, node, pod, role

RACK, BLOCK = "example.com/rack", "example.com/block"
LABELS = labels_of(
    [
        node("a", labels={RACK: "r1", BLOCK: "b0"}),
        node("b", labels={RACK: "r2", BLOCK: "b0"}),
        node("plain"),
    ]
)


def test_pods_are_counted_by_role_and_label_most_first() -> None:
    topology = Topology(required=(("", BLOCK), ("worker", RACK)))
    found = counted(topology, {"ps": ["b"], "worker": ["a", "b", "b"]}, LABELS)
    assert found == (
        DomainCounts("ps", BLOCK, required=True, domains=(("b0", 1),)),
        DomainCounts("worker", BLOCK, required=True, domains=(("b0", 3),)),
        DomainCounts("worker", RACK, required=True, domains=(("r2", 2), ("r1", 1))),
    )


def test_preferred_labels_are_those_of_all_roles() -> None:
    (found,) = counted(Topology(preferred=(RACK,)), {"worker": ["a", "plain", "gone"]}, LABELS)
    assert (found.required, found.domains) == (False, (("", 1), ("r1", 1)))


def test_pods_that_end_or_have_no_node_are_in_no_domain() -> None:
    """A node that a plan has given counts."""
    pods = (pod(0, "a"), pod(1, "a", terminating=True), pod(2), pod(3, assigned="b"))
    part = role("worker", 4, 4, topology=Topology(preferred=(RACK,)), on=[])
    (found,) = running(job("mnist", part.changed(pods=pods)), LABELS)
    assert found.domains == (("r1", 1), ("r2", 1))


def test_a_job_without_a_topology_has_no_counts() -> None:
    assert running(job("mnist", role("worker", 1, 1, on=["a"])), LABELS) == ()
