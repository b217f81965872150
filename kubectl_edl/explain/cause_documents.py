"""What stops a training job, for `-o json` of `kubectl edl explain`."""

from collections.abc import Callable
from datetime import datetime
from enum import Enum
from typing import Any, Final

from msgspec import structs

from edl.messages import cause, remedy
from edl.model import Domain, JobKey, Quota, Reason
from edl.model.blockers import Cause
from edl.model.scarcity import NoEligibleNode
from edl.planner.explain.explanation import Stops
from edl.quantities import Resources
from edl.writes import Json
from kubectl_edl.model.training_job_view import time_text
from kubectl_edl.queue.view import quantities

_PLAIN: Final[tuple[tuple[type[Any], Callable[[Any], object]], ...]] = (
    (Resources, quantities),
    (JobKey, str),
    (datetime, time_text),
    (Enum, lambda value: value.value),
    (Reason, lambda reason: reason.code.value),
    (NoEligibleNode, lambda found: found.rule.value),
    (Domain, structs.asdict),
    (Quota, lambda budget: {"source": budget.source, "resource": budget.resource}),
)
"""Before tuples: a JobKey is one."""


def stops_document(stops: Stops | None) -> Json | None:
    if stops is None:
        return None
    return {
        "complete": stops.complete,
        "causes": [_cause_document(one) for one in stops.causes],
    }


def _cause_document(one: Cause) -> Json:
    """Its kind, the sentences, and its own fields."""
    own = {name: _plain(value) for name, value in structs.asdict(one).items()}
    return {"kind": one.kind.value, "says": cause(one), "remedy": remedy(one)} | own


def _plain(value: object) -> object:
    for kind, plain in _PLAIN:
        if isinstance(value, kind):
            return plain(value)
    return [_plain(one) for one in value] if isinstance(value, tuple) else value
