"""Which client reaches which path over which port: arguments, containers and NetworkPolicies."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from ipaddress import ip_address, ip_network

import pytest
from prometheus_client import CollectorRegistry

from edl.inject.handlers import Context
from edl.model import Requirement
from edl.writes import Json
from manifests import installation, values
from manifests.documents import Documents
from reconciler import probes
from reconciler.command_line import main as reconciler_command
from reconciler.probes import Health
from tests.manifests.test_components import found
from webhook.__main__ import WebhookOptions, listeners
from webhook.__main__ import webhook as webhook_command
from webhook.routes import RouteContext

REVIEWS = {"/mutate", "/validate", "/advise"}
PROBES = {"/healthz", "/readyz", "/metrics"}
DEPLOYMENTS = ("edl-webhook", "edl-reconciler")


@dataclass(frozen=True)
class Peer:
    """A client on the cluster's network: a pod of a namespace, or a machine outside of it."""

    name: str
    address: str
    namespace: str = ""


POD = Peer("a pod of a user", "10.244.0.7", "lab")
PROMETHEUS = Peer("a pod of the namespace monitoring", "10.244.0.8", "monitoring")
API_SERVER = Peer("the API server", "10.0.0.2")
MACHINE = Peer("another machine", "192.0.2.1")
PEERS = (POD, PROMETHEUS, API_SERVER, MACHINE)


def installed(**given: object) -> Documents:
    return installation.documents(values.read({"networkPolicy": {"enabled": True}, **given}))


def container(documents: Documents, name: str) -> Json:
    pod = found(documents, "Deployment", name)["spec"]["template"]["spec"]
    (one,) = pod["containers"]
    container: Json = one
    return container


def served(documents: Documents, name: str) -> dict[str, set[str]]:
    """The paths that the process answers with these arguments, by the name of the port."""
    one = container(documents, name)
    numbers = {each["containerPort"]: each["name"] for each in one["ports"]}
    _, *words = one["args"]
    by_number = dict(_of_webhook(words) if name == "edl-webhook" else _of_reconciler(words))
    assert by_number.keys() == numbers.keys(), "each port is declared, and no other one"
    return {numbers[port]: paths for port, paths in by_number.items()}


def _of_webhook(words: list[str]) -> Iterator[tuple[int, set[str]]]:
    params = webhook_command.make_context("webhook", [*words, "--image", "x"]).params
    known = {field.name for field in fields(WebhookOptions)}
    options = WebhookOptions(**{name: value for name, value in params.items() if name in known})
    for listener in listeners(options, RouteContext(Context(frozenset(), "x"), str)):
        rules = listener.app.url_map.iter_rules()  # type: ignore[attr-defined]
        yield listener.port, {rule.rule for rule in rules}


def _of_reconciler(words: list[str]) -> Iterator[tuple[int, set[str]]]:
    params = reconciler_command.make_context("reconciler", words).params
    pages = probes.pages(Health(lambda: True, str, str), CollectorRegistry())
    yield params["metrics_port"], {*pages, *(("/debug/plan",) if params["debug_plan"] else ())}


def reached(documents: Documents, name: str, rules: list[Json]) -> dict[str, set[str]]:
    """The paths that each client reaches, as a network plugin that enforces the rules lets it."""
    paths = served(documents, name)
    return {
        peer.name: {
            path for port in paths for path in paths[port] if _is_admitted(rules, peer, port)
        }
        for peer in PEERS
    }


def _is_admitted(rules: list[Json], peer: Peer, port: str) -> bool:
    return any(
        port in (each["port"] for each in rule["ports"])
        and ("from" not in rule or any(_matches(one, peer) for one in rule["from"]))
        for rule in rules
    )


def _matches(selected: Json, peer: Peer) -> bool:
    if block := selected.get("ipBlock"):
        return ip_address(peer.address) in ip_network(block["cidr"])
    (name,) = selected["namespaceSelector"]["matchExpressions"]
    required = Requirement(name["key"], name["operator"], tuple(name["values"]))
    return bool(peer.namespace) and required.holds(peer.namespace)


def ingress(documents: Documents, name: str) -> list[Json]:
    rules: list[Json] = found(documents, "NetworkPolicy", name)["spec"]["ingress"]
    return rules


def test_only_monitoring_reads_metrics_and_any_address_may_send_reviews() -> None:
    """Rules select pods; the API server runs outside of them, at addresses that a value gives."""
    documents = installed()
    assert reached(documents, "edl-webhook", ingress(documents, "edl-webhook")) == {
        POD.name: REVIEWS,
        PROMETHEUS.name: REVIEWS | PROBES,
        API_SERVER.name: REVIEWS,
        MACHINE.name: REVIEWS,
    }
    assert reached(documents, "edl-reconciler", ingress(documents, "edl-reconciler")) == {
        POD.name: set(),
        PROMETHEUS.name: PROBES,
        API_SERVER.name: set(),
        MACHINE.name: set(),
    }


@pytest.mark.parametrize("certificate", [True, False])
def test_once_its_addresses_are_given_only_the_api_server_sends_reviews(
    *, certificate: bool
) -> None:
    documents = installed(
        networkPolicy={"enabled": True, "apiServerBlocks": ["10.0.0.0/28"]},
        webhook={"port": 10250, "clientCertificate": {"enabled": certificate}},
    )
    if certificate:  # there in the pod only, and click wants to see it
        words = container(documents, "edl-webhook")["args"]
        words[words.index("--client-ca") + 1] = __file__
    assert reached(documents, "edl-webhook", ingress(documents, "edl-webhook")) == {
        POD.name: set(),
        PROMETHEUS.name: PROBES,
        API_SERVER.name: REVIEWS,
        MACHINE.name: set(),
    }


@pytest.mark.parametrize("name", DEPLOYMENTS)
def test_each_rule_admits_what_no_other_rule_does(name: str) -> None:
    documents = installed()
    rules = ingress(documents, name)
    whole = reached(documents, name, rules)
    for at in range(len(rules)):
        assert reached(documents, name, [*rules[:at], *rules[at + 1 :]]) != whole, rules[at]


@pytest.mark.parametrize("name", DEPLOYMENTS)
def test_the_kubelet_probes_paths_of_the_port_that_serves_them(name: str) -> None:
    """The kubelet is on the pod's node, whose traffic no policy holds back."""
    documents = installed()
    paths = served(documents, name)
    one = container(documents, name)
    asked = [one[probe]["httpGet"] for probe in one if probe.endswith("Probe")]
    assert len(asked) == 3
    for each in asked:
        assert each["path"] in paths[each["port"]]
        assert "scheme" not in each, "plain HTTP, before there is a certificate"


@pytest.mark.parametrize("name", DEPLOYMENTS)
def test_prometheus_scrapes_the_port_that_serves_metrics(name: str) -> None:
    documents = installed(monitoring={"enabled": True})
    (endpoint,) = found(documents, "ServiceMonitor", name)["spec"]["endpoints"]
    selector = found(documents, "ServiceMonitor", name)["spec"]["selector"]["matchLabels"]
    services = [
        one
        for one in documents
        if one["kind"] == "Service" and selector.items() <= one["metadata"]["labels"].items()
    ]
    (target,) = (
        port["targetPort"]
        for one in services
        for port in one["spec"]["ports"]
        if port["name"] == endpoint["port"]
    )
    assert "/metrics" in served(documents, name)[target]


ENDPOINTS_SECONDS = 2
"""For endpoints to change on every node, once the kubelet calls a pod unready."""


def test_one_slow_answer_removes_no_replica_and_a_stopping_one_goes_while_it_still_serves() -> None:
    """A stopping webhook answers /readyz with 503 at once: the kubelet counts one each period."""
    one = container(installed(), "edl-webhook")
    readiness = one["readinessProbe"]
    assert readiness["failureThreshold"] > 1
    _, *words = one["args"]
    params = webhook_command.make_context("webhook", [*words, "--image", "x"]).params
    until_unready = readiness["periodSeconds"] * readiness["failureThreshold"]
    assert until_unready + ENDPOINTS_SECONDS <= params["drain"]
