"""Reasons for tests to which it does not matter what they are about."""

from edl.messages import message
from edl.model import Code, Reason, TrainingJob
from edl.model.causes.reason_subjects import QuotedText


def because(text: str, code: Code = Code.IDLE_CAPACITY) -> Reason:
    """A reason that reads so."""
    return Reason(code, QuotedText(text))


def invalid(text: str) -> Reason:
    """The problem of a job whose manifest is invalid."""
    return because(text, Code.INVALID)


def problem_of(job: TrainingJob) -> str:
    """The problem as users read it; empty for none."""
    return message(job.problem) if job.problem else ""
