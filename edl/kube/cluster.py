"""The one seam to Kubernetes: `Cluster`. Two things implement it, `ApiClient` and `FakeCluster`.

The same contract tests run on both. Objects go in and out as plain JSON dictionaries; every method
raises the errors of `edl.errors`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Generic, Literal, NamedTuple, Protocol, TypeVar

import msgspec

from edl.errors import NotFound

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import timedelta

    from edl.model import ObjectRef
    from edl.writes import Json


T = TypeVar("T")


class ObjectKey(NamedTuple):
    """`namespace` is empty for kinds without."""

    namespace: str
    name: str


class Delta(NamedTuple, Generic[T]):
    """What became of one object: None before it was known, and when it is gone."""

    name: ObjectKey
    before: T | None
    after: T | None


class ApiResource(msgspec.Struct, frozen=True):
    """Where a kind lives in the API: `group` is empty for core/v1."""

    kind: str
    group: str
    version: str
    plural: str
    namespaced: bool = True
    optional: bool = False
    """Not every cluster serves it: there is none of it then."""
    dispensable: bool = False
    """Where it may not be read it counts as not served."""

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version


def _plural(kind: str) -> str:
    """As apimachinery guesses it; metrics-server's kinds are the exceptions."""
    name = kind.lower()
    if name.endswith("metrics"):
        return f"{name.removesuffix('metrics')}s"
    if name.endswith("s"):
        return f"{name}es"
    return f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"


def _served(api_version: str, kinds: str, wide: str = "", **marks: bool) -> list[ApiResource]:
    """`kinds` belong to namespaces, those of `wide` do not; `marks` hold for all of them."""
    group, _, version = api_version.rpartition("/")
    return [
        ApiResource(kind, group, version, _plural(kind), namespaced, **marks)
        for namespaced, names in ((True, kinds), (False, wide))
        for kind in names.split()
    ]


RESOURCES: Final[Mapping[str, ApiResource]] = {
    resource.kind: resource
    for resource in (
        *_served(
            "v1", "Pod Service ServiceAccount Secret Event ConfigMap PodTemplate", "Node Namespace"
        ),
        *_served("v1", "ResourceQuota LimitRange PersistentVolumeClaim"),
        *_served("batch/v1", "Job CronJob"),
        *_served("policy/v1", "PodDisruptionBudget"),
        *_served("coordination.k8s.io/v1", "Lease"),
        *_served("apps/v1", "Deployment"),
        *_served(
            "rbac.authorization.k8s.io/v1", "Role RoleBinding", "ClusterRole ClusterRoleBinding"
        ),
        *_served("metrics.k8s.io/v1beta1", "PodMetrics", "NodeMetrics"),
        *_served("networking.k8s.io/v1", "NetworkPolicy"),
        *_served("cert-manager.io/v1", "Issuer Certificate"),
        *_served("monitoring.coreos.com/v1", "ServiceMonitor PrometheusRule"),
        *_served("scheduling.k8s.io/v1", "", "PriorityClass"),
        *_served("node.k8s.io/v1", "", "RuntimeClass"),
        *_served(
            "admissionregistration.k8s.io/v1",
            "",
            "MutatingWebhookConfiguration ValidatingWebhookConfiguration "
            "ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding",
        ),
        # Questions: what is created is an answer, and nothing is stored.
        *_served("authentication.k8s.io/v1", "", "SelfSubjectReview"),
        *_served("authorization.k8s.io/v1", "", "SelfSubjectAccessReview SubjectAccessReview"),
        # Dynamic resource allocation.
        *_served(
            "resource.k8s.io/v1",
            "ResourceClaim ResourceClaimTemplate",
            "ResourceSlice DeviceClass",
            optional=True,
        ),
        # What autoscalers of nodes bring along.
        *_served("karpenter.sh/v1", "", "NodePool", optional=True, dispensable=True),
        *_served("autoscaling.x-k8s.io/v1", "ProvisioningRequest", optional=True, dispensable=True),
    )
}


class ListOptions(msgspec.Struct, frozen=True):
    """Which objects of a kind: all namespaces when `namespace` is empty."""

    kind: str
    namespace: str = ""
    labels: str = ""
    """A label selector, as the API spells it."""
    name: str = ""
    """Only objects of this name: a right may be limited to it."""
    about: str = ""
    """Only Events about objects of this name."""


class RawList(msgspec.Struct, frozen=True):
    """A list; each item is undecoded JSON without apiVersion and kind. Watch from `version`."""

    items: tuple[bytes, ...]
    version: str


class RawEvent(msgspec.Struct, frozen=True):
    """One watch event; `object` is undecoded JSON."""

    type: Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]
    object: bytes


class Watch(Protocol):
    """A running watch. Iteration ends when the server or `close`, from any thread, ends it."""

    def __iter__(self) -> Iterator[RawEvent]:
        """Raise Gone when the version is too old, Unreachable when the connection breaks."""
        ...

    def close(self) -> None: ...


class LogRequest(msgspec.Struct, frozen=True):
    """Which lines of a container's log; the default is all of them, and then the end."""

    pod: ObjectRef
    container: str
    follow: bool = False
    """Go on until the container ends."""
    previous: bool = False
    """Logs of the container that ran before the last restart."""
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

    @property
    def system_namespace(self) -> str:
        """Where kubectl-edl is installed in this cluster."""

    def get(self, target: ObjectRef) -> Json: ...

    def list(self, selection: ListOptions) -> RawList: ...

    def pages(self, selection: ListOptions) -> Iterator[RawList]:
        """The same list piece by piece, all of one version; raises Gone when it took too long."""
        ...

    def watch(self, selection: ListOptions, version: str) -> Watch:
        """Events after `version`; raises Gone when that is too old."""
        ...

    def create(
        self, target: ObjectRef, manifest: Mapping[str, Any], *, dry_run: bool = False
    ) -> Json:
        """Raise Conflict when it exists already. `generateName` needs a target without a name."""
        ...

    def patch(self, target: ObjectRef, body: Mapping[str, Any], *, dry_run: bool = False) -> Json:
        """A JSON merge patch; `metadata.resourceVersion` in the body is its precondition."""
        ...

    def delete(self, target: ObjectRef, *, version: str = "", uid: str = "") -> None:
        """Delete in the background (never orphan), only this version and this uid where given."""
        ...


def find(cluster: Cluster, target: ObjectRef) -> Json | None:
    """None where there is none. Raises the other errors of the API server."""
    try:
        return cluster.get(target)
    except NotFound:
        return None


class PluginCluster(Cluster, Protocol):
    """What the plugin asks besides."""

    def delete(
        self, target: ObjectRef, *, version: str = "", uid: str = "", dry_run: bool = False
    ) -> None: ...

    def apply(
        self,
        target: ObjectRef,
        manifest: Mapping[str, Any],
        *,
        force: bool = False,
        dry_run: bool = False,
    ) -> Json:
        """Server-side apply: create it, or make it say what `manifest` says.

        Raise Conflict if another manager owns a field with another value, unless `force`.
        """
        ...

    def log(self, wanted: LogRequest) -> Log:
        """Raise Invalid before the container has started, and without a previous one."""
        ...

    def version(self) -> str:
        """The API server's release: `v1.36.3`."""
        ...

    def clock_ahead(self) -> timedelta:
        """How far the API server's clock is ahead of this machine's, by its last answer."""
        ...
