"""Failed attempts are read as they were written; what others write is bounded."""

import json
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from edl.annotations import failed_attempts
from edl.annotations.failed_attempts import MAX_MESSAGE_CHARACTERS, NODES
from edl.annotations.json_text import json_text
from edl.model import FailedAttempt, Quota, RefusedSize, WriteRefusal
from edl.model.causes.reason_subjects import Usage
from edl.model.quotas import MAX_EXCEEDED_RESOURCES, Excess
from tests.edl.trainings import NOW

BUDGET = Quota("ns", 'ResourceQuota "team"', "services", 2)


def refusals() -> st.SearchStrategy[tuple[WriteRefusal, ...]]:
    moments = st.integers(0, 10**9).map(lambda past: NOW - timedelta(seconds=past))
    words = st.text().map(failed_attempts.quoted)
    sizes = st.builds(RefusedSize, st.text(), st.integers(0, 9), st.booleans())
    one = st.builds(
        WriteRefusal, moments, st.integers(1, 99), words, st.none() | sizes, st.booleans()
    )
    return st.lists(one, unique_by=lambda refusal: refusal.kind).map(tuple)


def read(text: str) -> FailedAttempt | None:
    return failed_attempts.read_failure(text)


def written(message: str) -> str:
    return json.dumps({"at": "2026-01-01T00:00:00Z", "attempts": 1, "message": message})


@given(refusals())
def test_attempts_are_read_as_they_were_written(found: tuple[WriteRefusal, ...]) -> None:
    assert failed_attempts.read_refusals(json_text(found)) == found


def test_a_malformed_attempt_counts_as_none() -> None:
    naive = '{"at":"2026-01-01T12:00:00","attempts":1,"message":""}'
    many = json_text(FailedAttempt(NOW, 2**63))
    deep = '{"x":' + "[" * 100_000
    texts = ("", "{}", "x", "[1]", naive, many, deep)
    assert [read(text) for text in texts] == [None] * 7


@pytest.mark.parametrize(
    "sizes",
    [
        [{"role": "worker", "size": -5, "grows": False}],
        [{"role": "worker", "size": size, "grows": True} for size in (5, 6)],
        [{"role": f"worker-{number}", "size": 5, "grows": True} for number in range(2000)],
    ],
)
def test_refused_sizes_that_no_reconciler_writes_count_as_none(
    sizes: list[dict[str, object]],
) -> None:
    """A size below 0, two of one kind, and more than a Job's annotation holds."""
    first = {"at": "2026-01-01T12:00:00Z", "attempts": 1, "message": ""}
    text = json_text([first | {"size": size} for size in sizes])
    assert failed_attempts.read_refusals(text) == ()
    good = [first, first | {"size": {"role": "worker", "size": 5, "grows": True}}]
    assert len(failed_attempts.read_refusals(json_text(good)) or ()) == 2
    assert failed_attempts.read_refusals(json_text([*good, first | {"attempts": 0}])) == ()


@pytest.mark.parametrize(
    ("budget", "needs", "used"),
    [
        (BUDGET, 0, 0),
        (BUDGET, 1, -1),
        (replace(BUDGET, hard=-1), 1, 0),
        (replace(BUDGET, namespace=""), 1, 0),
        (replace(BUDGET, source="a\nb"), 1, 0),
        (replace(BUDGET, resource="pods" * 200), 1, 0),
    ],
)
def test_a_quota_that_kubernetes_does_not_have_is_left_out_of_a_refusal(
    budget: Quota, needs: int, used: int
) -> None:
    first = WriteRefusal(NOW, 1, "no", usage=Usage(BUDGET, 1, 0))
    assert failed_attempts.read_refusals(json_text([first])) == (first,)
    bad = Excess(budget, needs, used)
    for usage in (Usage(budget, needs, used), Usage(BUDGET, 1, 0, (bad,))):
        hostile = replace(first, usage=usage)
        assert failed_attempts.read_refusals(json_text([hostile])) == (replace(first, usage=None),)


def test_a_refusal_names_a_bounded_number_of_resources_of_one_quota() -> None:
    def read(*more: Excess) -> Usage | None:
        refusal = WriteRefusal(NOW, 1, "no", usage=Usage(BUDGET, 1, 0, more))
        (found,) = failed_attempts.read_refusals(json_text([refusal])) or ()
        return found.usage

    other = Excess(replace(BUDGET, resource="services"), 1, 0)
    assert read(other) == Usage(BUDGET, 1, 0, (other,))
    assert read(*[other] * MAX_EXCEEDED_RESOURCES) is None
    assert read(Excess(replace(BUDGET, source="another"), 1, 0)) is None


def test_each_failure_doubles_the_pause_up_to_the_longest() -> None:
    failure, minutes = None, []
    for _ in range(7):
        failure = failed_attempts.failed(failure, "no capacity", NOW)
        minutes.append(NODES.after(failure.attempts) / timedelta(minutes=1))
    assert minutes == [1, 2, 4, 8, 16, 30, 30]


def test_a_message_is_kept_on_one_line_and_not_at_any_length() -> None:
    long = "denied:\n  one\n" + "x" * 200_000
    for found in (failed_attempts.failed(None, long, NOW), read(written(long))):
        assert found is not None
        assert found.message.startswith("denied: one xxx")
        assert len(found.message) == MAX_MESSAGE_CHARACTERS


def test_control_characters_are_left_out() -> None:
    found = read(written("no\x1b[2J \u202enodes\n"))
    assert found is not None
    assert found.message == "no [2J nodes"
