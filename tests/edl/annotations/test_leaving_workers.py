"""What stands on a launcher's pod about the workers that leave."""

from hypothesis import given
from hypothesis import strategies as st

from edl.annotations import leaving_workers
from edl.model import Code, Leaving, Reason
from edl.model.causes.reason_subjects import QuotedText

REASONS = st.builds(Reason, st.sampled_from(Code), st.none() | st.builds(QuotedText, st.text()))
LEAVING = st.builds(Leaving, st.frozensets(st.text()), st.integers(0, 9999), REASONS)


@given(LEAVING)
def test_those_who_leave_are_read_as_they_were_written(leaving: Leaving) -> None:
    assert leaving_workers.read_leaving(leaving_workers.leaving_text(leaving)) == leaving


def test_a_malformed_mark_names_no_host() -> None:
    for text in ("", "{}", "x", '{"pods":"worker-1","size":1}', '{"pods":[],"size":"2"}'):
        assert leaving_workers.read_leaving(text) is None


def test_a_text_that_is_nested_too_deeply_is_none() -> None:
    """Any user may annotate a pod: one that cannot be read would stop the watch of all."""
    assert leaving_workers.read_leaving('{"x":' + "[" * 100_000) is None
