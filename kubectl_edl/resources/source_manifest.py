"""A live Job's manifest as its user wrote it, without fields that the API server added."""

import json
from copy import deepcopy
from typing import Final

from edl import contract
from edl.contract import registry
from edl.contract.manifest_parts import annotations, metadata
from edl.contract.registry import Setter
from edl.inject.updates.released_jobs import is_released
from edl.writes import Json
from kubectl_edl.cli.command_errors import Refused

_SERVER_METADATA: Final = (
    *("uid", "resourceVersion", "generation", "managedFields", "selfLink", "finalizers"),
    *("creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"),
)
_CONTROLLER_LABELS: Final = (
    *("controller-uid", "batch.kubernetes.io/controller-uid"),
    *("job-name", contract.JOB_NAME_LABEL),
)
_CONTROLLER_ANNOTATIONS: Final = (contract.JOB_TRACKING,)
_SETTINGS: Final = frozenset(
    entry.name for entry in registry.ENTRIES if entry.setter is Setter.USER
)
_ESCAPED: Final = {letter: f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"}
"""Characters that Go's encoding/json escapes in strings."""


def source_of(manifest: Json) -> Json:
    """The manifest from which to recreate the Job.

    The webhook has added fields to a Job that is or was labelled, so that one is recreated from its
    last `kubectl apply` manifest, with the current labels; raises Refused if it has none.
    """
    managed = contract.INJECTED_MAX in annotations(manifest)
    if not managed and not is_released(manifest):
        return recreated(manifest)
    applied = _applied(manifest)
    if applied is None:
        name = manifest["metadata"]["name"]
        state = "is elastic already" if managed else "was elastic before its release"
        raise Refused(
            f'Job "{name}" {state} and was not made with kubectl apply, so what its '
            "user wrote is not known; from the file: kubectl edl adopt -f FILE … "
            "| kubectl replace --force -f -"
        )
    return _with_settings(applied, manifest)


def _applied(manifest: Json) -> Json | None:
    """Its manifest of the last `kubectl apply`; None without one that can be read.

    A copy that a user made of a Job, here or in another namespace, still has that of the original.
    """
    try:
        applied: Json = json.loads(annotations(manifest).get(contract.LAST_APPLIED, ""))
        source, live = applied["metadata"], manifest["metadata"]
        here = source.get("namespace") or live["namespace"]
        return applied if (source["name"], here) == (live["name"], live["namespace"]) else None
    except (ValueError, TypeError, KeyError):
        return None


def as_written(manifest: Json) -> Json:
    """A Job, CronJob or pod from a file; a live one is reduced to its user's manifest.

    Its owners are removed: the garbage collector would delete it with them, or immediately if they
    no longer exist.
    """
    meta = metadata(manifest)
    if "uid" not in meta:
        return manifest
    ownerless = {name: value for name, value in meta.items() if name != "ownerReferences"}
    if manifest["kind"] == "Job":
        return source_of(manifest | {"metadata": ownerless})
    return without_server_fields(manifest | {"metadata": ownerless})


def without_server_fields(manifest: Json) -> Json:
    """The object without its status, and without the metadata that the API server sets."""
    fields = {
        name: value for name, value in metadata(manifest).items() if name not in _SERVER_METADATA
    }
    return {name: value for name, value in manifest.items() if name != "status"} | {
        "metadata": fields
    }


def has_ended(manifest: Json) -> bool:
    """Whether a Job is complete or has failed, or a pod has ended."""
    status = manifest.get("status") or {}
    ends = {one.get("type") for one in status.get("conditions") or () if one["status"] == "True"}
    return status.get("phase") in ("Succeeded", "Failed") or bool({"Complete", "Failed"} & ends)


def controller_of(manifest: Json) -> str:
    """`CronJob/nightly` for a Job that a controller creates; otherwise empty."""
    owners = manifest["metadata"].get("ownerReferences") or ()
    return next((f"{ref['kind']}/{ref['name']}" for ref in owners if ref.get("controller")), "")


def recreated(manifest: Json) -> Json:
    """The manifest to recreate a Job; a selector is kept only if the user chose it."""
    fresh: Json = deepcopy(without_server_fields(manifest))
    _strip_metadata(fresh["metadata"])
    template = fresh["spec"]["template"]
    _strip_metadata(template.setdefault("metadata", {}))
    _drop(template["metadata"], ("creationTimestamp",))
    if not template["metadata"]:
        _drop(template, ("metadata",))
    if not fresh["spec"].get("manualSelector"):
        fresh["spec"].pop("selector", None)
    return {"apiVersion": "batch/v1", "kind": "Job"} | fresh


def _with_settings(source: Json, live: Json) -> Json:
    """Apply the live Job's values of our labels and annotations, which may have changed since."""
    metadata = source["metadata"]
    for place in ("labels", "annotations"):
        now = live["metadata"].get(place) or {}
        settings = {name: value for name, value in now.items() if name in _SETTINGS}
        metadata[place] = {**(metadata.get(place) or {}), **settings}
    return source


def _strip_metadata(metadata: Json) -> None:
    for place, names in (("labels", _CONTROLLER_LABELS), ("annotations", _CONTROLLER_ANNOTATIONS)):
        if metadata.get(place):
            _drop(metadata[place], names)
        if not metadata.get(place):
            metadata.pop(place, None)


def _drop(part: Json, names: tuple[str, ...]) -> None:
    for name in names:
        part.pop(name, None)


def as_applied(manifest: Json, namespace: str) -> Json:
    """The manifest with the annotation of `kubectl apply`, so that it can be applied again later.

    The annotation equals kubectl's byte for byte, as otherwise kubectl would see a change
    (util.GetModifiedConfiguration).
    """
    others = {**annotations(manifest)}
    others.pop(contract.LAST_APPLIED, None)
    metadata = {"namespace": namespace} | manifest["metadata"] | {"annotations": others}
    source = manifest | {"metadata": metadata}
    text = json.dumps(source, separators=(",", ":"), sort_keys=True, ensure_ascii=False) + "\n"
    for letter, escaped in _ESCAPED.items():
        text = text.replace(letter, escaped)
    return source | {"metadata": metadata | {"annotations": others | {contract.LAST_APPLIED: text}}}
