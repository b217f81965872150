"""A size in a Job's file that its bounds exclude: the Job starts within the bounds instead."""

from edl import contract
from edl.contract.manifest_parts import annotations, labels
from edl.spec.job_spec import JobSpec
from edl.writes import Json


def warnings(manifest: Json, spec: JobSpec) -> tuple[str, ...]:
    """A warning for a new Job whose `spec.parallelism` is outside its bounds.

    1 is the API server's default, which a file that leaves it out gets.
    """
    if manifest.get("kind") == "Pod" or contract.INJECTED_MAX in annotations(manifest):
        return ()  # completed before, and warned about then
    size, low, high = _size(manifest), spec.scaling.min, spec.scaling.max
    if size <= 1 or low <= size <= high:
        return ()
    bounds = f"{low}" if low == high else f"{low}..{high}"
    why = f"because {spec.role} is {bounds} by {_source(manifest)}"
    way_out = "write the same in both, or leave it out"
    return (f"spec.parallelism {size} has no effect, {why}: {way_out}",)


def _size(manifest: Json) -> int:
    given: int | None = (manifest.get("spec") or {}).get("parallelism")
    return 1 if given is None else given


def _source(manifest: Json) -> str:
    """The keys that set the bounds; labels precede `edl.dev/roles`."""
    names = [name for name in (contract.MIN, contract.MAX) if name in labels(manifest)]
    by_roles = contract.ROLES in annotations(manifest)
    return " and ".join(names) or (contract.ROLES if by_roles else "a default of its namespace")
