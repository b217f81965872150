"""Parts of a Job, a bare pod or a pod template, empty where they are absent; and what is added."""

from collections.abc import Mapping

from edl.writes import Json


def labels(part: Json) -> Mapping[str, str]:
    return (part.get("metadata") or {}).get("labels") or {}


def annotations(part: Json) -> Mapping[str, str]:
    return (part.get("metadata") or {}).get("annotations") or {}


def annotated(part: Json, texts: Mapping[str, str]) -> Json:
    """With these annotations besides its own, whose values they replace."""
    metadata = part.get("metadata") or {}
    return part | {"metadata": metadata | {"annotations": {**annotations(part), **texts}}}


def template(job: Json) -> Json:
    return (job.get("spec") or {}).get("template") or {}
