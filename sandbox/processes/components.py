"""The command line of each control plane component.

Flags are upstream's; those that need a reason carry it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sandbox.paths import STAGES
from sandbox.processes.pki import SERVER, SERVICE_ACCOUNT_KEY
from sandbox.processes.supervisor import Launch
from sandbox.real.network import Network

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from sandbox.layout import Facts, Layout

ETCD = "etcd"
API_SERVER = "kube-apiserver"
CONTROLLER_MANAGER = "kube-controller-manager"
SCHEDULER = "kube-scheduler"
KWOK = "kwok"
KARPENTER = "karpenter"  # launched where it is asked for
# In the order in which they start.
ORDER = (ETCD, API_SERVER, CONTROLLER_MANAGER, SCHEDULER, KWOK)
FAKE_NODE = ("kwok.x-k8s.io/node", "fake")

LOOPBACK = "127.0.0.1"
# kwok renews a Lease after a quarter of it: a load that thousands of nodes must be able to afford.
LEASE_SECONDS = 160
GRACE_SECONDS = 200  # a node whose Lease is this old counts as lost
# Go collects garbage when a heap has grown by this percentage. A cluster of a few minutes has
# memory to spare: by default a sixth of the API server's processor time goes into that.
LAZY = {"GOGC": "400"}
# Requests per second that a client allows itself: never the bottleneck of a load test.
RATE = ("--kube-api-qps=1000", "--kube-api-burst=2000")


@dataclass(frozen=True, slots=True)
class Cast:
    """All that the command lines need to know."""

    layout: Layout
    facts: Facts
    binaries: Mapping[str, Path]

    @property
    def etcd_url(self) -> str:
        return f"https://{LOOPBACK}:{self.facts.etcd_port}"


def api_host(facts: Facts) -> str:
    """Where the API server listens: pods of a real node must reach it too."""
    return LOOPBACK if facts.network is None else Network(facts.network).host


def api_url(facts: Facts) -> str:
    """Where the API server answers."""
    return f"https://{api_host(facts)}:{facts.api_port}"


def launches(cast: Cast) -> dict[str, Launch]:
    """How to start each component, in ORDER."""
    flags = {
        ETCD: _etcd(cast),
        API_SERVER: _api_server(cast),
        CONTROLLER_MANAGER: _controller_manager(cast),
        SCHEDULER: _scheduler(cast),
        KWOK: _kwok(cast),
    }
    # In its usual working folder kwok would find and read a configuration of the user's.
    env = {KWOK: {"KWOK_WORKDIR": str(cast.layout.folder / "kwok")}}
    return {
        name: Launch(name, (str(cast.binaries[name]), *flags[name]), LAZY | env.get(name, {}))
        for name in ORDER
    }


def _etcd(cast: Cast) -> tuple[str, ...]:
    layout = cast.layout
    return (
        f"--data-dir={layout.etcd_data}",
        "--unsafe-no-fsync",  # throw-away data: survives the end of any process, not of the machine
        f"--listen-client-urls={cast.etcd_url}",
        f"--advertise-client-urls={cast.etcd_url}",
        f"--listen-peer-urls=http://{LOOPBACK}:0",  # there are no peers
        # Write access to etcd is control of the cluster: it requires our client certificate.
        "--client-cert-auth",
        f"--trusted-ca-file={layout.ca}",
        f"--cert-file={layout.certificate(SERVER)}",
        f"--key-file={layout.key(SERVER)}",
        "--quota-backend-bytes=8589934592",
        "--auto-compaction-retention=10m",
        "--log-level=warn",
    )


def _api_server(cast: Cast) -> tuple[str, ...]:
    layout = cast.layout
    account_key = layout.pki / SERVICE_ACCOUNT_KEY
    return (
        f"--etcd-servers={cast.etcd_url}",
        f"--etcd-cafile={layout.ca}",
        f"--etcd-certfile={layout.certificate(SERVER)}",
        f"--etcd-keyfile={layout.key(SERVER)}",
        f"--bind-address={api_host(cast.facts)}",
        f"--advertise-address={api_host(cast.facts)}",
        f"--secure-port={cast.facts.api_port}",
        *(_without_node() if cast.facts.network is None else _with_node(layout)),
        f"--tls-cert-file={layout.certificate(SERVER)}",
        f"--tls-private-key-file={layout.key(SERVER)}",
        f"--client-ca-file={layout.ca}",
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",  # besides the default ones, as kubeadm does
        f"--admission-control-config-file={layout.admission}",
        "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
        f"--service-account-key-file={account_key}",
        f"--service-account-signing-key-file={account_key}",
        "--service-cluster-ip-range=10.96.0.0/16",
        "--allow-privileged=true",
        "--max-requests-inflight=1000",
        "--max-mutating-requests-inflight=500",
    )


def _without_node() -> tuple[str, ...]:
    # It refuses to publish a loopback address.
    return ("--endpoint-reconciler-type=none",)


def _with_node(layout: Layout) -> tuple[str, ...]:
    return (
        "--kubelet-preferred-address-types=InternalIP",
        f"--kubelet-certificate-authority={layout.ca}",
        f"--kubelet-client-certificate={layout.certificate('admin')}",
        f"--kubelet-client-key={layout.key('admin')}",
        # The rules for Services are the node's: from here webhooks are called in their pods.
        "--enable-aggregator-routing=true",
    )


def _controller_manager(cast: Cast) -> tuple[str, ...]:
    layout = cast.layout
    return (
        f"--kubeconfig={layout.client_config(CONTROLLER_MANAGER)}",
        # As on real clusters each controller acts under its own name, which webhooks see:
        # system:serviceaccount:kube-system:job-controller and so on.
        "--use-service-account-credentials=true",
        f"--service-account-private-key-file={layout.pki / SERVICE_ACCOUNT_KEY}",
        f"--root-ca-file={layout.ca}",
        f"--cluster-signing-cert-file={layout.ca}",
        f"--cluster-signing-key-file={layout.key('ca')}",
        f"--node-monitor-grace-period={GRACE_SECONDS}s",
        # Its default lies in /usr/libexec, and is made there if it does not exist.
        f"--flex-volume-plugin-dir={layout.folder / 'flexvolume'}",
        "--leader-elect=false",
        "--secure-port=0",
        *RATE,
    )


def _scheduler(cast: Cast) -> tuple[str, ...]:
    config = f"--kubeconfig={cast.layout.client_config(SCHEDULER)}"
    return (config, "--leader-elect=false", "--secure-port=0", *RATE)


def _kwok(cast: Cast) -> tuple[str, ...]:
    return kwok_flags(cast.layout.client_config(KWOK))


def kwok_flags(kubeconfig: Path) -> tuple[str, ...]:
    """Play the kubelet of simulated nodes, in any cluster."""
    return (
        f"--kubeconfig={kubeconfig}",
        *(f"--config={stage}" for stage in sorted(STAGES.glob("*.yaml"))),
        "--manage-all-nodes=false",
        f"--manage-nodes-with-annotation-selector={'='.join(FAKE_NODE)}",
        f"--node-lease-duration-seconds={LEASE_SECONDS}",
        "--cidr=10.64.0.0/10",  # pod addresses: room for four million
        "--v=WARN",  # it would log every change of every pod
    )
