"""The one seam to Kubernetes: `Cluster`. Two things implement it, `ApiServer` and `FakeCluster`.

The same contract tests run on both. Objects go in and out as plain JSON dictionaries; every method
raises the errors of `edl.errors`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import timedelta

    from edl.model import Target
    from edl.writes import Json


class Resource(msgspec.Struct, frozen=True):
    """Where a kind lives in the API: `group` is empty for core/v1."""

    kind: str
    group: str
    version: str
    plural: str
    namespaced: bool = True
    optional: bool = False
    """Not every cluster serves it: there is none of it then."""

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
        Resource("PersistentVolumeClaim", "", "v1", "persistentvolumeclaims"),
        Resource("Job", "batch", "v1", "jobs"),
        Resource("CronJob", "batch", "v1", "cronjobs"),
        Resource("PodDisruptionBudget", "policy", "v1", "poddisruptionbudgets"),
        Resource("RoleBinding", "rbac.authorization.k8s.io", "v1", "rolebindings"),
        Resource("Lease", "coordination.k8s.io", "v1", "leases"),
        Resource("Deployment", "apps", "v1", "deployments"),
        Resource("PodMetrics", "metrics.k8s.io", "v1beta1", "pods"),
        Resource("NodeMetrics", "metrics.k8s.io", "v1beta1", "nodes", namespaced=False),
        # What an installation of ours consists of besides.
        Resource("ConfigMap", "", "v1", "configmaps"),
        Resource("Role", "rbac.authorization.k8s.io", "v1", "roles"),
        *(
            Resource(kind, "rbac.authorization.k8s.io", "v1", f"{kind.lower()}s", namespaced=False)
            for kind in ("ClusterRole", "ClusterRoleBinding")
        ),
        Resource("NetworkPolicy", "networking.k8s.io", "v1", "networkpolicies"),
        Resource("Issuer", "cert-manager.io", "v1", "issuers"),
        Resource("Certificate", "cert-manager.io", "v1", "certificates"),
        Resource("ServiceMonitor", "monitoring.coreos.com", "v1", "servicemonitors"),
        Resource("PrometheusRule", "monitoring.coreos.com", "v1", "prometheusrules"),
        # Questions: what is created is an answer, and nothing is stored.
        *(
            Resource(kind, group, "v1", f"{kind.lower()}s", namespaced=False)
            for group, kind in (
                ("authentication.k8s.io", "SelfSubjectReview"),
                ("authorization.k8s.io", "SelfSubjectAccessReview"),
                ("authorization.k8s.io", "SubjectAccessReview"),
            )
        ),
        # Dynamic resource allocation.
        *(
            Resource(kind, "resource.k8s.io", "v1", plural, namespaced, optional=True)
            for kind, plural, namespaced in (
                ("ResourceSlice", "resourceslices", False),
                ("DeviceClass", "deviceclasses", False),
                ("ResourceClaim", "resourceclaims", True),
                ("ResourceClaimTemplate", "resourceclaimtemplates", True),
            )
        ),
        Resource("PriorityClass", "scheduling.k8s.io", "v1", "priorityclasses", namespaced=False),
        Resource("RuntimeClass", "node.k8s.io", "v1", "runtimeclasses", namespaced=False),
        Resource(
            "ValidatingAdmissionPolicy",
            "admissionregistration.k8s.io",
            "v1",
            "validatingadmissionpolicies",
            namespaced=False,
        ),
        Resource(
            "ValidatingAdmissionPolicyBinding",
            "admissionregistration.k8s.io",
            "v1",
            "validatingadmissionpolicybindings",
            namespaced=False,
        ),
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


class Selection(msgspec.Struct, frozen=True):
    """Which objects of a kind: all namespaces when `namespace` is empty."""

    kind: str
    namespace: str = ""
    labels: str = ""
    """A label selector, as the API spells it."""


class RawListing(msgspec.Struct, frozen=True):
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

    def delete(self, target: Target, *, version: str = "", uid: str = "") -> None:
        """Delete in the background (never orphan), only this version and this uid where given."""
        ...


class ClusterWithLogs(Cluster, Protocol):
    """What the plugin asks besides."""

    def delete(
        self, target: Target, *, version: str = "", uid: str = "", dry_run: bool = False
    ) -> None: ...

    def apply(
        self,
        target: Target,
        manifest: Mapping[str, Any],
        *,
        force: bool = False,
        dry_run: bool = False,
    ) -> Json:
        """Server-side apply: create it, or make it say what `manifest` says.

        Raise Conflict when somebody else has written a field otherwise, unless `force`.
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
