"""The reason of a role's last change, kept on its Job from one decision to the next.

Other clients may write it too: what is read is limited in length, and may be invalid.
"""

from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec.structs import replace

from edl.annotations.json_text import read_json
from edl.model import JobKey
from edl.model.causes.reason_codes import Reason
from edl.model.causes.reason_subjects import ForeignJob, Minimum, Other

_LONGEST: Final = 65_536
"""Characters. The reason is on a Job twice, as JSON and as a sentence, and all annotations of a Job
together may have 256 KiB."""

_decoder: Final = msgspec.json.Decoder(Reason)


def read_reason(annotation: str) -> Reason | None:
    """The reason in an annotation; None if it is missing or invalid."""
    return read_json(annotation, _decoder) if len(annotation) <= _LONGEST else None


def with_name(reason: Reason, keys: Mapping[str, JobKey]) -> Reason:
    """The reason with the name of the other namespace's job, if `keys` has the uid of its Job."""
    match reason.about:
        case ForeignJob(uid, _, minimum, guaranteed) if uid in keys:
            other = Other(keys[uid], guaranteed=guaranteed)
            return replace(reason, about=Minimum(keys[uid]) if minimum else other)
    return reason
