"""An installation by its values: the base, its components, and what the values change in them.

The Helm chart's templates do the same to the same files; a test holds the two against each other.
"""

import copy
import json
from collections.abc import Callable, Mapping
from typing import Final

from edl.writes import Json
from manifests.components import with_components
from manifests.documents import Documents, load
from manifests.values import DEFAULTS, Reconciler, Values, Webhook, plain

IMAGE_VARIABLE: Final = "EDL_IMAGE"
"""The webhook tells launchers its own image, so this variable always says what `image` says."""

_CLIENT_NAME: Final = "--client-name"


def documents(values: Values = DEFAULTS) -> Documents:
    """Everything that is installed, in the order in which it is applied."""
    found = with_components(load(), components(values))
    return tuple(_adjusted(document, values) for document in found)


def components(values: Values) -> tuple[str, ...]:
    """The names of the components that these values switch on."""
    switches = {
        "network-policy": values.network_policy.enabled,
        "no-fence": not values.fence.enabled,
        "cert-manager": values.cert_manager.enabled,
        "monitoring": values.monitoring.enabled,
        "client-certificate": values.webhook.client_certificate.enabled,
    }
    return tuple(name for name, enabled in switches.items() if enabled)


def planning_flags(values: Values) -> list[str]:
    """The reconciler's options, in the order of their names in values.yaml."""
    found = plain(values.reconciler.planning)
    return [word for name in sorted(found) for word in _flags(name, found[name])]


def _flags(name: str, value: object) -> list[str]:
    flag = "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in name)
    if isinstance(value, bool):
        return [f"--{flag}" if value else f"--no-{flag}"]
    if isinstance(value, Mapping):
        return [
            word for key in sorted(value) for word in (f"--{flag}", f"{key}={_text(value[key])}")
        ]
    return [f"--{flag}", _text(value)]


def _text(value: object) -> str:
    """Numbers as JSON has them: 30, not 30.0."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value if isinstance(value, str) else json.dumps(value)


def _adjusted(document: Json, values: Values) -> Json:
    adjust = _ADJUST.get(document["kind"])
    if adjust is None:
        return document
    changed = copy.deepcopy(document)
    adjust(changed, values)
    return changed


def _deployment(document: Json, values: Values) -> None:
    component: Webhook | Reconciler = _part(document, values)
    document["spec"]["replicas"] = component.replicas
    template = document["spec"]["template"]
    if values.pods.annotations:
        template["metadata"]["annotations"] = dict(values.pods.annotations)
    _place(template["spec"], values)
    (container,) = template["spec"]["containers"]
    container["image"] = values.image
    container["resources"] = plain(component.resources)
    container["args"] = _with_client_names(container["args"], values)
    container["args"] += _flags_of(document, values)
    for variable in container["env"]:
        if variable["name"] == IMAGE_VARIABLE:
            variable["value"] = values.image


def _part(document: Json, values: Values) -> Webhook | Reconciler:
    return values.webhook if document["metadata"]["name"] == "edl-webhook" else values.reconciler


def _with_client_names(words: list[str], values: Values) -> list[str]:
    if _CLIENT_NAME not in words:
        return words
    at = words.index(_CLIENT_NAME)
    names = values.webhook.client_certificate.names
    return [
        *words[:at],
        *(word for name in names for word in (_CLIENT_NAME, name)),
        *words[at + 2 :],
    ]


def _flags_of(document: Json, values: Values) -> list[str]:
    level = ["--log-level", values.log_level] if values.log_level != DEFAULTS.log_level else []
    decides = _part(document, values) is values.reconciler
    return [*level, *(planning_flags(values) if decides else ())]


def _place(pod: Json, values: Values) -> None:
    pods = values.pods
    pod["priorityClassName"] = pods.priority_class_name
    wanted = {
        "nodeSelector": dict(pods.node_selector),
        "tolerations": list(pods.tolerations),
        "affinity": dict(pods.affinity),
        "imagePullSecrets": [{"name": name} for name in pods.image_pull_secrets],
    }
    pod.update({name: value for name, value in wanted.items() if value})


def _configuration(document: Json, values: Values) -> None:
    for webhook in document["webhooks"]:
        for named in webhook["namespaceSelector"]["matchExpressions"]:
            if named["operator"] == "NotIn":
                named["values"] += values.ignored_namespaces


def _network_policy(document: Json, values: Values) -> None:
    chosen = values.network_policy
    blocks = [{"ipBlock": {"cidr": cidr}} for cidr in chosen.api_server_blocks]
    spec = document["spec"]
    for rule in spec["ingress"]:
        if "from" in rule:
            (selector,) = rule["from"][0]["namespaceSelector"]["matchExpressions"]
            selector["values"] = list(chosen.monitoring_namespaces)
        elif blocks:
            rule["from"] = blocks
    for rule in spec["egress"]:
        rule["ports"] = [{"port": port} for port in chosen.api_server_ports]
        if blocks:
            rule["to"] = blocks


def _monitoring(document: Json, values: Values) -> None:
    document["metadata"]["labels"] |= values.monitoring.labels


def _alerts(document: Json, values: Values) -> None:
    _monitoring(document, values)
    for group in document["spec"]["groups"]:
        for rule in group["rules"]:
            notes = rule["annotations"]
            section = notes["runbook_url"].partition("#")[2]
            notes["runbook_url"] = f"{values.monitoring.runbook_url}#{section}"


_ADJUST: Final[Mapping[str, Callable[[Json, Values], None]]] = {
    "Deployment": _deployment,
    "MutatingWebhookConfiguration": _configuration,
    "ValidatingWebhookConfiguration": _configuration,
    "NetworkPolicy": _network_policy,
    "ServiceMonitor": _monitoring,
    "PrometheusRule": _alerts,
}
