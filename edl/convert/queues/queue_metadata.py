"""Names of queues; a team has nothing for the rest of their metadata and status."""

from edl.convert.tracked_object import Fields


def name_of(document: Fields) -> tuple[str, str]:
    """(namespace, name); a missing name is reported."""
    document.value("apiVersion")
    document.value("kind")
    if document.value("status") is not None:
        document.note("", "left out status: describes the old object")
    metadata = document.fields("metadata")
    namespace, name = metadata.text("namespace"), metadata.text("name")
    others = metadata.names()
    for other in others:
        metadata.value(other)
    if others:
        document.note("metadata", f"left out {', '.join(others)}: teams have no counterpart")
    if not name:
        document.wrong("metadata", "has no name", "set metadata.name, as it is in the cluster")
    return namespace, name
