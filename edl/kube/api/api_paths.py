"""Builds the API's paths and queries. No other module does: no name changes the path."""

from typing import Final
from urllib.parse import quote

from edl.errors import Invalid
from edl.kube.cluster import RESOURCES, ListOptions, LogRequest

_DOTS: Final = frozenset({".", ".."})


def resource_path(kind: str, namespace: str = "", *below: str) -> str:
    """The path of a collection, or of what is `below` it: an object's name and a subresource.

    Without a namespace, the collection spans all namespaces. Raises Invalid for an empty name, and
    for names that client-go refuses too (rest.IsValidPathSegmentName).
    """
    resource = RESOURCES[kind]
    root = ("apis", resource.group) if resource.group else ("api",)
    scoped = resource.namespaced and (namespace or below)
    names = ("namespaces", namespace) if scoped else ()
    segments = (*root, resource.version, *names, resource.plural, *below)
    return "".join(f"/{_escaped(segment, kind)}" for segment in segments)


def _escaped(segment: str, kind: str) -> str:
    """The escaped segment.

    Proxies resolve dot segments and `%2F`, so escaping alone would not be safe. Raises Invalid.
    """
    if not segment or segment in _DOTS or "/" in segment or "%" in segment:
        raise Invalid(f'{kind}: "{segment}" names no object; a name has no "/" and no "%"')
    return quote(segment, safe="", errors="surrogatepass")


def list_query(selection: ListOptions) -> dict[str, str]:
    """The query parameters that select objects."""
    named = f"metadata.name={selection.name}" if selection.name else ""
    query = {
        "labelSelector": selection.labels,
        "fieldSelector": ",".join(filter(None, (named, selection.fields))),
    }
    return {name: value for name, value in query.items() if value}


def log_query(wanted: LogRequest) -> dict[str, str]:
    """The query parameters that select lines of a log."""
    query = {
        "container": wanted.container,
        "timestamps": "true",
        "follow": "true" if wanted.follow else "",
        "previous": "true" if wanted.previous else "",
        "tailLines": "" if wanted.tail is None else str(wanted.tail),
        "sinceSeconds": "" if wanted.since is None else str(wanted.since),
        "sinceTime": wanted.after,
    }
    return {name: value for name, value in query.items() if value}
