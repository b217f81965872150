"""Parts of a Job, a bare pod or a pod template; an absent part is empty."""

from collections.abc import Mapping
from typing import Final

from edl.writes import Json

JOB_TEMPLATE: Final = "spec.jobTemplate"
"""The path of the metadata and spec of a CronJob's Jobs."""


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


def job_template(cron_job: Json) -> Json | None:
    """A CronJob's jobTemplate; None if it is not an object."""
    spec = cron_job.get("spec")
    found = spec.get("jobTemplate") if isinstance(spec, dict) else None
    return found if isinstance(found, dict) else None


def made_job(cron_job: Json) -> Json:
    """A Job as the CronJob creates it, with the name of the first one in 1970.

    The API server gives a Job without labels those of its pods (batch/v1, SetDefaults_Job).
    """
    made = cron_job["spec"]["jobTemplate"]
    above, own = cron_job.get("metadata") or {}, made.get("metadata") or {}
    metadata = {
        "name": f"{above.get('name') or ''}-00000000",
        "namespace": above.get("namespace"),
        "labels": own.get("labels") or labels(template(made)),
        "annotations": own.get("annotations"),
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {name: value for name, value in metadata.items() if value},
        "spec": made.get("spec") or {},
    }


def with_first_container(pod: Json, **fields: object) -> Json:
    """The pod spec with these fields of its first container replaced."""
    first, *others = pod["containers"]
    return pod | {"containers": [first | fields, *others]}
