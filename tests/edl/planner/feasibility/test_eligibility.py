"""Which nodes a pod may use."""

import pytest

from edl.feasibility.eligibility import NAME_FIELD, Eligibility
from edl.kube.decode.pod_shapes import ShapeInterner
from edl.model import Node, Requirement, Shape, Taint, Toleration
from edl.model.nodes import CORDONED
from tests.edl.planner.states import node, shape

NODES = (
    node("a", labels={"zone": "x", "cores": "8"}),
    node("b", labels={"zone": "y", "cores": "many"}),
    node("c"),
)


def names(nodes: tuple[Node, ...], wanted: Shape) -> str:
    mask = Eligibility(nodes).mask(wanted)
    return "".join(found.name for found, may in zip(nodes, mask, strict=True) if may)


@pytest.mark.parametrize(
    ("operator", "values", "found"),
    [
        ("In", ("x", "z"), "a"),
        ("NotIn", ("x",), "bc"),
        ("Exists", (), "ab"),
        ("DoesNotExist", (), "c"),
        ("In", (), ""),
        ("Around", ("x",), ""),
    ],
)
def test_node_affinity_compares_labels(operator: str, values: tuple[str, ...], found: str) -> None:
    assert names(NODES, shape(affinity=((Requirement("zone", operator, values),),))) == found


@pytest.mark.parametrize(
    ("operator", "values", "found"),
    [
        ("Gt", ("7",), "a"),
        ("Gt", ("8",), ""),
        ("Lt", ("9",), "a"),
        ("Lt", ("x",), ""),
        ("Gt", (), ""),
        ("Lt", ("9" * 5000,), ""),
    ],
)
def test_node_affinity_compares_whole_numbers(
    operator: str, values: tuple[str, ...], found: str
) -> None:
    assert names(NODES, shape(affinity=((Requirement("cores", operator, values),),))) == found


@pytest.mark.parametrize(
    ("value", "operator", "bound", "holds"),
    [
        ("1700000000000000000", "Gt", "1699999999999999999", True),  # nanoseconds since 1970
        ("9223372036854775807", "Gt", "9223372036854775806", True),
        ("-9223372036854775808", "Lt", "0", True),
        ("9223372036854775808", "Gt", "0", False),
        ("-9223372036854775809", "Lt", "0", False),
        ("1", "Lt", "9223372036854775808", False),
        ("0" * 60 + "7", "Gt", "+6", True),
        ("8", "Gt", "0" * 5000 + "7", True),
        ("\u0668", "Gt", "7", False),
        ("1_0", "Gt", "7", False),
        ("", "Lt", "7", False),
    ],
)
def test_whole_numbers_have_64_bits(value: str, operator: str, bound: str, *, holds: bool) -> None:
    assert Requirement("stamp", operator, (bound,)).holds(value) is holds


def test_terms_are_alternatives_and_requirements_add_up() -> None:
    x, y = (Requirement("zone", "In", (zone,)) for zone in "xy")
    cores = Requirement("cores", "Gt", ("1",))
    assert names(NODES, shape(affinity=((x,), (y,)))) == "ab"
    assert names(NODES, shape(affinity=((x, y),))) == ""
    assert names(NODES, shape(affinity=((x, cores), (y, cores)))) == "a"
    assert names(NODES, shape(affinity=((),))) == ""


def test_a_node_is_named_by_its_field() -> None:
    assert names(NODES, shape(affinity=((Requirement("metadata.name", "In", ("b",)),),))) == "b"


def test_a_selector_needs_every_label() -> None:
    assert names(NODES, shape(node_selector=(("zone", "x"),))) == "a"
    assert names(NODES, shape(node_selector=(("zone", "x"), ("cores", "9")))) == ""


def test_shapes_with_the_same_rules_share_one_read_only_array_of_nodes() -> None:
    """Each of 5,000 distinct jobs had its own, which is 400 MB on 10,000 nodes."""
    eligibility = Eligibility(NODES)
    one, other = (shape(cpu, node_selector=(("zone", "x"),)) for cpu in (1, 2))
    assert eligibility.eligible(one) is eligibility.eligible(other)
    assert not any(array.flags.writeable for array in eligibility.eligible(one))


def test_cordoned_nodes_take_no_pod() -> None:
    assert names((node("a", cordoned=True), node("b")), shape()) == "b"


@pytest.mark.parametrize(
    ("toleration", "found"),
    [
        (Toleration(CORDONED, "Exists", "", "NoSchedule"), "ab"),  # of a DaemonSet
        (Toleration(CORDONED, "Exists"), "ab"),
        (Toleration(CORDONED, "Exists", "", "NoExecute"), "b"),
        (Toleration("", "Exists"), "b"),
    ],
)
def test_pods_that_tolerate_cordons_by_their_key_use_cordoned_nodes_that_are_ready(
    toleration: Toleration, found: str
) -> None:
    taint = Taint(CORDONED, "", "NoSchedule")
    cordoned = node("a", cordoned=True, taints=(taint,))
    lost = node("c", cordoned=True, ready=False)
    nodes = (cordoned, node("b"), lost)
    assert names(nodes, shape(tolerations=(toleration,))) == found


@pytest.mark.parametrize(("effect", "found"), [("NoSchedule", "a"), ("NoExecute", "")])
def test_a_node_name_binds_pods_whatever_keeps_others_from_the_node(
    effect: str, found: str
) -> None:
    """kube-scheduler is not asked; the kubelet and the taint manager read NoExecute alone."""
    pod = {"nodeName": "a", "containers": [{"name": "main"}]}
    taints = (Taint(CORDONED, "", "NoSchedule"), Taint("team", "red", effect))
    labels = {NAME_FIELD: "a"}
    nodes = (node("a", cordoned=True, labels=labels, taints=taints), node("b"))
    assert names(nodes, ShapeInterner().of_json(pod)) == found


@pytest.mark.parametrize(
    ("toleration", "tolerated"),
    [
        (Toleration("gpu", "Equal", "yes", "NoSchedule"), True),
        (Toleration("gpu", "", "yes", ""), True),
        (Toleration("gpu", "Exists", "", ""), True),
        (Toleration("", "Exists", "", ""), True),
        (Toleration("", "Equal", "yes", ""), False),
        (Toleration("gpu", "Equal", "no", ""), False),
        (Toleration("cpu", "Exists", "", ""), False),
        (Toleration("gpu", "Exists", "", "NoExecute"), False),
    ],
)
def test_a_taint_needs_a_toleration(toleration: Toleration, tolerated: bool) -> None:  # noqa: FBT001
    tainted = (node("a", taints=(Taint("gpu", "yes", "NoSchedule"),)),)
    assert names(tainted, shape(tolerations=(toleration,))) == ("a" if tolerated else "")


def test_every_taint_that_keeps_away_counts_and_others_do_not() -> None:
    two = (Taint("gpu", "yes", "NoSchedule"), Taint("spot", "", "NoExecute"))
    soft = (Taint("busy", "", "PreferNoSchedule"),)
    nodes = (node("a", taints=two), node("b", taints=soft))
    assert names(nodes, shape()) == "b"
    assert names(nodes, shape(tolerations=(Toleration("gpu", "Exists", "", ""),))) == "b"
    assert names(nodes, shape(tolerations=(Toleration("", "Exists", "", ""),))) == "ab"


def test_pins_name_one_node_a_term_and_keep_the_users_own_rule() -> None:
    pins = tuple((Requirement("metadata.name", "In", (name,)),) for name in ("a", "c", "gone"))
    assert names(NODES, shape(affinity=pins)) == "ac"
    zone = Requirement("zone", "In", ("x",))
    assert names(NODES, shape(affinity=tuple((zone, *term) for term in pins))) == "a"
    assert names(NODES, shape(affinity=((Requirement("metadata.name", "In", ()),),))) == ""
    assert names(NODES, shape(affinity=((Requirement("metadata.name", "NotIn", ("a",)),),))) == "bc"


@pytest.mark.parametrize(
    ("operator", "bound", "tolerated"),
    [("Gt", "90", True), ("Gt", "95", False), ("Lt", "99", True), ("Lt", "x", False)],
)
def test_newer_tolerations_compare_whole_numbers(
    operator: str, bound: str, *, tolerated: bool
) -> None:
    nodes = (node("a", taints=(Taint("sla", "95", "NoSchedule"),)),)
    toleration = Toleration("sla", operator, bound, "NoSchedule")
    assert names(nodes, shape(tolerations=(toleration,))) == ("a" if tolerated else "")
    other = Toleration("cost", operator, bound, "NoSchedule")
    assert names(nodes, shape(tolerations=(other,))) == ""


def test_labels_that_no_node_has_share_one_list() -> None:
    """A pod may name thousands of them, and there may be thousands of nodes."""
    eligibility = Eligibility(NODES)
    lists = [eligibility.values(key) for key in ("k1", "k2", "zone", "k3", "cores", NAME_FIELD)]
    assert lists[0] is lists[1] is lists[3] is eligibility.absent
    assert lists[2] == ["x", "y", None]
    assert lists[4] == ["8", "many", None]
    assert lists[5] == ["a", "b", "c"]


@pytest.mark.parametrize(("operator", "found"), [("NotIn", "abc"), ("Exists", "")])
def test_a_label_that_no_node_has_is_compared_as_a_missing_one(operator: str, found: str) -> None:
    twice = tuple(Requirement(key, operator, ("x",)) for key in ("k1", "k2"))
    assert names(NODES, shape(affinity=(twice,))) == found
