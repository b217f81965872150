"""The values of an installation, defined once for the Helm chart and for `kubectl edl install`.

The chart's values.yaml, its schema and its README are generated from this module.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Final, Literal, TypeAlias, get_args

import msgspec
from msgspec import UNSET

from edl.durations import SHORTEST
from edl.errors import EdlError
from edl.patches.merge_patch import merged
from edl.writes import Json
from manifests.optional_parts import CertManager, Fence, Monitoring, NetworkPolicy, Rights
from manifests.planning import (
    CHOICES,
    DURATIONS,
    ImageReference,
    OptionalImage,
    Part,
    Planning,
    says,
)
from manifests.value_types import (
    CertificateName,
    GroupName,
    LabelMap,
    ObjectName,
    PrintableText,
    QualifiedName,
    Replicas,
    ResourceQuantities,
    Subdomain,
)

LogLevel: TypeAlias = Literal["debug", "info", "warning", "error"]
TolerationField: TypeAlias = Literal["key", "operator", "value", "effect", "tolerationSeconds"]
AffinityField: TypeAlias = Literal["nodeAffinity", "podAffinity", "podAntiAffinity"]


class ContainerResources(Part, frozen=True):
    """As a container's `resources`."""

    requests: Annotated[ResourceQuantities, says("Resource requests.")]
    limits: Annotated[
        ResourceQuantities, says("Resource limits. A CPU limit would only add latency.")
    ]


class ClientCertificate(Part, frozen=True):
    """Client certificates of the API servers, if these can be configured."""

    enabled: Annotated[
        bool,
        says(
            "Require a client certificate. First create the ConfigMap edl-webhook-clients (ca.crt)"
            " in edl-system and configure the API servers: docs/operations/webhook-access.md."
        ),
    ] = False
    names: Annotated[
        tuple[CertificateName, ...],
        says(
            "Accepted common names, DNS names and URIs. Empty: every certificate of that CA is"
            " accepted."
        ),
    ] = ("kube-apiserver-webhooks",)


class Webhook(Part, frozen=True):
    """The webhook's pods."""

    replicas: Replicas = 2
    port: Annotated[
        int,
        says(
            "Port of the pods for reviews. GKE's firewall admits 10250 without a rule of yours:"
            " docs/operations/webhook-access.md.",
            ge=1024,
            le=65535,
        ),
    ] = 8443
    probe_port: Annotated[
        int,
        says(
            "Port of the pods for probes and metrics, over plain HTTP; another one than"
            " webhook.port. With webhook.hostNetwork it must be free on the nodes.",
            ge=1024,
            le=65535,
        ),
    ] = 8080
    host_network: Annotated[
        bool,
        says(
            "Run the pods in the network of their nodes, if the API server cannot reach addresses"
            " of pods: docs/operations/webhook-access.md. Pod Security then does not restrict"
            " edl-system."
        ),
    ] = False
    resources: Annotated[ContainerResources, says("Resources of each pod.")] = ContainerResources(
        requests={"cpu": "100m", "memory": "128Mi"}, limits={"memory": "384Mi"}
    )
    client_certificate: Annotated[
        ClientCertificate, says("Client certificates, so that only the API server sends reviews.")
    ] = ClientCertificate()


class Reconciler(Part, frozen=True):
    """The reconciler's pods, one of which leads."""

    replicas: Replicas = 2
    resources: Annotated[ContainerResources, says("Resources of each pod.")] = ContainerResources(
        requests={"cpu": "200m", "memory": "256Mi"}, limits={"memory": "1Gi"}
    )
    planning: Annotated[
        Planning, says("Policy and limits of its decisions; see docs/concepts/policies.md.")
    ] = Planning()


class PodSettings(Part, frozen=True):
    """Scheduling and metadata of the pods of webhook and reconciler."""

    node_selector: Annotated[LabelMap, says("Node selector of the pods.")] = msgspec.field(
        default_factory=lambda: {"kubernetes.io/os": "linux"}
    )
    tolerations: Annotated[
        tuple[dict[TolerationField, str | int], ...], says("Tolerations of the pods.")
    ] = ()
    affinity: Annotated[
        dict[AffinityField, Any],
        says("Affinity of the pods, besides their spread over hosts and zones."),
    ] = msgspec.field(default_factory=dict)
    priority_class_name: Annotated[Subdomain, says("PriorityClass of the pods.")] = (
        "system-cluster-critical"
    )
    labels: Annotated[
        LabelMap,
        says("More labels of the pods, such as those that an admission policy demands."),
    ] = msgspec.field(default_factory=dict)
    annotations: Annotated[
        dict[QualifiedName, PrintableText],
        says("Annotations of the pods, such as those of service meshes and log collectors."),
    ] = msgspec.field(default_factory=dict)
    image_pull_secrets: Annotated[
        tuple[ObjectName, ...],
        says("Names of Secrets in edl-system with credentials for the image registry."),
    ] = ()


class Values(Part, frozen=True):
    """The values of an installation."""

    image: Annotated[
        ImageReference,
        says("Image of webhook and reconciler."),
    ] = "kubectl-edl:0.1.0"
    launcher_image: Annotated[
        OptionalImage,
        says(
            "Image from which launchers copy kubectl: this one in a registry that each namespace"
            " with the label edl.dev/kubexec=enabled can pull from. Default: image."
        ),
    ] = ""
    log_level: Annotated[LogLevel, says("Log level of webhook and reconciler.")] = "info"
    webhook: Annotated[Webhook, says("Completes labelled Jobs and pods.")] = Webhook()
    reconciler: Annotated[Reconciler, says("Queues, starts and resizes training jobs.")] = (
        Reconciler()
    )
    pods: Annotated[
        PodSettings, says("Scheduling and metadata of the pods of webhook and reconciler.")
    ] = PodSettings()
    ignored_namespaces: Annotated[
        tuple[ObjectName, ...],
        says("Namespaces that webhook and reconciler ignore, besides kube-system and edl-system."),
    ] = ()
    network_policy: Annotated[
        NetworkPolicy, says("NetworkPolicies; the network plugin must enforce them.")
    ] = NetworkPolicy()
    fence: Annotated[
        Fence, says("Admission policies that restrict the reconciler beyond RBAC.")
    ] = Fence()
    rights: Annotated[
        Rights, says("Rights of the reconciler that only some modes of frameworks need.")
    ] = Rights()
    settings_readers: Annotated[
        tuple[GroupName, ...],
        says(
            "Groups that may read the reconciler's Lease: whether one leads, its settings, and the"
            " rights that it lacks. Users with edl-viewer in the whole cluster read it anyway;"
            " those with rights in one namespace are told less without it. system:authenticated is"
            " every account, also each pod's."
        ),
    ] = ()
    cert_manager: Annotated[CertManager, says("The issuer of the webhook's certificate.")] = (
        CertManager()
    )
    monitoring: Annotated[Monitoring, says("Metrics, alerts and a dashboard.")] = Monitoring()


DEFAULTS: Final = Values()
LEAST: Final = SHORTEST.total_seconds()
_UNKNOWN: Final = re.compile("Object contains unknown field `(.*)`")
_UNFENCED: Final = "reconciler.planning.autoscaler: must be none or absent with fence.enabled=false"


class ValuesError(EdlError):
    """A value that is not allowed; the message names its path."""


def read(given: Json) -> Values:
    """The given values, with defaults for all others, merged as by Helm. Raises ValuesError."""
    try:
        values = msgspec.convert(merged(plain(DEFAULTS), given), Values)
    except msgspec.ValidationError as error:
        raise ValuesError(_taught(str(error))) from None
    if not values.fence.enabled and values.reconciler.planning.autoscaler not in (UNSET, "none"):
        raise ValuesError(_UNFENCED)
    if values.webhook.port == values.webhook.probe_port:
        raise ValuesError("webhook.probePort: must differ from webhook.port")
    for option, name in DURATIONS.items():
        seconds = getattr(values.reconciler.planning, option)
        if seconds is not UNSET and 0 < seconds < LEAST:
            raise ValuesError(f"reconciler.planning.{name}: 0, or at least {LEAST} seconds")
    return values


def unknown(names: Sequence[str]) -> str:
    """An error text for a path that names no value: `a.b: one of …`; empty if the path exists."""
    struct: type[msgspec.Struct] | None = Values
    for place, name in enumerate(names):
        if struct is None:
            return ""
        fields = {field.encode_name: field.type for field in msgspec.structs.fields(struct)}
        if name not in fields:
            return f"{'.'.join(names[: place + 1])}: one of {', '.join(fields)}"
        structs = (kind for kind in _kinds(fields[name]) if issubclass(kind, msgspec.Struct))
        struct = next(structs, None)
    return ""


def _kinds(annotation: object) -> Iterator[type]:
    """The types that a value may have: `str` and `int` of `Annotated[str | int, …]`."""
    if isinstance(annotation, type):
        yield annotation
    for inner in get_args(annotation):
        yield from _kinds(inner)


def plain(value: object) -> Any:  # noqa: ANN401 - JSON
    """The value as JSON, under its names in values.yaml."""
    return msgspec.json.decode(msgspec.json.encode(value))


def _is_switch(names: Sequence[str]) -> bool:
    """Whether the value at this path is true or false."""
    kinds: list[type] = [Values]
    for name in names:
        structs = (kind for kind in kinds if issubclass(kind, msgspec.Struct))
        fields = [field for struct in structs for field in msgspec.structs.fields(struct)]
        kinds = [one for field in fields if field.encode_name == name for one in _kinds(field.type)]
    return bool in kinds


def _taught(message: str) -> str:
    """A message of msgspec, `WHAT - at `$.PATH``, as `PATH: WHAT`, with the allowed values."""
    what, _, path = message.replace("`key` in ", "").partition(" - at `$.")
    path = path.rstrip("`")
    if unknown := _UNKNOWN.fullmatch(what):
        path = f"{path}.{unknown[1]}".lstrip(".")
        return f"{path}: unknown value; --set {path}= leaves it out"
    if _is_switch(path.split(".")):
        what = "must be true or false"
    if words := _WORDS.get(path.rpartition(".")[2]):
        what = f"{what}; one of {', '.join(words)}"
    return f"{path}: {what}" if path else what


_WORDS: Final = {**CHOICES, "logLevel": get_args(LogLevel)}
"""The allowed values of those that have a fixed set, by the last part of their name."""
