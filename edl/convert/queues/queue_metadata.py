"""Names of queues; what else their metadata says concerns the old objects."""

from edl.convert.parts import object_metadata
from edl.convert.tracked_object import Fields


def name_of(document: Fields) -> tuple[str, str]:
    """(namespace, name); a missing name is reported."""
    document.value("apiVersion")
    document.value("kind")
    found = object_metadata.read(document)
    if found.labels or found.annotations:
        document.note("metadata", "left out its labels and annotations: a team has none")
    if "ownerReferences" in found.others:
        document.note("metadata", "left out its owners: a team has none")
    if not found.name:
        document.wrong("metadata", "has no name", "set metadata.name, as it is in the cluster")
    return found.namespace, found.name
