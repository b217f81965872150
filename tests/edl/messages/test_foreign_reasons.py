"""Reasons that others wrote: any code with anything that it may be about."""

from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

import msgspec
import pytest
from hypothesis import strategies as some

from edl import messages, reasons
from edl.annotations import leaving_workers
from edl.annotations.json_text import json_text
from edl.annotations.last_change import read_reason
from edl.model import Code, JobKey, Reason, Restart
from edl.model.causes.blockers import Outranked
from edl.model.causes.reason_subjects import About, OverQuota, QuotedText
from edl.model.quotas import Quota
from tests.edl.reached import Reached, drawn

_HUGE = 10**4000
_SMALL = some.integers(0, 100)
_OTHERS = some.integers() | some.sampled_from([_HUGE, -_HUGE])
_INTEGERS = some.one_of(*[_SMALL] * 9, _OTHERS)


def of(hint: Any) -> some.SearchStrategy[Any]:  # noqa: ANN401 - a type, whatever its form
    """Values that a field of this type may have."""
    parts = get_args(hint)
    if hint is int:
        return _INTEGERS
    if get_origin(hint) is UnionType:
        return some.one_of(*map(of, parts))
    if get_origin(hint) is tuple and parts[-1] is Ellipsis:
        return some.lists(of(parts[0]), max_size=2).map(tuple)
    if get_origin(hint) is tuple:
        return some.tuples(*map(of, parts))
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        fields = get_type_hints(hint)
        return some.builds(hint, **{name: of(fields[name]) for name in hint.__struct_fields__})
    return some.from_type(hint)


ABOUTS = some.none() | of(About)
REASONS = some.builds(Reason, some.sampled_from(Code), ABOUTS, some.sampled_from(Restart), _SMALL)


@pytest.mark.parametrize("amount", [2**63, -(2**63) - 1, _HUGE])
def test_an_amount_beyond_kubernetes_range_is_rejected_as_a_reason(amount: int) -> None:
    budget = Quota("team", "quota", "requests.memory", amount)
    assert read_reason(json_text(Reason(Code.QUOTA_EXCEEDED, OverQuota(budget)))) is None


@pytest.mark.parametrize("attempts", [-1, 101, _HUGE])
def test_a_count_of_attempts_out_of_range_is_rejected_as_a_reason(attempts: int) -> None:
    assert read_reason(json_text(Reason(Code.RECLAIMED, attempts=attempts))) is None


def test_a_quotation_without_text_has_a_sentence() -> None:
    """The right to write annotations of Jobs suffices to store it."""
    assert messages.lasting(Reason(Code.START_REFUSED, QuotedText(""))) == messages.lasting(
        reasons.UNKNOWN
    )


@drawn(100, reason=REASONS)
def test_whatever_is_read_has_a_sentence(reached: Reached, reason: Reason) -> None:
    """A role's last change is told again when its restart is done.

    The job that is ahead in the queue is the one thing that is left out within the sentence.
    """
    found = read_reason(json_text(reason))
    reached(found)
    if found is not None:
        message, lasting = messages.message(found), messages.lasting(found)
        assert lasting
        assert message.startswith(lasting) or found.code is Code.QUEUE_ORDER


@pytest.mark.parametrize("code", Code)
def test_a_code_alone_has_a_sentence(code: Code) -> None:
    assert messages.message(Reason(code))
    assert messages.blocker_text(Outranked(code, (JobKey("ns", "first"),)))


def test_a_reason_that_would_fill_a_job_is_none() -> None:
    """It would be written on the Job once more, as a sentence: the API server refuses both."""
    text = "x" * 200_000
    assert (
        read_reason(f'{{"code":"Paused","about":{{"type":"QuotedText","text":"{text}"}}}}') is None
    )


def test_workers_leave_whatever_is_said_of_why() -> None:
    """Their launcher works without them already."""
    for reason in ('"to make room for a/b"', '{"code":"Odd"}', "null", "7"):
        found = leaving_workers.read_leaving(f'{{"pods":["w-1"],"size":1,"reason":{reason}}}')
        assert found is not None
        assert (found.pods, found.reason.code) == (frozenset({"w-1"}), Code.UNKNOWN)


def test_a_host_list_restarts_no_training_job() -> None:
    """The right to patch pods is not the right to stop a training job."""
    reason = '{"code":"IdleCapacity","restart":"Stopped"}'
    found = leaving_workers.read_leaving(f'{{"pods":["w-1"],"size":1,"reason":{reason}}}')
    assert found is not None
    assert found.reason.restart is Restart.NONE
