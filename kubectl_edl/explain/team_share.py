"""What of a training job its team's guarantee covers, and from which teams the rest is borrowed."""

from typing import TYPE_CHECKING

from edl.visibility.borrowed_shares import BorrowedShare
from kubectl_edl.queue.view import quantities

if TYPE_CHECKING:
    from kubectl_edl.output.documents.team_documents import TeamShareDocument


def guaranteed_text(share: BorrowedShare | None) -> str:
    """`8 CPU, 2 nvidia.com/gpu`; `nothing` where all is borrowed."""
    return str(share.guaranteed) if share else ""


def borrowed_text(share: BorrowedShare | None) -> str:
    """`2 CPU that no team is guaranteed; 4 CPU from speech`."""
    return "; ".join(
        f"{amounts} from {team}" if team else f"{amounts} that no team is guaranteed"
        for team, amounts in (share.borrowed if share else ())
    )


def share_document(share: BorrowedShare | None) -> "TeamShareDocument | None":
    if share is None:
        return None
    return {
        "guaranteed": quantities(share.guaranteed),
        "borrowed": [
            {"team": team or None, "amounts": quantities(amounts)}
            for team, amounts in share.borrowed
        ],
    }
