"""The reason of a role's last change, kept on its Job from one decision to the next.

Other clients may write it too: what is read is limited in length, and may be invalid.
"""

from typing import Final

import msgspec

from edl.annotations.json_text import read_json
from edl.model.reason_codes import Reason

_LONGEST: Final = 65_536
"""Characters. The reason is on a Job twice, as JSON and as a sentence, and all annotations of a Job
together may have 256 KiB."""

_decoder: Final = msgspec.json.Decoder(Reason)


def read_reason(annotation: str) -> Reason | None:
    """The reason in an annotation; None if it is missing or invalid."""
    return read_json(annotation, _decoder) if len(annotation) <= _LONGEST else None
