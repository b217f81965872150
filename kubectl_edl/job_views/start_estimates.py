"""Estimated start times for display: how long from now, and how certain."""

from datetime import datetime
from typing import Final

from edl.forecast.estimate import Certainty, Estimate, coarse
from edl.model import Code
from kubectl_edl.job_views.training_job_view import time_text
from kubectl_edl.output.age import duration
from kubectl_edl.output.documents.shared_documents import EstimateDocument

_SPOKEN: Final = {Certainty.ABOUT: "in about", Certainty.LATEST: "within about"}
_TODAY: Final = "with today's nodes and quotas"


def when(estimate: Estimate, now: datetime, shown: Code | None = None) -> str:
    """`now`, `in about 25m`, `within about 3h, sooner if train-7 ends`, `unknown: why`, `never`.

    `shown`: the code of a reason beside it, which is not repeated.
    """
    repeated = estimate.code is not None and estimate.code is shown
    why = f": {estimate.reason}" if estimate.reason and not repeated else ""
    if estimate.certainty is Certainty.NOW:
        return "now"
    if estimate.certainty is Certainty.NEVER:
        return f"never {_TODAY}{why}" if estimate.reason else "never"
    if estimate.at is None:
        return f"unknown{why}"
    wait = duration(coarse(estimate.at - now))
    return f"{_SPOKEN[estimate.certainty]} {wait}" + (
        f", {estimate.reason}" if estimate.reason else ""
    )


def starts(estimate: Estimate, now: datetime) -> str:
    """The estimate as part of a sentence: `starts in about 25m`, `never starts with …`."""
    if estimate.certainty is Certainty.NEVER:
        return f"never starts {_TODAY}: {estimate.reason}"
    return f"starts {when(estimate, now)}"


def short(estimate: Estimate, now: datetime) -> str:
    """The estimate for a table cell: `now`, `~25m`, `<~3h`, `unknown` or `never`."""
    if estimate.certainty is Certainty.NOW:
        return "now"
    if estimate.at is None:
        return estimate.certainty.value.lower()
    sign = "~" if estimate.certainty is Certainty.ABOUT else "<~"
    return f"{sign}{duration(coarse(estimate.at - now))}"


def document(estimate: Estimate) -> EstimateDocument:
    return {
        "certainty": estimate.certainty.value,
        "time": time_text(estimate.at),
        "message": estimate.reason,
    }
