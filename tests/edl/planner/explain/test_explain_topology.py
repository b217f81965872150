"""What is said of room where a topology is required: in which domain, and what would help there."""

import pytest
from msgspec.structs import replace

from edl import messages
from edl.messages import message
from edl.model import Domain, JobKey, Topology
from edl.model.causes.blockers import (
    Blocker,
    InProgress,
    InsufficientResources,
    NoUsableNode,
    TooLarge,
)
from edl.model.causes.scarcity import NodeRule, NoRoom
from edl.model.nodes import added_name
from edl.planner.decision_limits import Autoscaler, Limits
from edl.planner.explain.blocker_search import BlockerSearch
from edl.planner.explain.explanation import Explanation, explain
from edl.planner.explain.remedies import without_blockers
from edl.planner.explain.start_remedies import StartRemedy
from edl.planner.explain.what_if_state import DecisionInput
from edl.planner.policies import POLICIES
from tests.edl.planner.explain.test_explain_laws import size_after
from tests.edl.planner.passes.test_topology import (
    BLOCK,
    LARGE_RACKS,
    RACK,
    asking,
    in_one,
    in_turn,
    racks,
    sweep,
)
from tests.edl.planner.plans import ALL, plan_for
from tests.edl.planner.states import cluster, job, node, role, shape, worker

HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
R0, R1 = Domain(RACK, "r0"), Domain(RACK, "r1")


def explained(*things: object) -> tuple[DecisionInput, Explanation]:
    given = DecisionInput(cluster(*things), POLICIES["fair"], ALL)  # type: ignore[arg-type]
    found = explain(given, JobKey("ns", "mnist"))
    assert found is not None
    return given, found


def tried(given: DecisionInput, search: BlockerSearch | None, after: int) -> tuple[Blocker, ...]:
    """The causes, after the job has got more with all of them put right."""
    assert search is not None
    assert search.complete
    better = without_blockers(given, JobKey("ns", "mnist"), search.found)
    assert size_after(better, JobKey("ns", "mnist"), "worker") > after
    return search.found


def growth(*things: object, after: int) -> tuple[Blocker, ...]:
    given, found = explained(*things)
    return tried(given, found.roles[-1].blockers, after)


def start(*things: object) -> tuple[Blocker, ...]:
    given, found = explained(*things)
    return tried(given, found.start_blockers, 0)


def test_a_full_domain_is_named_though_other_domains_have_room() -> None:
    mine = asking(in_one(), 2, 9, on=["r1-a", "r1-b"])
    (held,) = plan_for(cluster(*racks(4, 1), mine)).waiting
    assert isinstance(held.reason.about, NoRoom)
    assert held.reason.about.domains == (R1,)
    assert message(held.reason) == f"Insufficient cpu for one more pod of 1 CPU in {RACK}=r1"


def test_a_job_without_a_topology_names_no_domain() -> None:
    mine = asking(Topology(preferred=(RACK,)), 2, 9, on=["r0-a", "r0-b"])
    (held,) = plan_for(cluster(*racks(1), mine)).waiting
    assert message(held.reason) == "Insufficient cpu for one more pod of 1 CPU"


def test_a_plan_names_the_same_insufficient_resources_as_an_explanation() -> None:
    mine = worker("mnist", 1, 3, shape=shape(2, "2Gi", 1), on=["a"])
    for cpu, lacks in ((3, "cpu and nvidia.com/gpu"), (4, "nvidia.com/gpu")):
        given, found = explained(node("a", cpu, gpu=1), mine)
        (held,) = plan_for(given.state).waiting
        (blocker,) = found.roles[0].blockers.found if found.roles[0].blockers else ()
        assert message(held.reason).startswith(f"Insufficient {lacks} for one more pod of ")
        assert messages.blocker_text(blocker).startswith(f"Insufficient {lacks} for one worker ")


def test_room_that_is_missing_is_missing_in_the_domain() -> None:
    (blocker,) = growth(*racks(4, 1), asking(in_one(), 2, 9, on=["r1-a", "r1-b"]), after=2)
    assert isinstance(blocker, InsufficientResources)
    assert (blocker.domains, blocker.nodes, blocker.node) == ((R1,), 2, "r1-a")
    assert messages.blocker_text(blocker) == (
        "Insufficient cpu for one worker pod (1 CPU): no CPU free on the 2 "
        "nodes that it may use in "
        f"{RACK}=r1"
    )
    assert messages.remedy(blocker) == f"a new node like r1-a in {RACK}=r1 with room for 1 CPU"


def test_a_minimum_that_other_domains_can_hold_is_not_missing_in_a_domain() -> None:
    """Of the minimum of four in the rack of 24 CPU, two work items run in the other rack."""
    full = worker("full", 18, 18, on=in_turn(1)[:18])
    others = [*LARGE_RACKS[:12], full, sweep(4, in_turn(0) + in_turn(1)[:2])]
    _, found = explained(*others, asking(in_one(), 24))
    assert found.start_blockers is not None
    blocker, *_ = found.start_blockers.found
    assert isinstance(blocker, InsufficientResources)
    assert (blocker.domains, blocker.fitting, blocker.pods) == ((R0,), 22, 2)


def test_a_role_names_the_domains_of_its_job_and_its_own() -> None:
    topology = Topology(required=(("", BLOCK), ("worker", RACK)))
    mine = job(
        "mnist",
        role("ps", 1, 1, on=["r0-b"], topology=topology),
        role("worker", 2, 4, on=["r1-a", "r1-b"], topology=topology),
    )
    (blocker,) = growth(*racks(9, 1), mine, after=2)
    assert isinstance(blocker, InsufficientResources)
    assert blocker.domains == (Domain(BLOCK, "b0"), R1)


@pytest.mark.parametrize("label", [RACK, HOST])
def test_a_start_lacks_room_in_the_domain_that_comes_nearest(label: str) -> None:
    """More room in it lets the job start; for a single node, more of that node."""
    nodes = [
        node(f"r{rack}-{name}", 3, labels={RACK: f"r{rack}", HOST: f"r{rack}-{name}"})
        for rack in (0, 1)
        for name in "ab"
    ]
    pods = 8 if label == RACK else 5
    (blocker,) = start(*nodes, asking(in_one(label), pods))
    assert isinstance(blocker, InsufficientResources)
    assert (blocker.wanted - blocker.fitting, blocker.node) == (2, "r0-a")
    (domain,) = blocker.domains
    assert domain == (R0 if label == RACK else Domain(HOST, "r0-a"))
    fewer, where = {
        RACK: (6, f"new nodes like r0-a in {RACK}=r0"),
        HOST: (3, "a larger node r0-a,"),
    }[label]
    assert messages.remedy(blocker) == (
        f"fewer worker replicas (at most {fewer} fit on these nodes), or {where} with room for 2 "
        "more pods of 1 CPU"
    )


def test_a_pod_that_is_larger_than_the_nodes_of_its_domain() -> None:
    mine = asking(in_one(), 1, 2, on=["r0-a"], shape=shape(3))
    (blocker,) = growth(*racks(2, 9), mine, after=1)
    assert isinstance(blocker, TooLarge)
    assert messages.blocker_text(blocker) == (
        "one worker pod requests 3 CPU, the largest of the 2 nodes that it may use in "
        f"{RACK}=r0 has 2 CPU"
    )
    assert messages.remedy(blocker) == f"smaller pods, or a node with 3 CPU in {RACK}=r0"


def test_a_domain_with_cordoned_nodes_has_no_usable_node() -> None:
    nodes = [replace(one, cordoned=one.name[:2] == "r0") for one in racks(2, 2)]
    (blocker,) = growth(*nodes, asking(in_one(), 1, 2, on=["r0-a"]), after=1)
    assert isinstance(blocker, NoUsableNode)
    assert messages.remedy(blocker) == (
        f"a node that worker may use in {RACK}=r0, with 1 CPU free for each pod"
    )


def test_a_label_that_no_node_has_is_what_is_missing() -> None:
    topology = in_one("example.com/pod")
    all_roles = job(
        "mnist", role("ps", 1, 1, topology=topology), role("worker", 2, 2, topology=topology)
    )
    blockers = start(*racks(4), all_roles)
    assert [type(one) for one in blockers] == [NoUsableNode, NoUsableNode]
    (first, _) = blockers
    assert isinstance(first, NoUsableNode)
    assert first.rule.rule is NodeRule.TOPOLOGY
    assert messages.blocker_text(first) == (
        "no node that it may use has the label example.com/pod of its topology: ps may use none "
        "of the nodes"
    )
    assert messages.remedy(first).startswith(
        "a node with the label example.com/pod that ps may use, with "
    )


def test_a_request_for_nodes_names_the_label_that_no_node_has() -> None:
    placed = role("worker", 2, 2, gated=True, topology=Topology(required=(("", "exmaple.com/r"),)))
    state = cluster(node("a", 8), job("mnist", placed))
    limits = Limits(autoscaler=Autoscaler.PRESENT)
    found = explain(DecisionInput(state, POLICIES["fair"], limits), JobKey("ns", "mnist"))
    assert found is not None
    assert found.start_blockers is not None
    (waits,) = found.start_blockers.found
    assert isinstance(waits, InProgress)
    assert message(waits.reason).startswith(
        "waiting for nodes from the autoscaler, as no node has the label exmaple.com/r of its "
        "topology; "
    )


def test_a_node_or_domain_that_the_explanation_adds_is_never_named() -> None:
    """The new node for the workers has no room for the ps, which needs the same domain."""
    one_host = in_one(HOST)
    ssd = shape(2, node_selector=(("disk", "ssd"),))
    workers = role("worker", 4, 7, shape=ssd, topology=one_host)
    mine = job("mnist", role("ps", 1, 6, topology=one_host), workers)
    _, found = explained(node("n0", 1, labels={HOST: "n0"}), mine)
    assert found.start_blockers is not None
    _, full = found.start_blockers.found
    assert messages.blocker_text(full).endswith(
        f"the only node that it may use in a new domain of {HOST}"
    )
    assert messages.remedy(full) == "a larger new node, with room for 1 CPU"


def test_an_added_node_is_named_by_the_one_that_it_is_like() -> None:
    full = worker("other", 4, 4, on=["a"] * 4)
    (room,) = start(node("a", 4), full, worker("mnist", 3, 3))
    assert isinstance(room, InsufficientResources)
    new = replace(room, node=added_name("a", 0), pods=1)
    assert messages.remedy(new) == "a new node like a with room for 1 CPU"


def _remedy(*things: object) -> StartRemedy:
    """What would help in spite of the topology, after it has been tried."""
    _, found = explained(*things)
    return found.trials.start


@pytest.mark.parametrize(
    ("low", "high", "sizes", "smaller"),
    [(6, 9, (0, None), 4), (6, 9, (5, 9), 0), (6, 6, (0, None), 4)],
    ids=["elastic", "its pods wait for more", "of one size"],
)
def test_a_gang_too_large_for_each_domain_gets_the_min_that_fits(
    low: int, high: int, sizes: tuple[int, int | None], smaller: int
) -> None:
    found = _remedy(*racks(1, 2), asking(in_one(), low, high, sizes=sizes))
    assert (found.min, found.domains) == (smaller, (R1,) if smaller else ())
    assert found.preferred


def test_a_label_that_no_node_has_may_be_preferred_instead() -> None:
    topology = in_one("example.com/pod")
    waits = asking(topology, 6)
    assert _remedy(*racks(1, 2), waits) == StartRemedy(preferred=("example.com/pod",))
    assert not _remedy(*racks(1, 1), waits)
    assert not _remedy(*racks(4), asking(Topology(preferred=(RACK,)), 9))


@pytest.mark.parametrize("role_named", ["", "worker"])
def test_a_misspelt_label_is_to_be_corrected_rather_than_dropped(role_named: str) -> None:
    waits = asking(Topology(required=((role_named, "example.com/rak"),)), 3)
    assert _remedy(*racks(1, 2), waits) == StartRemedy(required=((role_named, RACK),))
    assert not _remedy(*racks(1, 1), waits).required


@pytest.mark.parametrize(
    ("required", "preferred", "offered"),
    [
        (ZONE, (RACK, BLOCK), (ZONE, RACK, BLOCK)),
        (BLOCK, (RACK,), (BLOCK, RACK)),
        ("example.com/pod", (RACK, ZONE), (RACK, ZONE, "example.com/pod")),
        ("example.com/rare", (ZONE, RACK), (ZONE, RACK, "example.com/rare")),
    ],
    ids=["the widest", "wider", "on no node", "on few nodes"],
)
def test_what_a_job_prefers_already_keeps_its_order(
    required: str, preferred: tuple[str, ...], offered: tuple[str, ...]
) -> None:
    nodes = [
        node(f"n{at}", 4, labels={RACK: f"r{at}", BLOCK: f"b{at // 2}", ZONE: f"z{at // 4}"})
        for at in range(8)
    ]
    nodes[0] = replace(nodes[0], labels={**(nodes[0].labels or {}), "example.com/rare": "yes"})
    asked = Topology(required=(("", required),), preferred=preferred)
    assert _remedy(*nodes, asking(asked, 32)).preferred == offered


def test_labels_that_may_be_preferred_are_the_widest_first_and_as_many_as_allowed() -> None:
    """Here a block holds two racks, and more than eight labels would be refused."""
    nodes = (
        node(f"n{index}", 4, labels={RACK: f"r{index}", BLOCK: f"b{index // 2}"})
        for index in range(4)
    )
    both = Topology(required=(("", RACK),), preferred=(BLOCK,))
    assert _remedy(*nodes, asking(both, 9)).preferred == (BLOCK, RACK)
    many = tuple(f"example.com/{index}" for index in range(8))
    assert _remedy(*racks(1, 2), asking(replace(in_one(), preferred=many[:7]), 6)).preferred
    assert not _remedy(*racks(1, 2), asking(replace(in_one(), preferred=many), 6)).preferred
