"""The installation as one description: the base, its components, and the places of values.

`documents` fills the values in; the Helm chart's templates are printed from the same description.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Final

from edl import contract
from edl.planner.published_settings import OPTIONS, Setting
from edl.writes import Json
from manifests.documents import BASE, Documents, by_file
from manifests.planning import NAMES
from manifests.templating.component_patches import with_component
from manifests.templating.filled import filled
from manifests.templating.template_nodes import (
    ABSENT,
    CelText,
    Choice,
    Differs,
    Each,
    Element,
    Enabled,
    Filled,
    Given,
    Items,
    Joined,
    Merged,
    Pair,
    TemplateDocument,
    Tree,
    Value,
    ValueCondition,
    Word,
)
from manifests.values import DEFAULTS, Values, plain

NAMESPACE: Final = "Namespace"
IMAGE_VARIABLE: Final = "EDL_IMAGE"
"""The variable of the webhook with the image from which launchers copy kubectl."""

IMAGE_OF_FENCE: Final = "provisionalImage"
"""The variable of the admission policy that holds the image of provisional pods."""

SWITCHES: Final[Mapping[str, ValueCondition]] = {
    "settings-readers": Filled("settingsReaders"),
    "network-policy": Enabled("networkPolicy.enabled"),
    "no-fence": Enabled("fence.enabled", negated=True),
    "no-secrets": Enabled("rights.secrets", negated=True),
    "no-rolebindings": Enabled("rights.rolebindings", negated=True),
    "cert-manager": Enabled("certManager.enabled"),
    "monitoring": Enabled("monitoring.enabled"),
    "client-certificate": Enabled("webhook.clientCertificate.enabled"),
}
"""The condition that adds each component, in the order in which the components are added."""

_IMAGE: Final = Value(
    "image",
    required=f"image: none is public; build one, push it, and set image=REGISTRY/{DEFAULTS.image}",
)
_PORT: Final = "webhook.port"
_PROBE_PORT: Final = "webhook.probePort"
_PORTS: Final = {
    str(DEFAULTS.webhook.port): _PORT,
    str(DEFAULTS.webhook.probe_port): _PROBE_PORT,
}
"""The values that hold the ports of the base's arguments."""
_HOST_NETWORK: Final = Enabled("webhook.hostNetwork")
_CLIENT_NAME: Final = "--client-name"
_SETTINGS_ROLE: Final = "edl-reconciler-settings"
_PLACES: Final = ("nodeSelector", "tolerations", "affinity")


def documents(values: Values = DEFAULTS, namespace: str = contract.SYSTEM_NAMESPACE) -> Documents:
    """Every document to install, in the order in which they are applied.

    If the namespace is not `edl-system`, its Namespace is left out: the user has to create it.
    """
    docs = filled(template(), plain(values), namespace)
    if namespace == contract.SYSTEM_NAMESPACE:
        return docs
    return tuple(doc for doc in docs if doc["kind"] != NAMESPACE)


@cache
def template() -> tuple[TemplateDocument, ...]:
    """The base and all components, with places for values; callers must not change it."""
    docs: tuple[TemplateDocument, ...] = tuple(
        TemplateDocument(path.stem, tree) for path, tree in by_file(BASE)
    )
    for name, condition in SWITCHES.items():
        docs = with_component(docs, name, condition)
    for doc in docs:
        if adjust := _ADJUST.get(doc.tree["kind"]):
            adjust(doc.tree)
    return docs


def _deployment(document: Json) -> None:
    decides = document["metadata"]["name"] == "edl-reconciler"
    part = "reconciler" if decides else "webhook"
    document["spec"]["replicas"] = Value(f"{part}.replicas")
    template = document["spec"]["template"]
    template["metadata"]["annotations"] = _if_filled("pods.annotations")
    template["metadata"]["labels"] = Merged(template["metadata"]["labels"], "pods.labels")
    _place(template["spec"])
    (container,) = template["spec"]["containers"]
    container["image"] = _IMAGE
    container["resources"] = Value(f"{part}.resources")
    container["args"] = [
        *_with_client_names(container["args"]),
        Items(Differs("logLevel", DEFAULTS.log_level), ("--log-level", Value("logLevel"))),
        *(_reconciler_flags() if decides else ()),
    ]
    if not decides:
        _listen(document["spec"], container)
    for variable in container["env"]:
        if variable["name"] == IMAGE_VARIABLE:
            path = "launcherImage"
            variable["value"] = Choice(Filled(path), Value(path), _IMAGE)


def _listen(deployment: Json, container: Json) -> None:
    """The webhook's ports and network. In a node's network a port is free for one pod per node."""
    container["args"] = [
        Word(_PORTS[word]) if isinstance(word, str) and word in _PORTS else word
        for word in container["args"]
    ]
    for port in container["ports"]:
        number = Value(_PORTS[str(port["containerPort"])])
        # Kubernetes would set the hostPort, too, and keep it when the pods leave the node's
        # network.
        port |= {"containerPort": number, "hostPort": Choice(_HOST_NETWORK, number)}
    deployment["template"]["spec"]["hostNetwork"] = Choice(_HOST_NETWORK, True)  # noqa: FBT003 - JSON
    rolling = deployment["strategy"]["rollingUpdate"]
    deployment["strategy"]["rollingUpdate"] = Choice(
        _HOST_NETWORK, {"maxSurge": 0, "maxUnavailable": 1}, rolling
    )


def _namespace(document: Json) -> None:
    """Only `privileged` admits pods in the network of their node."""
    labels = document["metadata"]["labels"]
    for key in labels:
        if key.startswith("pod-security."):
            labels[key] = Choice(_HOST_NETWORK, "privileged", labels[key])


def _reconciler_flags() -> list[Tree]:
    """The options of the reconciler that values set, sorted by name."""
    ignored = Each("ignoredNamespaces", ("--ignored-namespace", Element()))
    return [ignored, *map(_flag, sorted(OPTIONS, key=lambda option: option.name))]


def _flag(option: Setting) -> Items:
    """The option of one value: `--load-ceiling 0.9`, `--preempt`, or one per entry of a map."""
    path, flag = f"reconciler.planning.{NAMES[option.name]}", option.name.replace("_", "-")
    if option.kind is bool:
        return Items(Given(path), (Items(Enabled(path), (f"--{flag}",), (f"--no-{flag}",)),))
    if isinstance(option.default, dict):
        return Items(Given(path), (Each(path, (f"--{flag}", Pair())),))
    is_text = isinstance(option.default, str)
    return Items(Given(path), (f"--{flag}", Value(path) if is_text else Word(path)))


def _with_client_names(words: list[Tree]) -> list[Tree]:
    """The arguments with the chosen client names instead of the one that the component has."""
    condition = SWITCHES["client-certificate"]
    flag = Items(condition, (_CLIENT_NAME,))
    if flag not in words:
        return words
    index = words.index(flag)
    names = Each("webhook.clientCertificate.names", (_CLIENT_NAME, Element()))
    return [*words[:index], Items(condition, (names,)), *words[index + 2 :]]


def _place(pod: Json) -> None:
    pod["priorityClassName"] = Value("pods.priorityClassName")
    pod |= {name: _if_filled(f"pods.{name}") for name in _PLACES}
    secrets = "pods.imagePullSecrets"
    pod["imagePullSecrets"] = Choice(Filled(secrets), [Each(secrets, ({"name": Element()},))])


def _if_filled(path: str) -> Choice:
    return Choice(Filled(path), Value(path))


def _configuration(document: Json) -> None:
    for webhook in document["webhooks"]:
        for named in webhook["namespaceSelector"]["matchExpressions"]:
            if named["operator"] == "NotIn":
                named["values"].append(Each("ignoredNamespaces", (Element(),)))


def _fence(document: Json) -> None:
    """Put the chosen image of provisional pods into the admission policy, which allows no other."""
    image = "reconciler.planning.provisionalImage"
    for variable in document["spec"]["variables"]:
        if variable["name"] == IMAGE_OF_FENCE:
            default = variable["expression"]
            variable["expression"] = Choice(Given(image), CelText(image), default)


def _role_binding(document: Json) -> None:
    """The chosen groups instead of the one that the component has."""
    if document["metadata"]["name"] == _SETTINGS_ROLE:
        (group,) = document["subjects"]
        document["subjects"] = [Each("settingsReaders", (group | {"name": Element()},))]


def _network_policy(document: Json) -> None:
    given = "networkPolicy.apiServerBlocks"
    blocks = Choice(Filled(given), [Each(given, ({"ipBlock": {"cidr": Element()}},))])
    for rule in document["spec"]["ingress"]:
        if "from" in rule:
            (selector,) = rule["from"][0]["namespaceSelector"]["matchExpressions"]
            selector["values"] = Value("networkPolicy.monitoringNamespaces")
        else:
            rule["from"] = blocks
    for rule in document["spec"]["egress"]:
        rule["ports"] = [Each("networkPolicy.apiServerPorts", ({"port": Element()},))]
        rule["to"] = blocks


def _monitoring(document: Json) -> None:
    metadata = document["metadata"]
    metadata["labels"] = Merged(metadata["labels"], "monitoring.labels")


def _alerts(document: Json) -> None:
    _monitoring(document)
    url = "monitoring.runbookUrl"
    for group in document["spec"]["groups"]:
        for rule in group["rules"]:
            section = Joined(url, f"#{rule['alert'].lower()}")
            rule["annotations"]["runbook_url"] = Choice(Filled(url), section, ABSENT)


_ADJUST: Final[Mapping[str, Callable[[Json], None]]] = {
    NAMESPACE: _namespace,
    "Deployment": _deployment,
    "MutatingWebhookConfiguration": _configuration,
    "ValidatingWebhookConfiguration": _configuration,
    "ValidatingAdmissionPolicy": _fence,
    "RoleBinding": _role_binding,
    "NetworkPolicy": _network_policy,
    "ServiceMonitor": _monitoring,
    "PrometheusRule": _alerts,
}
