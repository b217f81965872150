"""The only interface to Kubernetes: `Cluster`, which `ApiClient` and `FakeCluster` implement.

The same contract tests run on both. Objects go in and out as plain JSON dictionaries; every method
raises the errors of `edl.errors`.
"""

from __future__ import annotations

from typing import (
    TYPE_CHECKING,
    Any,
    Final,
    Generic,
    Literal,
    NamedTuple,
    Protocol,
    TypeAlias,
    TypeVar,
)

import msgspec

from edl.errors import NotFound

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from datetime import datetime, timedelta

    from edl.model import ObjectRef
    from edl.writes import Json


T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class ObjectKey(NamedTuple):
    """The identity of an object within its kind; `namespace` is empty for cluster-scoped kinds."""

    namespace: str
    name: str


class Delta(NamedTuple, Generic[T]):
    """The change of one object: `before` is None if it is new, `after` if it is gone."""

    key: ObjectKey
    before: T | None
    after: T | None

    def signed(self) -> Iterable[tuple[T, int]]:
        """The object before, with -1, and after, with 1: what indexes subtract and add."""
        before, after = self.before, self.after
        if before is None:
            return () if after is None else ((after, 1),)
        return ((before, -1),) if after is None else ((before, -1), (after, 1))


class ApiResource(msgspec.Struct, frozen=True):
    """The API path of a kind; `group` is empty for core/v1."""

    kind: str
    group: str
    version: str
    plural: str
    namespaced: bool = True
    optional: bool = False
    """Clusters may lack the kind: it then counts as empty."""
    dispensable: bool = False
    """If the kind may not be read, it counts as not served."""

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version


def _plural(kind: str) -> str:
    """The plural that apimachinery guesses; metrics-server's kinds are exceptions."""
    name = kind.lower()
    if name.endswith("metrics"):
        return f"{name.removesuffix('metrics')}s"
    if name.endswith("s"):
        return f"{name}es"
    return f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"


def _served(api_version: str, kinds: str, wide: str = "", **marks: bool) -> list[ApiResource]:
    """`kinds` are namespaced, those of `wide` are cluster-scoped; `marks` apply to all of them."""
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
        # Reviews: the response is the answer, and nothing is stored.
        *_served("authentication.k8s.io/v1", "", "SelfSubjectReview"),
        *_served("authorization.k8s.io/v1", "", "SelfSubjectAccessReview SubjectAccessReview"),
        # Dynamic resource allocation.
        *_served(
            "resource.k8s.io/v1",
            "ResourceClaim ResourceClaimTemplate",
            "ResourceSlice DeviceClass",
            optional=True,
        ),
        # Kinds of node autoscalers.
        *_served("karpenter.sh/v1", "", "NodePool", optional=True, dispensable=True),
        *_served("autoscaling.x-k8s.io/v1", "ProvisioningRequest", optional=True, dispensable=True),
    )
}


class ListOptions(msgspec.Struct, frozen=True):
    """Selects objects of a kind, in all namespaces if `namespace` is empty."""

    kind: str
    namespace: str = ""
    labels: str = ""
    """A label selector in the API's syntax."""
    name: str = ""
    """Only the object of this name: RBAC may grant the list for it alone."""
    fields: str = ""
    """A field selector in the API's syntax; each kind supports few fields."""


class RawList(msgspec.Struct, frozen=True):
    """A list; each item is undecoded JSON without apiVersion and kind.

    A watch starts at `version`.
    """

    items: tuple[bytes, ...]
    version: str

    def manifests(self) -> list[Json]:
        """The items, decoded."""
        return [msgspec.json.decode(item) for item in self.items]


class RawEvent(msgspec.Struct, frozen=True):
    """One watch event; `object` is undecoded JSON."""

    type: Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]
    object: bytes


class LogRequest(msgspec.Struct, frozen=True):
    """Selects lines of a container's log; by default all lines so far."""

    pod: ObjectRef
    container: str
    follow: bool = False
    """Continue until the container ends."""
    previous: bool = False
    """The log of the previous container, before the last restart."""
    tail: int | None = None
    since: int | None = None
    """Seconds back from now."""
    after: str = ""
    """RFC 3339. The API only knows whole seconds, so earlier lines of that second are repeated."""


class Stream(Protocol[T_co]):
    """Events or lines as they arrive, until the server ends them, or `close`, from any thread."""

    def __iter__(self) -> Iterator[T_co]:
        """Raises Unreachable on a broken connection, Gone if a watch's version is too old."""
        ...

    def close(self) -> None: ...


Watch: TypeAlias = Stream[RawEvent]
Log: TypeAlias = Stream[str]
"""Lines of a log without newlines; each begins with an RFC 3339 time and a space."""


class Cluster(Protocol):
    """The operations of an API server that kubectl-edl uses."""

    @property
    def system_namespace(self) -> str:
        """The namespace in which kubectl-edl is installed."""

    def get(self, target: ObjectRef) -> Json: ...

    def list(self, selection: ListOptions) -> RawList: ...

    def pages(self, selection: ListOptions) -> Iterator[RawList]:
        """The same list in pages of one version. Raises Gone if reading took too long."""
        ...

    def watch(self, selection: ListOptions, version: str) -> Watch:
        """Events after `version`. Raises Gone if that version is too old."""
        ...

    def create(
        self, target: ObjectRef, manifest: Mapping[str, Any], *, dry_run: bool = False
    ) -> Json:
        """Raises AlreadyExists. `generateName` needs a target without a name."""
        ...

    def patch(self, target: ObjectRef, body: Mapping[str, Any], *, dry_run: bool = False) -> Json:
        """Applies a JSON merge patch, with `metadata.resourceVersion` as its precondition."""
        ...

    def add_condition(self, target: ObjectRef, condition: Mapping[str, str], version: str) -> Json:
        """Adds a condition to the status of a pod at this `version`, or replaces its own type's."""
        ...

    def delete(self, target: ObjectRef, *, version: str = "", uid: str = "") -> None:
        """Deletes in the background (never orphans).

        `version` and `uid`, if given, are preconditions.
        """
        ...

    def serves(self, kind: str) -> bool:
        """Whether the API server lists the kind, of a named group, among what it serves."""
        ...

    def clock_ahead(self) -> timedelta:
        """How far the API server's clock is ahead of this machine's, by its answers so far."""
        ...


def find(cluster: Cluster, target: ObjectRef) -> Json | None:
    """The object, or None if it does not exist. Raises the other errors of the API server."""
    try:
        return cluster.get(target)
    except NotFound:
        return None


def server_time(cluster: Cluster, now: datetime) -> datetime:
    """The API server's time at this machine's `now`: objects have times that the server wrote."""
    return now + cluster.clock_ahead()


class PluginCluster(Cluster, Protocol):
    """Further operations that the plugin uses."""

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
        """Server-side apply: creates the object, or sets the fields of `manifest`.

        Raises Conflict if another manager owns a field with another value, unless `force`.
        """
        ...

    def log(self, wanted: LogRequest) -> Log:
        """Raises Invalid before the container has started, and if there is no previous one."""
        ...

    def version(self) -> str:
        """The API server's release: `v1.36.3`."""
        ...

    def without_warnings(self) -> PluginCluster:
        """For writes that only ask: the API server's warnings about them concern no user."""
        ...
