"""Jobs that were handed back to their users, and stay ordinary Jobs."""

from collections.abc import Mapping

from edl import contract
from edl.contract.manifest_parts import (
    annotations,
    has_our_prefix,
    labels,
    metadata,
    namespace_option,
    template,
    with_metadata,
)
from edl.frameworks import FRAMEWORKS
from edl.writes import Json


def is_handed_back(new: Json, old: Json) -> bool:
    """Whether the update removes all labels and annotations of ours, to release the Job."""
    names = (*labels(new), *annotations(new))
    stays = any(has_our_prefix(name) for name in names)
    return contract.FRAMEWORK in labels(old) and not stays


def is_released(job: Json) -> bool:
    """Whether the Job was released: its immutable parts still show that we managed it.

    These are the pod template's labels (`edl.dev/job` is absent under generateName) and, for ranked
    pods, completionMode Indexed. A user's own labels on the template do not suffice.
    """
    pod_labels = labels(template(job))
    framework = FRAMEWORKS.get(pod_labels.get(contract.FRAMEWORK, ""))
    if framework is None or contract.FRAMEWORK in labels(job) or contract.ROLE not in pod_labels:
        return False
    named = contract.JOB in pod_labels or "generateName" in metadata(job)
    indexed = (job.get("spec") or {}).get("completionMode") == "Indexed"
    return named and (indexed or not framework.ranked)


def still_released(job: Json) -> tuple[Json, tuple[str, ...]]:
    """An update of a released Job that brings our labels back: the Job without them, and a warning.

    The API server copies the template's labels to a Job that is sent without labels (batch/v1,
    SetDefaults_Job). A file with our labels looks the same, so both are treated alike.
    """
    name = metadata(job).get("name", "")
    rest, notes = _some_label(job, labels(job)), _foreign(annotations(job))
    warning = (
        f"{name} was released and stays an ordinary Job, without names of "
        f"{contract.PREFIX}: kubectl edl release -f FILE removes them from its file, "
        f"kubectl edl adopt -f FILE … | kubectl replace --force{namespace_option(job)} -f - "
        "makes it elastic again"
    )
    return with_metadata(job, labels=rest, annotations=notes), (warning,)


def others_labels(job: Json) -> dict[str, str]:
    """The labels, except ours, that the API server would give to a Job without labels."""
    return _some_label(job, labels(template(job)))


def _some_label(job: Json, given: Mapping[str, str]) -> dict[str, str]:
    """The labels without ours. If none is left, one that prevents the API server's default."""
    usual = {contract.JOB_NAME_LABEL: metadata(job).get("name", "")}
    return _foreign(given) or usual


def _foreign(entries: Mapping[str, str]) -> dict[str, str]:
    return {name: text for name, text in entries.items() if not has_our_prefix(name)}
