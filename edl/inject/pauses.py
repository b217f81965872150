"""A `spec.suspend: true` of a user or a controller, kept as `edl.dev/paused`."""

from typing import Final

from edl import contract
from edl.contract.manifest_parts import annotated, annotations, is_paused, with_metadata
from edl.writes import Json

_CONTROLLER: Final = "system:serviceaccount:"


def is_to_be_paused(manifest: Json) -> bool:
    """Whether its user suspended the Job; a completed Job was suspended by the webhook."""
    ours_already = contract.INJECTED_MAX in annotations(manifest)
    suspended = (manifest.get("spec") or {}).get("suspend")
    return bool(suspended) and not ours_already and manifest.get("kind") != "Pod"


def paused(manifest: Json, user: str = "") -> Json:
    """The manifest with the user's `suspend: true` recorded as `edl.dev/paused`.

    A controller is named, because no user paused the job, and it may suspend the Job again.
    """
    names_it = user.startswith(_CONTROLLER) and not is_paused(manifest)
    by = {contract.PAUSED_BY: user} if names_it else {}
    return annotated(manifest, {contract.PAUSED: contract.TRUE, **by})


def is_paused_by(new: Json, old: Json, user: str) -> bool:
    """Whether this is the first pass's result for a controller: another webhook changed it since.

    A controller that writes the annotation itself states no more than what is true.
    """
    names_it = annotations(new).get(contract.PAUSED_BY) == user and user.startswith(_CONTROLLER)
    return names_it and is_paused(new) and not is_paused(old)


def without_pauser(manifest: Json) -> Json:
    """The manifest of a job that is resumed: it names no controller that paused it."""
    before = annotations(manifest)
    after = {name: text for name, text in before.items() if name != contract.PAUSED_BY}
    return with_metadata(manifest, annotations=after)
