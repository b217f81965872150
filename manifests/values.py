"""The values of an installation, defined once for the Helm chart and for `kubectl edl install`.

The chart's values.yaml, its schema and its README are generated from this module.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal, TypeAlias, get_args

import msgspec
from msgspec import Meta

from edl.errors import EdlError
from edl.patches.merge_patch import merged
from edl.writes import Json
from manifests.planning import CHOICES, ImageReference, Part, Planning, says

LogLevel: TypeAlias = Literal["debug", "info", "warning", "error"]
ResourceQuantity: TypeAlias = (
    Annotated[str, Meta(pattern=r"^[0-9.]+([EPTGMk]i?|m)?\Z")] | Annotated[int, Meta(ge=0)]
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
Cidr: TypeAlias = Annotated[str, Meta(pattern=r"^[0-9a-fA-F.:]+/[0-9]{1,3}\Z")]
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
Url: TypeAlias = Annotated[
    str, Meta(pattern=r"^(https?://[-a-zA-Z0-9._~:/?@!&()*+,;=%'\[\]]+)?\Z", max_length=2000)
]
"""A URL, or empty. Without `#`, for a fragment is appended, and braces, which alerts evaluate."""
Replicas: TypeAlias = Annotated[
    int,
    says(
        "Two at least: one of them is always there. At most as the quota `edl-critical-pods`"
        " admits.",
        ge=2,
        le=8,
    ),
]


class ContainerResources(Part, frozen=True):
    """As a container's `resources`."""

    requests: Annotated[ResourceQuantities, says("What the scheduler sets aside.")]
    limits: Annotated[ResourceQuantities, says("No CPU limit: it would only add latency.")]


class ClientCertificate(Part, frozen=True):
    """Client certificates of the API servers, where they can be configured."""

    enabled: Annotated[
        bool,
        says(
            "Demand one. Make the ConfigMap edl-webhook-clients (ca.crt) in edl-system"
            " and set up the API servers first: docs/operations/webhook-access.md."
        ),
    ] = False
    names: Annotated[
        tuple[CertificateName, ...],
        says(
            "Common names, DNS names or URIs, one of which it must carry. None: any"
            " certificate of that authority will do."
        ),
    ] = ("kube-apiserver-webhooks",)


class Webhook(Part, frozen=True):
    """The webhook's pods."""

    replicas: Replicas = 2
    resources: Annotated[ContainerResources, says("Resources of each pod.")] = ContainerResources(
        requests={"cpu": "100m", "memory": "128Mi"}, limits={"memory": "384Mi"}
    )
    client_certificate: Annotated[ClientCertificate, says("Only the API server may call.")] = (
        ClientCertificate()
    )


class Reconciler(Part, frozen=True):
    """The reconciler's pods, one of which leads."""

    replicas: Replicas = 2
    resources: Annotated[ContainerResources, says("Resources of each pod.")] = ContainerResources(
        requests={"cpu": "200m", "memory": "256Mi"}, limits={"memory": "1Gi"}
    )
    planning: Annotated[Planning, says("How it decides; see docs/concepts/policies.md.")] = (
        Planning()
    )


class PodSettings(Part, frozen=True):
    """Where the pods of both run, and what other programs are told about them."""

    node_selector: Annotated[LabelMap, says("Labels of the nodes that may run them.")] = (
        msgspec.field(default_factory=dict)
    )
    tolerations: Annotated[
        tuple[dict[str, Any], ...], says("As in a pod: taints that they tolerate.")
    ] = ()
    affinity: Annotated[
        dict[Literal["nodeAffinity", "podAffinity", "podAntiAffinity"], Any],
        says("As in a pod. They are spread over hosts and zones in any case."),
    ] = msgspec.field(default_factory=dict)
    priority_class_name: Annotated[Subdomain, says("They must run before what waits for them.")] = (
        "system-cluster-critical"
    )
    annotations: Annotated[
        dict[QualifiedName, PrintableText],
        says("Annotations of the pods: for meshes, collectors, and the like."),
    ] = msgspec.field(default_factory=dict)
    image_pull_secrets: Annotated[
        tuple[ObjectName, ...],
        says("Names of Secrets in edl-system, for a registry that asks for a login."),
    ] = ()


class NetworkPolicy(Part, frozen=True):
    """What may reach the pods of both, and what they reach."""

    enabled: Annotated[
        bool, says("Let in reviews, probes and metrics, out to the API server only.")
    ] = False
    api_server_blocks: Annotated[
        tuple[Cidr, ...],
        says(
            "The API server's addresses, such as 10.0.0.2/32: only these may send"
            " reviews, and be asked. Without: any address, for most clusters do not say which."
        ),
    ] = ()
    api_server_ports: Annotated[
        tuple[Port, ...],
        says("Where it listens, behind the Service `kubernetes`.", min_length=1),
    ] = (443, 6443)
    monitoring_namespaces: Annotated[
        tuple[ObjectName, ...], says("Whose pods may read the metrics.")
    ] = ("monitoring",)


class Monitoring(Part, frozen=True):
    """What the Prometheus operator and Grafana read."""

    enabled: Annotated[
        bool,
        says(
            "ServiceMonitors, alerts, and a dashboard for Grafana's sidecar: needs the"
            " Prometheus operator."
        ),
    ] = False
    labels: Annotated[
        LabelMap,
        says(
            "By which your Prometheus selects ServiceMonitors and rules, such as"
            " `release: prometheus`."
        ),
    ] = msgspec.field(default_factory=dict)
    runbook_url: Annotated[
        Url,
        says(
            "Address of the page docs/operations/runbook.md where you publish it: each"
            " alert's `runbook_url` is its section there. Without: alerts have no `runbook_url`,"
            " and `runbook` names the section."
        ),
    ] = ""


class Fence(Part, frozen=True):
    """What RBAC cannot say."""

    enabled: Annotated[
        bool,
        says(
            "Admission policies around the reconciler: training jobs only, no images,"
            " rights only where the namespace consents. false: RBAC alone."
        ),
    ] = True


class CertManager(Part, frozen=True):
    """cert-manager as the issuer of certificates."""

    enabled: Annotated[
        bool,
        says("cert-manager issues the webhook's certificate, not the reconciler."),
    ] = False


class Values(Part, frozen=True):
    """All that an installation may choose."""

    image: Annotated[
        ImageReference,
        says("Where the cluster finds the image. Launchers take kubectl from it, too."),
    ] = "kubectl-edl:0.1.0"
    log_level: Annotated[LogLevel, says("Log level of webhook and reconciler.")] = "info"
    webhook: Annotated[Webhook, says("Completes labelled Jobs and pods.")] = Webhook()
    reconciler: Annotated[Reconciler, says("Queues, starts, grows and shrinks training jobs.")] = (
        Reconciler()
    )
    pods: Annotated[PodSettings, says("The pods of both.")] = PodSettings()
    ignored_namespaces: Annotated[
        tuple[ObjectName, ...],
        says("Whose Jobs and pods never reach the webhook, besides kube-system and edl-system."),
    ] = ()
    network_policy: Annotated[
        NetworkPolicy, says("NetworkPolicies, where the network enforces them.")
    ] = NetworkPolicy()
    fence: Annotated[Fence, says("What RBAC cannot say about ours.")] = Fence()
    cert_manager: Annotated[CertManager, says("The issuer of the webhook's certificate.")] = (
        CertManager()
    )
    monitoring: Annotated[Monitoring, says("Metrics, alerts and a dashboard.")] = Monitoring()


DEFAULTS: Final = Values()


class ValuesError(EdlError):
    """A value that is not allowed; the message names its path."""


def read(given: Json) -> Values:
    """The given values, with defaults for all others, merged as by Helm. Raises ValuesError."""
    try:
        return msgspec.convert(merged(plain(DEFAULTS), given), Values)
    except msgspec.ValidationError as error:
        raise ValuesError(_taught(str(error))) from None


def unknown(names: Sequence[str]) -> str:
    """An error text for a path that names no value: `a.b: one of …`; empty if the path exists."""
    found: type[msgspec.Struct] | None = Values
    for place, name in enumerate(names):
        if found is None:
            return ""
        fields = {field.encode_name: field.type for field in msgspec.structs.fields(found)}
        if name not in fields:
            return f"{'.'.join(names[: place + 1])}: one of {', '.join(fields)}"
        kinds = (fields[name], *get_args(fields[name]))
        structs = (
            one for one in kinds if isinstance(one, type) and issubclass(one, msgspec.Struct)
        )
        found = next(structs, None)
    return ""


def planning_options() -> dict[str, str]:
    """The JSON type of each value under `reconciler.planning`."""
    schema = msgspec.json.schema(Planning)["$defs"][Planning.__name__]["properties"]
    return {name: about.get("type", "string") for name, about in schema.items()}


def plain(value: object) -> Any:  # noqa: ANN401 - JSON
    """The value as JSON, under its names in values.yaml."""
    return msgspec.json.decode(msgspec.json.encode(value))


def _taught(message: str) -> str:
    """A message of msgspec, `WHAT - at `$.PATH``, as `PATH: WHAT`, with the allowed values."""
    what, _, path = message.partition(" - at `$.")
    path = path.rstrip("`")
    if words := _WORDS.get(path.rpartition(".")[2]):
        what = f"{what}; one of {', '.join(words)}"
    return f"{path}: {what}" if path else what


_WORDS: Final = {**CHOICES, "logLevel": get_args(LogLevel)}
"""The allowed values of those that have a fixed set, by the last part of their name."""
