"""`ttlSecondsAfterFinished` of a role: it counts when the whole training job has ended.

Kubernetes deletes a finished Job after that time, with 0 within the same second. If it is the Job
that decides, nothing would tell the others how it ended, and they would run for ever. So the time
stands in an annotation while anything of the training job runs, and the reconciler puts it back.
"""

from typing import Final

from edl import contract
from edl.inject.manifest_parts import annotations
from edl.parsing.yaml_values import whole
from edl.spec.job_spec import HELD_TTL
from edl.writes import Json

FIELD: Final = "ttlSecondsAfterFinished"
_DECADES: Final = 10**9
"""A time to live from which on nothing needs to be held: the Job outlives its cluster."""


def hold(new: Json, old: Json | None = None) -> Json:
    """The time of a Job that is one of several becomes the annotation; None of `new` removes it.

    What the reconciler has put back, as all had ended, stays: `old` says the same.
    """
    if not _is_one_of_several(new):
        return new
    ttl, before = _ttl(new), _ttl(old or {})
    if ttl is None and before == HELD_TTL:
        return _annotated(new, None)
    if ttl is None or ttl in (HELD_TTL, before) or not 0 <= ttl < _DECADES:
        return new
    return _annotated(_with_ttl(new, HELD_TTL), str(ttl))


def give_back(new: Json, old: Json) -> Json:
    """A Job that is handed back to its user has its own time again."""
    seconds = whole(str(annotations(old).get(contract.TTL, "")))  # a file may have a number
    return new if seconds is None or _ttl(new) != HELD_TTL else _with_ttl(new, seconds)


def warnings(given: Json, stored: Json) -> tuple[str, ...]:
    """That the time begins later than its user may think."""
    if _ttl(given) == _ttl(stored):
        return ()
    return (f"spec.{FIELD} counts when all Jobs of the training job have ended: {contract.TTL}",)


def _is_one_of_several(manifest: Json) -> bool:
    return manifest.get("kind") != "Pod" and "," in annotations(manifest).get(contract.ROLES, "")


def _ttl(manifest: Json) -> int | None:
    """None for what the API server refuses, too."""
    found = (manifest.get("spec") or {}).get(FIELD)
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def _with_ttl(manifest: Json, seconds: int) -> Json:
    return manifest | {"spec": (manifest.get("spec") or {}) | {FIELD: seconds}}


def _annotated(manifest: Json, text: str | None) -> Json:
    rest = {name: one for name, one in annotations(manifest).items() if name != contract.TTL}
    found = rest | ({} if text is None else {contract.TTL: text})
    return manifest | {"metadata": (manifest.get("metadata") or {}) | {"annotations": found}}
