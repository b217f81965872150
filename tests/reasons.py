"""Reasons for tests to which it does not matter what they are about."""

from edl.model import Code, Reason
from edl.model.reason_codes import QuotedText


def because(text: str, code: Code = Code.IDLE_CAPACITY) -> Reason:
    """A reason that reads so."""
    return Reason(code, QuotedText(text))
