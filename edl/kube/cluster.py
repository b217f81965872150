"""The one seam to Kubernetes: `Cluster`. Two things implement it, `ApiServer` and `FakeCluster`.

The same contract tests run on both. Objects go in and out as plain JSON dictionaries; every method
raises the errors of `edl.errors`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol

from edl.model import Target
from edl.writes import Json


@dataclass(frozen=True, slots=True)
class Resource:
    """Where a kind lives in the API: `group` is empty for core/v1."""

    kind: str
    group: str
    version: str
    plural: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version


RESOURCES: Final[Mapping[str, Resource]] = {
    resource.kind: resource
    for resource in (
        Resource("Node", "", "v1", "nodes", namespaced=False),
        Resource("Namespace", "", "v1", "namespaces", namespaced=False),
        Resource("Pod", "", "v1", "pods"),
        Resource("Service", "", "v1", "services"),
        Resource("ServiceAccount", "", "v1", "serviceaccounts"),
        Resource("Secret", "", "v1", "secrets"),
        Resource("Event", "", "v1", "events"),
        Resource("ResourceQuota", "", "v1", "resourcequotas"),
        Resource("LimitRange", "", "v1", "limitranges"),
        Resource("Job", "batch", "v1", "jobs"),
        Resource("PodDisruptionBudget", "policy", "v1", "poddisruptionbudgets"),
        Resource("RoleBinding", "rbac.authorization.k8s.io", "v1", "rolebindings"),
        Resource("Lease", "coordination.k8s.io", "v1", "leases"),
        Resource("PriorityClass", "scheduling.k8s.io", "v1", "priorityclasses", namespaced=False),
        Resource(
            "MutatingWebhookConfiguration",
            "admissionregistration.k8s.io",
            "v1",
            "mutatingwebhookconfigurations",
            namespaced=False,
        ),
        Resource(
            "ValidatingWebhookConfiguration",
            "admissionregistration.k8s.io",
            "v1",
            "validatingwebhookconfigurations",
            namespaced=False,
        ),
    )
}


@dataclass(frozen=True, slots=True)
class Selection:
    """Which objects of a kind: all namespaces when `namespace` is empty."""

    kind: str
    namespace: str = ""
    labels: str = ""
    """A label selector, as the API spells it."""


@dataclass(frozen=True, slots=True)
class RawListing:
    """A list; each item is undecoded JSON without apiVersion and kind. Watch from `version`."""

    items: tuple[bytes, ...]
    version: str


@dataclass(frozen=True, slots=True)
class RawEvent:
    """One watch event; `object` is undecoded JSON."""

    type: Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]
    object: bytes


class Watch(Protocol):
    """A running watch. Iteration ends when the server or `close`, from any thread, ends it."""

    def __iter__(self) -> Iterator[RawEvent]:
        """Raise Gone when the version is too old, Unreachable when the connection breaks."""
        ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class LogRequest:
    """Which lines of a container's log; the default is all of them, and then the end."""

    pod: Target
    container: str
    follow: bool = False
    """Go on until the container ends."""
    previous: bool = False
    """Of the container that ran before the last restart."""
    tail: int | None = None
    since: int | None = None
    """Seconds back."""
    after: str = ""
    """RFC 3339; the API knows whole seconds only, so earlier lines of that one come again."""


class Log(Protocol):
    """A log: lines without their ends, each begins with its RFC 3339 time and a blank."""

    def __iter__(self) -> Iterator[str]:
        """Raise Unreachable when the connection breaks."""
        ...

    def close(self) -> None: ...


class Cluster(Protocol):
    """What kubectl-edl asks of an API server."""

    def get(self, target: Target) -> Json: ...

    def list(self, selection: Selection) -> RawListing: ...

    def pages(self, selection: Selection) -> Iterator[RawListing]:
        """The same list piece by piece, all of one version; raises Gone when it took too long."""
        ...

    def watch(self, selection: Selection, version: str) -> Watch:
        """Events after `version`; raises Gone when that is too old."""
        ...

    def create(self, target: Target, manifest: Mapping[str, Any], *, dry_run: bool = False) -> Json:
        """Raise Conflict when it exists already. `generateName` needs a target without a name."""
        ...

    def patch(self, target: Target, body: Mapping[str, Any], *, dry_run: bool = False) -> Json:
        """A JSON merge patch; `metadata.resourceVersion` in the body is its precondition."""
        ...

    def delete(self, target: Target, *, version: str = "") -> None:
        """Delete in the background (never orphan), only this version when one is given."""
        ...


class ClusterWithLogs(Cluster, Protocol):
    """What the plugin asks besides."""

    def log(self, wanted: LogRequest) -> Log:
        """Raise Invalid before the container has started, and without a previous one."""
        ...
