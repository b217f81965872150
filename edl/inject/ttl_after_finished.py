"""`ttlSecondsAfterFinished` of one of several Jobs counts from the end of the whole training job.

Kubernetes deletes a finished Job after that time, with 0 within the same second. If that is the
leader's Job, its result would be lost and the other Jobs would run forever. So an annotation keeps
the value while any Job of the training job runs, and the reconciler restores the field.
"""

from typing import Final

from edl import contract
from edl.contract.manifest_parts import annotations, with_metadata, with_spec
from edl.parsing.yaml_values import whole
from edl.spec.job_spec import HELD_TTL
from edl.writes import Json

FIELD: Final = "ttlSecondsAfterFinished"
_DECADES: Final = 10**9
"""A TTL from which on nothing needs to be held: the Job outlives its cluster."""


def defer_ttl(new: Json, old: Json | None = None) -> Json:
    """Moves the TTL of a Job that is one of several to the annotation.

    If `new` has no TTL, the annotation is removed. A TTL that the reconciler restored at the end is
    left: `old` has the same one.
    """
    if not _is_one_of_several(new):
        return new
    ttl, before = _ttl(new), _ttl(old or {})
    if ttl is None and before == HELD_TTL:
        return _annotated(new, None)
    if ttl is None or ttl in (HELD_TTL, before) or not 0 <= ttl < _DECADES:
        return new
    return _annotated(with_spec(new, **{FIELD: HELD_TTL}), str(ttl))


def restore_ttl(new: Json, old: Json) -> Json:
    """The Job that is handed back to its user, with its own TTL restored."""
    seconds = whole(str(annotations(old).get(contract.TTL, "")))  # a file may contain a number
    held = seconds is not None and _ttl(new) == HELD_TTL
    return with_spec(new, **{FIELD: seconds}) if held else new


def warnings(given: Json, stored: Json) -> tuple[str, ...]:
    """A warning that the TTL counts from a later time than the user may expect."""
    if _ttl(given) == _ttl(stored):
        return ()
    return (f"spec.{FIELD} counts when all Jobs of the training job have ended: {contract.TTL}",)


def _is_one_of_several(manifest: Json) -> bool:
    return manifest.get("kind") != "Pod" and "," in annotations(manifest).get(contract.ROLES, "")


def _ttl(manifest: Json) -> int | None:
    """The TTL; None for values that the API server refuses."""
    ttl = (manifest.get("spec") or {}).get(FIELD)
    return ttl if isinstance(ttl, int) and not isinstance(ttl, bool) else None


def _annotated(manifest: Json, text: str | None) -> Json:
    rest = {name: value for name, value in annotations(manifest).items() if name != contract.TTL}
    after = rest | ({} if text is None else {contract.TTL: text})
    return with_metadata(manifest, annotations=after)
