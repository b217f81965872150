"""The types of an installation's values: what Kubernetes accepts in such places."""

from typing import Annotated, TypeAlias

from msgspec import Meta

from manifests.planning import says

ResourceQuantity: TypeAlias = (
    Annotated[str, Meta(pattern=r"^([0-9]+\.?|[0-9]*\.[0-9]+)([EPTGMK]i|[EPTGMk]|m)?\Z")]
    | Annotated[int, Meta(ge=0)]
)
QualifiedName: TypeAlias = Annotated[
    str,
    Meta(
        pattern=r"^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[a-zA-Z0-9]([-a-zA-Z0-9_.]*[a-zA-Z0-9])?\Z",
        max_length=317,
    ),
]
"""The key of a label, an annotation or a resource."""
LabelValue: TypeAlias = Annotated[
    str, Meta(pattern=r"^([a-zA-Z0-9]([-a-zA-Z0-9_.]*[a-zA-Z0-9])?)?\Z", max_length=63)
]
LabelMap: TypeAlias = dict[QualifiedName, LabelValue]
PrintableText: TypeAlias = Annotated[str, Meta(pattern=r"^[^\x00-\x08\x0b-\x1f\x7f-\x9f]*\Z")]
"""Text without control characters other than tabs and line breaks."""
ResourceQuantities: TypeAlias = dict[QualifiedName, ResourceQuantity]
Port: TypeAlias = Annotated[int, Meta(ge=1, le=65535)]
Cidr: TypeAlias = Annotated[
    str,
    Meta(
        pattern=r"^([0-9]{1,3}(\.[0-9]{1,3}){3}/([12]?[0-9]|3[0-2])"
        r"|[0-9a-fA-F.]*:[0-9a-fA-F.:]*/([1-9]?[0-9]|1[01][0-9]|12[0-8]))\Z"
    ),
]
ObjectName: TypeAlias = Annotated[
    str, Meta(pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?\Z", max_length=63)
]
Subdomain: TypeAlias = Annotated[
    str, Meta(pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?\Z", max_length=253)
]
CertificateName: TypeAlias = Annotated[
    str, Meta(pattern=r"^[^\x00-\x1f\x7f-\x9f$]+\Z", max_length=253)
]
"""Text without `$`, with which a container's arguments refer to variables."""
GroupName: TypeAlias = Annotated[str, Meta(pattern=r"^[^\x00-\x1f\x7f-\x9f]+\Z", max_length=253)]
Url: TypeAlias = Annotated[
    str, Meta(pattern=r"^(https?://[-a-zA-Z0-9._~:/?@!&()*+,;=%'\[\]]+)?\Z", max_length=2000)
]
"""A URL, or empty. Without `#`, for a fragment is appended, and braces, which alerts evaluate."""
Replicas: TypeAlias = Annotated[
    int,
    says(
        "At least 2, so that one stays available; at most what the quota `edl-critical-pods`"
        " admits.",
        ge=2,
        le=8,
    ),
]
