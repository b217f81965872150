"""The part of a job that its team's guarantee covers, and the teams that lend the rest."""

from typing import TYPE_CHECKING, Final

from edl.quantities import Resources
from edl.visibility.job_capacity import JobCapacity
from kubectl_edl.queue.view import quantities

if TYPE_CHECKING:
    from kubectl_edl.output.documents.team_documents import JobCapacityDocument

_NAMED: Final = 8


def guaranteed_text(found: JobCapacity | None) -> str:
    """`8 CPU, 2 nvidia.com/gpu`; `nothing` where all is borrowed."""
    return str(found.guaranteed) if found else ""


def borrowed_text(found: JobCapacity | None) -> str:
    """`2 CPU that no team is guaranteed; 4 CPU from speech`."""
    borrowed = found.borrowed if found else ()
    parts = [
        f"{amounts} from {team}" if team else f"{amounts} that no team is guaranteed"
        for team, amounts in borrowed[:_NAMED]
    ]
    rest = sum((amounts for _, amounts in borrowed[_NAMED:]), Resources())
    more = [f"{rest} from {len(borrowed) - _NAMED} more teams"] if rest else []
    return "; ".join([*parts, *more])


def capacity_document(found: JobCapacity | None) -> "JobCapacityDocument | None":
    if found is None:
        return None
    return {
        "guaranteed": quantities(found.guaranteed),
        "borrowed": [
            {"team": team or None, "amounts": quantities(amounts)}
            for team, amounts in found.borrowed
        ],
    }
