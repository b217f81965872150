"""Label selectors: what they select, and what it costs to find those that select a pod."""

from functools import partial

import pytest

from edl.contract import pod_limits
from edl.model import Labels, OwnedSelector, Requirement, Selector, Selectors
from tests.edl.planner.bytecode_count import instructions

PLAIN = Requirement("app", "In", ("x",))


class Compared(str):
    """A label's value that counts its comparisons."""

    __slots__ = ()
    comparisons = 0

    def __eq__(self, other: object) -> bool:
        Compared.comparisons += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


@pytest.mark.parametrize(("operator", "held"), [("In", False), ("NotIn", True)])
def test_a_value_is_looked_up_among_many(operator: str, held: bool) -> None:  # noqa: FBT001 - a table
    values = tuple(f"v{number}" for number in range(500))
    requirement = Requirement("app", operator, values)
    Compared.comparisons = 0
    assert requirement.holds(Compared("other")) is held
    assert Compared.comparisons < 5
    assert requirement.holds("v7") is not held
    assert requirement == Requirement("app", operator, values)


@pytest.mark.parametrize("requirements", [(PLAIN,), (Requirement("app", "Exists", ()),)])
def test_selectors_about_other_namespaces_cost_a_pod_nothing(
    requirements: tuple[Requirement, ...],
) -> None:
    def cost(others: int) -> int:
        crowd = (
            Selector(("crowd",), (*requirements, Requirement("a", "NotIn", (f"{number}",))))
            for number in range(others)
        )
        selectors = Selectors(owned("web", Selector(("web",), requirements), *crowd))
        return instructions(partial(found, selectors, "web", (("app", "x"),)))

    cost(1)
    assert cost(50) == cost(5)


def owned(namespace: str, *selectors: Selector) -> list[OwnedSelector]:
    return [OwnedSelector(namespace, selector) for selector in selectors]


def found(selectors: Selectors, namespace: str, labels: Labels) -> list[Selector]:
    return [*selectors.matching(namespace, labels)]


@pytest.mark.parametrize("namespaces", [None, ("web",), ("a", "web"), (*"abcdefghijk", "web")])
def test_a_pod_is_selected_once_in_each_of_the_namespaces(
    namespaces: tuple[str, ...] | None,
) -> None:
    selector = Selector(namespaces, (PLAIN,))
    selectors = Selectors(owned("web", selector, selector))
    assert found(selectors, "web", (("app", "x"), ("b", ""))) == [selector]
    assert found(selectors, "lab", (("app", "x"),)) == [selector] * (namespaces is None)
    assert found(selectors, "web", (("app", "y"),)) == []


def test_the_selectors_that_a_pod_is_compared_with_are_bounded_in_any_order() -> None:
    numbers = range(pod_limits.MAX_COMPARED_SELECTORS + 50)
    many = [Selector(None, (Requirement("a", "NotIn", (f"{one}",)),)) for one in numbers]
    few, backwards = (
        found(Selectors(owned("web", *ones)), "web", ()) for ones in (many, many[::-1])
    )
    assert len(few) == pod_limits.MAX_COMPARED_SELECTORS
    assert few == backwards


def but(number: int, namespace: str | None = None, name: str = "a") -> Selector:
    """Pods without one label's value: a selector that many pods match."""
    requirement = Requirement(name, "NotIn", (f"{number}",))
    return Selector(None if namespace is None else (namespace,), (requirement,))


MANY = range(2 * pod_limits.MAX_COMPARED_SELECTORS)


def test_other_namespaces_do_not_displace_selectors_of_the_pods_own_namespace() -> None:
    own = [but(number, "web", "z") for number in range(5)]
    others = [but(number, "web") for number in MANY]
    few = found(Selectors(owned("lab", *others), owned("web", *own)), "web", ())
    assert len(few) == pod_limits.MAX_COMPARED_SELECTORS
    assert {*own} < {*few}


def test_namespaces_share_the_limit_of_compared_selectors() -> None:
    few, many = [but(number, None, "z") for number in range(5)], [but(one) for one in MANY]
    for sort in (few[:0], few):
        selectors = Selectors(owned("lab", *many, *sort), owned("ml", *few))
        assert {*few} < {*found(selectors, "web", ())}


def test_selectors_of_planned_pods_come_before_others_of_their_namespace() -> None:
    planned = [but(number, "web", "z") for number in range(5)]
    selectors = Selectors(owned("web", *planned), owned("web", *(but(one, "web") for one in MANY)))
    assert selectors.crowded
    assert {*planned} < {*found(selectors, "web", ())}
    assert not Selectors(owned("web", *planned)).crowded
