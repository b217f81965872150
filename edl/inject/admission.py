"""Admission without HTTP: a request in, a verdict out, or `Denied` with every finding."""

from dataclasses import dataclass
from typing import Literal

from edl import contract
from edl.errors import Denied, Finding
from edl.inject import guard
from edl.inject.complete import complete
from edl.parse import parse
from edl.writes import Json


@dataclass(frozen=True, slots=True)
class Request:
    """One admission request for a Job or a pod. `old` is None on CREATE."""

    operation: Literal["CREATE", "UPDATE"]
    manifest: Json
    old: Json | None
    user: str


@dataclass(frozen=True, slots=True)
class Context:
    """What the installation knows: `trusted` users may move sizes and write our annotations."""

    trusted: frozenset[str]
    image: str
    """Our own image, from which a launcher takes kubectl."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The manifest as it shall be stored, and what its user should know."""

    manifest: Json
    warnings: tuple[str, ...] = ()


def mutate(request: Request, context: Context) -> Verdict:
    """Complete a new object, or hold an update to the contract. Raises Denied."""
    if _is_opted_out(request) or _is_made_from_template(request.manifest):
        return Verdict(request.manifest)
    if request.operation == "UPDATE" and request.old is not None:
        return _update(request.manifest, request.old, trusted=request.user in context.trusted)
    return _create(request.manifest, context)


def validate(request: Request, context: Context) -> None:
    """The last look, after every other webhook. Raises Denied where one of them undid our work."""
    if _is_opted_out(request) or _is_made_from_template(request.manifest):
        return
    if request.operation == "UPDATE" and request.old is not None:
        if not _is_leaving(request.manifest):
            guard.check(request.manifest, request.old)
        return
    manifest = _as_it_was_completed(request.manifest)
    if _create(manifest, context).manifest != manifest:
        what = "another webhook changed what kubectl-edl completed"
        raise Denied([Finding("spec", what, "exclude objects with the label edl.dev/framework")])


def _as_it_was_completed(manifest: Json) -> Json:
    """Under generateName the API server gives the name between the two looks."""
    metadata = manifest.get("metadata") or {}
    if "generateName" not in metadata or contract.JOB in guard.labels(manifest):
        return manifest
    nameless = {field: value for field, value in metadata.items() if field != "name"}
    return manifest | {"metadata": nameless}


def _is_opted_out(request: Request) -> bool:
    manifests = (request.manifest, request.old or {})
    return not any(contract.FRAMEWORK in guard.labels(manifest) for manifest in manifests)


def _is_made_from_template(manifest: Json) -> bool:
    """A pod of a Job: its template was completed, nothing is left to do."""
    owners = (manifest.get("metadata") or {}).get("ownerReferences") or []
    return manifest.get("kind") == "Pod" and any(owner.get("kind") == "Job" for owner in owners)


def _is_leaving(manifest: Json) -> bool:
    """Nobody may keep the garbage collector from taking its finalizers off."""
    return bool((manifest.get("metadata") or {}).get("deletionTimestamp"))


def _create(manifest: Json, context: Context) -> Verdict:
    guard.refuse_other_queues(manifest)
    clean = guard.without_ours(manifest)
    spec = parse(clean)
    ours_already = contract.INJECTED_MAX in guard.annotations(manifest)
    if not ours_already and (manifest.get("spec") or {}).get("suspend"):
        clean = guard.paused(clean)
    done = complete(clean, spec, context.image)
    return Verdict(done, guard.forgery_warnings(manifest, done))


def _update(manifest: Json, old: Json, *, trusted: bool) -> Verdict:
    if manifest.get("kind") == "Pod" or trusted or _is_leaving(manifest):
        return Verdict(manifest)
    if contract.KUEUE_QUEUE not in guard.labels(old):
        guard.refuse_other_queues(manifest)
    guard.check_identity(manifest, old)
    held, warnings = guard.held(manifest, old)
    guard.check(held, old)
    return Verdict(held, warnings)
