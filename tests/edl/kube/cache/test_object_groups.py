"""Objects in groups, updated object by object."""

from edl.kube.cache.object_groups import ObjectGroups
from edl.kube.cluster import Delta, ObjectKey

A = ObjectKey("default", "a")
B = ObjectKey("default", "b")


def letters() -> ObjectGroups[str, str]:
    """Words by the letters that they consist of."""
    return ObjectGroups(tuple)


def test_an_object_is_in_each_of_its_groups() -> None:
    groups = letters()
    groups.apply(Delta(A, None, "xy"))
    groups.apply(Delta(B, None, "y"))
    assert dict(groups.of("x")) == {A: "xy"}
    assert dict(groups.of("y")) == {A: "xy", B: "y"}


def test_a_changed_object_moves_and_an_empty_group_is_removed() -> None:
    groups = letters()
    groups.apply(Delta(A, None, "xy"))
    groups.apply(Delta(A, "xy", "yz"))
    assert sorted(groups) == ["y", "z"]
    assert dict(groups.of("y")) == {A: "yz"}
    groups.apply(Delta(A, "yz", None))
    assert not [*groups.items()]
    assert not groups.of("z")
