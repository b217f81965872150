"""Discovery: which kinds an API server serves, by its own lists of groups and resources."""

from collections.abc import Callable
from typing import Final

import msgspec

from edl.errors import NotFound
from edl.kube.cluster import ApiResource


class _Version(msgspec.Struct):
    groupVersion: str  # noqa: N815 - the API's name


class _Group(msgspec.Struct):
    versions: list[_Version]


class _Groups(msgspec.Struct):
    groups: list[_Group]


class _Resource(msgspec.Struct):
    name: str


class _Resources(msgspec.Struct):
    resources: list[_Resource]


_groups: Final = msgspec.json.Decoder(_Groups)
_resources: Final = msgspec.json.Decoder(_Resources)


def serves(resource: ApiResource, read: Callable[[str], bytes]) -> bool:
    """Whether discovery lists the resource, which is of a named group; `read` gets a path.

    Only a list without it counts as False: a proxy may answer 404 for every path. Raises
    ClusterError.
    """
    groups = _groups.decode(read("/apis")).groups
    if resource.api_version not in {one.groupVersion for group in groups for one in group.versions}:
        return False
    try:
        served = _resources.decode(read(f"/apis/{resource.api_version}")).resources
    except NotFound:  # of a group that the server has just listed
        return True
    return resource.plural in {entry.name for entry in served}
