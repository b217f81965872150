"""The command line of each control plane component.

Flags are upstream's; a comment explains those that need a reason.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sandbox.layout import Facts, Layout
from sandbox.paths import STAGES
from sandbox.processes.pki import SERVER, SERVICE_ACCOUNT_KEY
from sandbox.processes.supervisor import Launch
from sandbox.real.network import Network

ETCD = "etcd"
API_SERVER = "kube-apiserver"
CONTROLLER_MANAGER = "kube-controller-manager"
SCHEDULER = "kube-scheduler"
KWOK = "kwok"
KARPENTER = "karpenter"  # started on request only
# In the order in which they start.
ORDER = (ETCD, API_SERVER, CONTROLLER_MANAGER, SCHEDULER, KWOK)
FAKE_NODE = ("kwok.x-k8s.io/node", "fake")

LOOPBACK = "127.0.0.1"
# kwok renews Leases after a quarter of this time; with thousands of nodes that must not be often.
LEASE_SECONDS = 160
GRACE_SECONDS = 200  # a node is lost when its Lease is this old
# GOGC: Go collects garbage when the heap has grown by this percentage. A short-lived cluster can
# use more memory: by default, collection takes a sixth of the API server's processor time.
LAZY = {"GOGC": "400"}
# A client's own limit of requests per second: high, so that it never limits a load test.
RATE = ("--kube-api-qps=1000", "--kube-api-burst=2000")
# The API server refuses to publish a loopback address.
_WITHOUT_NODE = ("--endpoint-reconciler-type=none",)


@dataclass(frozen=True, slots=True)
class ComponentInputs:
    """The inputs of all command lines."""

    layout: Layout
    facts: Facts
    binaries: Mapping[str, Path]

    @property
    def etcd_url(self) -> str:
        return f"https://{LOOPBACK}:{self.facts.etcd_port}"


def api_host(facts: Facts) -> str:
    """The address on which the API server listens, which pods of a real node must reach."""
    return LOOPBACK if facts.network is None else Network(facts.network).host


def api_url(facts: Facts) -> str:
    return f"https://{api_host(facts)}:{facts.api_port}"


def launches(inputs: ComponentInputs) -> dict[str, Launch]:
    """How to start each component, in ORDER."""
    flags = {
        ETCD: _etcd(inputs),
        API_SERVER: _api_server(inputs),
        CONTROLLER_MANAGER: _controller_manager(inputs),
        SCHEDULER: _scheduler(inputs),
        KWOK: kwok_flags(inputs.layout.client_config(KWOK)),
    }
    # In its default working folder kwok would read the user's own configuration.
    env = {KWOK: {"KWOK_WORKDIR": str(inputs.layout.folder / "kwok")}}
    return {
        name: Launch(name, (str(inputs.binaries[name]), *flags[name]), LAZY | env.get(name, {}))
        for name in ORDER
    }


def _etcd(inputs: ComponentInputs) -> tuple[str, ...]:
    layout = inputs.layout
    return (
        f"--data-dir={layout.etcd_data}",
        "--unsafe-no-fsync",  # disposable data: survives a process's end, but not a machine crash
        f"--listen-client-urls={inputs.etcd_url}",
        f"--advertise-client-urls={inputs.etcd_url}",
        # HTTP on another port: on one, gRPC goes through Go's HTTP server, for half as much again.
        f"--listen-client-http-urls=https://{LOOPBACK}:0",
        f"--listen-peer-urls=http://{LOOPBACK}:0",  # no peers
        # Write access to etcd means control of the cluster, so a client certificate is required.
        "--client-cert-auth",
        f"--trusted-ca-file={layout.ca}",
        f"--cert-file={layout.certificate(SERVER)}",
        f"--key-file={layout.key(SERVER)}",
        "--quota-backend-bytes=8589934592",
        "--auto-compaction-retention=10m",
        "--log-level=warn",
    )


def _api_server(inputs: ComponentInputs) -> tuple[str, ...]:
    layout = inputs.layout
    account_key = layout.pki / SERVICE_ACCOUNT_KEY
    return (
        f"--etcd-servers={inputs.etcd_url}",
        f"--etcd-cafile={layout.ca}",
        f"--etcd-certfile={layout.certificate(SERVER)}",
        f"--etcd-keyfile={layout.key(SERVER)}",
        f"--bind-address={api_host(inputs.facts)}",
        f"--advertise-address={api_host(inputs.facts)}",
        f"--secure-port={inputs.facts.api_port}",
        *(_WITHOUT_NODE if inputs.facts.network is None else _with_node(layout)),
        f"--tls-cert-file={layout.certificate(SERVER)}",
        f"--tls-private-key-file={layout.key(SERVER)}",
        f"--client-ca-file={layout.ca}",
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",  # with the default ones, as in kubeadm
        f"--admission-control-config-file={layout.admission}",
        "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
        f"--service-account-key-file={account_key}",
        f"--service-account-signing-key-file={account_key}",
        "--service-cluster-ip-range=10.96.0.0/16",
        "--allow-privileged=true",
        "--max-requests-inflight=1000",
        "--max-mutating-requests-inflight=500",
    )


def _with_node(layout: Layout) -> tuple[str, ...]:
    return (
        "--kubelet-preferred-address-types=InternalIP",
        f"--kubelet-certificate-authority={layout.ca}",
        f"--kubelet-client-certificate={layout.certificate('admin')}",
        f"--kubelet-client-key={layout.key('admin')}",
        # Only the node has rules for Services, so webhooks are called at their pods' addresses.
        "--enable-aggregator-routing=true",
    )


def _controller_manager(inputs: ComponentInputs) -> tuple[str, ...]:
    layout = inputs.layout
    return (
        f"--kubeconfig={layout.client_config(CONTROLLER_MANAGER)}",
        # As in real clusters, each controller uses its own ServiceAccount, which webhooks see:
        # system:serviceaccount:kube-system:job-controller and so on.
        "--use-service-account-credentials=true",
        f"--service-account-private-key-file={layout.pki / SERVICE_ACCOUNT_KEY}",
        f"--root-ca-file={layout.ca}",
        f"--cluster-signing-cert-file={layout.ca}",
        f"--cluster-signing-key-file={layout.key('ca')}",
        f"--node-monitor-grace-period={GRACE_SECONDS}s",
        # Its default, in /usr/libexec, would be created if it does not exist.
        f"--flex-volume-plugin-dir={layout.folder / 'flexvolume'}",
        "--leader-elect=false",
        "--secure-port=0",
        *RATE,
    )


def _scheduler(inputs: ComponentInputs) -> tuple[str, ...]:
    config = f"--kubeconfig={inputs.layout.client_config(SCHEDULER)}"
    return (config, "--leader-elect=false", "--secure-port=0", *RATE)


def kwok_flags(kubeconfig: Path) -> tuple[str, ...]:
    """Flags with which kwok simulates the kubelets of our nodes, in any cluster."""
    return (
        f"--kubeconfig={kubeconfig}",
        *(f"--config={stage}" for stage in sorted(STAGES.glob("*.yaml"))),
        "--manage-all-nodes=false",
        f"--manage-nodes-with-annotation-selector={'='.join(FAKE_NODE)}",
        f"--node-lease-duration-seconds={LEASE_SECONDS}",
        "--cidr=10.64.0.0/10",  # addresses for four million pods
        "--v=WARN",  # otherwise it logs every change of every pod
    )
