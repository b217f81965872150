"""Parts of a Job, a bare pod or a pod template; an absent part is empty."""

from collections.abc import Mapping

from edl.writes import Json


def labels(part: Json) -> Mapping[str, str]:
    return (part.get("metadata") or {}).get("labels") or {}


def annotations(part: Json) -> Mapping[str, str]:
    return (part.get("metadata") or {}).get("annotations") or {}


def annotated(part: Json, texts: Mapping[str, str]) -> Json:
    """The part with these annotations added; existing ones of the same name are replaced."""
    metadata = part.get("metadata") or {}
    return part | {"metadata": metadata | {"annotations": {**annotations(part), **texts}}}


def pod_of(manifest: Json) -> Json:
    """A bare pod itself, or a Job's pod template."""
    return manifest if manifest.get("kind") == "Pod" else template(manifest)


def template(job: Json) -> Json:
    return (job.get("spec") or {}).get("template") or {}
