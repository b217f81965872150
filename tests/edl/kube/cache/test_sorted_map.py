"""Values in the order of their keys, whatever came and went in between."""

from hypothesis import given
from hypothesis import strategies as st

from edl.kube.cache.sorted_map import SortedMap

CHANGES = st.lists(st.tuples(st.integers(0, 5), st.none() | st.integers(0, 2), st.booleans()))


@given(CHANGES)
def test_values_are_those_that_are_there_in_order(
    changes: list[tuple[int, int | None, bool]],
) -> None:
    found: SortedMap[int, int] = SortedMap()
    expected: dict[int, int] = {}
    for key, value, asked in changes:
        assert found.put(key, value) == (value != expected.get(key))
        assert found.get(key) == value
        if value is None:
            expected.pop(key, None)
        else:
            expected[key] = value
        if asked:
            assert found.values() == tuple(expected[one] for one in sorted(expected))
    assert found.values() == tuple(expected[one] for one in sorted(expected))
    assert found.values() is found.values()
