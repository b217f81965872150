"""Parts of a Job, a bare pod or a pod template; an absent part is empty."""

from collections.abc import Mapping

from edl.writes import Json


def labels(part: Json) -> Mapping[str, str]:
    return (part.get("metadata") or {}).get("labels") or {}


def annotations(part: Json) -> Mapping[str, str]:
    return (part.get("metadata") or {}).get("annotations") or {}


def annotated(part: Json, texts: Mapping[str, str]) -> Json:
    """The part with these annotations added; existing ones of the same name are replaced."""
    return with_metadata(part, annotations={**annotations(part), **texts})


def with_metadata(part: Json, **fields: object) -> Json:
    """The part with these fields of its metadata replaced."""
    return part | {"metadata": (part.get("metadata") or {}) | fields}


def with_spec(part: Json, **fields: object) -> Json:
    """The part with these fields of its spec replaced."""
    return part | {"spec": (part.get("spec") or {}) | fields}


def pod_of(manifest: Json) -> Json:
    """A bare pod itself, or a Job's pod template."""
    return manifest if manifest.get("kind") == "Pod" else template(manifest)


def template(job: Json) -> Json:
    return (job.get("spec") or {}).get("template") or {}


def with_first_container(pod: Json, **fields: object) -> Json:
    """The pod spec with these fields of its first container replaced."""
    first, *others = pod["containers"]
    return pod | {"containers": [first | fields, *others]}
