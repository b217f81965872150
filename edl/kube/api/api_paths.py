"""Builds the API's paths. No other module does: no name, whatever it contains, changes the path."""

from typing import Final
from urllib.parse import quote

from edl.errors import Invalid
from edl.kube.cluster import RESOURCES

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
