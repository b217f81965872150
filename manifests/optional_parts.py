"""The values of parts of an installation that `manifests/components` add or take away."""

from typing import Annotated

import msgspec

from manifests.planning import Part, says
from manifests.value_types import Cidr, LabelMap, ObjectName, Port, Url


class NetworkPolicy(Part, frozen=True):
    """Connections from and to the pods of webhook and reconciler."""

    enabled: Annotated[
        bool,
        says(
            "Allow ingress of reviews, of metrics for monitoringNamespaces and of probes, and"
            " egress to apiServerPorts only."
        ),
    ] = False
    api_server_blocks: Annotated[
        tuple[Cidr, ...],
        says(
            "Addresses of the API server, such as 10.0.0.2/32, for ingress of reviews and for"
            " egress: docs/operations/security.md. Default: any address, also outside of the"
            " cluster."
        ),
    ] = ()
    api_server_ports: Annotated[
        tuple[Port, ...],
        says("Ports of the API server: the Service `kubernetes` and its endpoints.", min_length=1),
    ] = (443, 6443)
    monitoring_namespaces: Annotated[
        tuple[ObjectName, ...], says("Namespaces whose pods may read the metrics.", min_length=1)
    ] = ("monitoring",)


class Monitoring(Part, frozen=True):
    """Objects for the Prometheus operator and Grafana."""

    enabled: Annotated[
        bool,
        says(
            "Install ServiceMonitors, alerts and a dashboard for Grafana's sidecar; needs the"
            " Prometheus operator."
        ),
    ] = False
    labels: Annotated[
        LabelMap,
        says(
            "Labels by which your Prometheus selects ServiceMonitors and rules, such as"
            " `release: prometheus`."
        ),
    ] = msgspec.field(default_factory=dict)
    runbook_url: Annotated[
        Url,
        says(
            "URL of docs/operations/runbook.md as you publish it; each alert's `runbook_url` links"
            " to its section. Default: alerts have no `runbook_url`, and `runbook` names the"
            " section."
        ),
    ] = ""


class Fence(Part, frozen=True):
    """Admission policies for the reconciler's own requests."""

    enabled: Annotated[
        bool,
        says(
            "Restrict the reconciler's own writes: training jobs only, no images, rights only"
            " where the namespace consents. false: RBAC alone; a stolen token of the reconciler is"
            " then worth an administrator's, and no nodes are requested from an autoscaler."
        ),
    ] = True


class CertManager(Part, frozen=True):
    """cert-manager as the issuer of certificates."""

    enabled: Annotated[
        bool,
        says("Let cert-manager, not the reconciler, issue the webhook's certificate."),
    ] = False


class Rights(Part, frozen=True):
    """Rights of the reconciler that some modes alone need."""

    secrets: Annotated[
        bool,
        says(
            "May create Secrets, in every namespace: the key pairs of mode ssh. false: jobs in that"
            " mode are refused."
        ),
    ] = True
    rolebindings: Annotated[
        bool,
        says(
            "May create ServiceAccounts and RoleBindings, in every namespace: the rights of pods in"
            " modes kubexec and cloud. false: jobs in these modes are refused."
        ),
    ] = True
