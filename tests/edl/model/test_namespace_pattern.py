"""Patterns of namespaces match as regular expressions would, and overlap if a name matches both."""

import re
from itertools import product

from hypothesis import example, given
from hypothesis import strategies as st

from edl.model import NamespacePattern

PATTERNS = st.text("ab*", min_size=1, max_size=4)
NAMES = ["".join(letters) for length in range(1, 9) for letters in product("ab", repeat=length)]
"""All names that are no longer than two patterns together."""


def matching(pattern: str) -> set[str]:
    """An oracle: the names that the pattern matches, as a regular expression."""
    expression = re.compile(pattern.replace("*", ".*"))
    return {name for name in NAMES if expression.fullmatch(name)}


@given(PATTERNS)
@example("a*a")
@example("ab*ab*b")
def test_each_asterisk_stands_for_any_characters(pattern: str) -> None:
    found = NamespacePattern.of(pattern)
    assert {name for name in NAMES if found.matches(name)} == matching(pattern)
    assert found.is_name is ("*" not in pattern)


@given(PATTERNS, PATTERNS)
@example("a*", "*b")
@example("aa*b", "a*bb")
@example("ab", "a*b")
@example("ab", "ab")
def test_two_patterns_overlap_exactly_if_a_name_matches_both(first: str, second: str) -> None:
    one, other = NamespacePattern.of(first), NamespacePattern.of(second)
    expected = bool(matching(first) & matching(second))
    assert one.overlaps(other) is other.overlaps(one) is expected
