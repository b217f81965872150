"""Warnings for updates of `spec.suspend`, which the reconciler alone sets."""

from typing import Final

from edl import contract
from edl.contract.manifest_parts import annotations, is_paused, namespace_option
from edl.frameworks import is_ranked
from edl.messages import message
from edl.model import Code
from edl.reasons import PAUSE_REFUSED
from edl.writes import Json

_AGAIN: Final = (
    "a manifest with suspend: true pauses it at each apply: first remove that from the manifest"
)


def suspended(old: Json, job: str) -> str:
    """The warning for `suspend: true` on a Job of this training job, which is kept as a pause.

    A pause is not carried out on a work queue of which a pod has succeeded.
    """
    is_queue = not is_ranked(old) and (old.get("spec") or {}).get("completions") is None
    if is_queue and (old.get("status") or {}).get("succeeded"):
        return f"{contract.PAUSED}: {message(PAUSE_REFUSED)}"
    return f"paused, as {contract.PAUSED}: {_resume(old, job)}; {_AGAIN}"


def stays_suspended(new: Json, old: Json, job: str) -> str:
    """The warning for `suspend: false` on a suspended Job; the same update may resume it."""
    if annotations(old).get(contract.REASON) == Code.JOB_CONFLICT:
        why = annotations(old).get(contract.MESSAGE, "")
    elif is_paused(new):
        why = f"{job} is paused; {_resume(old, job)}"
    else:
        why = f"{job} waits for its turn; see kubectl edl queue{namespace_option(old)}"
    return f"spec.suspend stays true: {why}"


def _resume(old: Json, job: str) -> str:
    return f"kubectl edl resume {job}{namespace_option(old)} continues it"
