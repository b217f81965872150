"""Estimated start times for display: how long from now, and how certain."""

from datetime import datetime, timedelta
from typing import Final

from edl.forecast.estimate import Certainty, Estimate, coarse, coarse_bound
from edl.model import Code
from kubectl_edl.job_views.training_job_view import time_text
from kubectl_edl.output.age import duration
from kubectl_edl.output.documents.shared_documents import EstimateDocument

_SPOKEN: Final = {
    Certainty.ABOUT: "in about",
    Certainty.LATEST: "within about",
    Certainty.LATER: "in more than",
}
_SIGNS: Final = {Certainty.ABOUT: "~", Certainty.LATEST: "<~", Certainty.LATER: ">"}
_TODAY: Final = "with today's nodes and quotas"


def when(estimate: Estimate, now: datetime, shown: Code | None = None) -> str:
    """`now`, `in about 25m`, `within about 3h, sooner if train-7 ends`, `unknown: why`, `never`.

    Or `in more than 25m`, where the limit of time ended the simulation.

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
    spoken = f"{_SPOKEN[estimate.certainty]} {_wait(estimate, estimate.at - now)}"
    return f"{spoken}, {estimate.reason}" if estimate.reason else spoken


def starts(estimate: Estimate, now: datetime) -> str:
    """The estimate as part of a sentence: `starts in about 25m`, `never starts with …`."""
    if estimate.certainty is Certainty.NEVER:
        return f"never starts {_TODAY}: {estimate.reason}"
    return f"starts {when(estimate, now)}"


def short(estimate: Estimate, now: datetime) -> str:
    """The estimate for a table cell: `now`, `~25m`, `<~3h`, `>25m`, `unknown` or `never`."""
    if estimate.certainty is Certainty.NOW:
        return "now"
    if estimate.at is None:
        return "never" if estimate.certainty is Certainty.NEVER else "unknown"
    return f"{_SIGNS[estimate.certainty]}{_wait(estimate, estimate.at - now)}"


def _wait(estimate: Estimate, wait: timedelta) -> str:
    """The wait as shown, rounded; a bound is not rounded up."""
    later = estimate.certainty is Certainty.LATER
    return duration(max(coarse_bound(wait), timedelta()) if later else coarse(wait))


def document(estimate: Estimate) -> EstimateDocument:
    return {
        "certainty": estimate.certainty.value,
        "time": time_text(estimate.at),
        "message": estimate.reason,
    }
