"""The configuration of the node's programs, with a reason for each value that is not a default."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from sandbox.processes.pki import NODE_NAME
from sandbox.real.network import Network

NAME: Final = NODE_NAME
LABEL: Final = "edl.dev/sandbox-node=real"
PAUSE: Final = "edl-sandbox/pause:1"
DOMAIN: Final = "cluster.local"
SOCKET: Final = "/run/containerd/containerd.sock"
"""In the node's own /run, because a socket's path has at most 107 characters."""


@dataclass(frozen=True, slots=True)
class Paths:
    """The paths of the node's files. folder: in the sandbox's. prefix: unpacked packages."""

    folder: Path
    pki: Path
    prefix: Path

    @property
    def run(self) -> Path:
        return self.folder / "run"

    @property
    def kubelet(self) -> Path:
        return self.folder / "kubelet"

    @property
    def temporary(self) -> Path:
        return self.folder / "tmp"

    @property
    def volumes(self) -> Path:
        return self.folder / "volumes"

    @property
    def containerd_config(self) -> Path:
        return self.folder / "containerd.toml"

    @property
    def kubelet_config(self) -> Path:
        return self.folder / "kubelet.yaml"

    @property
    def corefile(self) -> Path:
        return self.folder / "Corefile"

    @property
    def cni(self) -> Path:
        return self.folder / "cni"


def kubelet_flags(paths: Paths, network: Network, cgroup: str) -> tuple[str, ...]:
    """Flags for what KubeletConfiguration lacks, or what is only known at start."""
    return (
        f"--config={paths.kubelet_config}",
        f"--hostname-override={NAME}",
        f"--node-ip={network.node}",
        f"--root-dir={paths.kubelet}",
        f"--cert-dir={paths.kubelet / 'pki'}",
        f"--cgroup-root=/{cgroup}",
        f"--node-labels={LABEL}",
    )


def proxy_flags(network: Network) -> tuple[str, ...]:
    """kube-proxy with nftables rules, restricted to the node's network."""
    return (
        f"--hostname-override={NAME}",
        "--proxy-mode=nftables",
        f"--cluster-cidr={network.pods}",
        f"--bind-address={network.node}",
        f"--healthz-bind-address={network.node}:10256",
        f"--metrics-bind-address={network.node}:10249",
        # The size of this table is a setting of the whole machine.
        *("--conntrack-max-per-core=0", "--conntrack-min=0"),
        *("--conntrack-tcp-timeout-established=0s", "--conntrack-tcp-timeout-close-wait=0s"),
    )


def files(paths: Paths, network: Network, kubeconfig: Path) -> dict[Path, str]:
    """Every configuration file and its text. kubeconfig: CoreDNS's."""
    return {
        paths.containerd_config: containerd(paths),
        paths.kubelet_config: yaml.safe_dump(kubelet(paths, network)),
        paths.corefile: corefile(network, kubeconfig),
        paths.cni / "10-sandbox.conflist": json.dumps(cni(paths, network)),
    }


def containerd(paths: Paths) -> str:
    """The configuration of containerd: TOML, version 3."""
    runtime = "plugins.'io.containerd.cri.v1.runtime'"
    runc = f"{runtime}.containerd.runtimes.runc"
    return f"""version = 3
root = '{paths.folder}/containerd'
state = '/run/containerd'
disabled_plugins = ['io.containerd.nri.v1.nri', 'io.containerd.internal.v1.tracing']

[grpc]
address = '{SOCKET}'

[plugins.'io.containerd.internal.v1.opt']
path = '{paths.folder}/opt'

[plugins.'io.containerd.cri.v1.images'.pinned_images]
sandbox = '{PAUSE}'

[{runtime}]
# Where we may not lower a score ourselves, pods would not start at all.
restrict_oom_score_adj = true
# It would load a profile into the machine's kernel, and leave it there.
disable_apparmor = true

[{runtime}.cni]
bin_dirs = ['{paths.prefix}/usr/lib/cni']
conf_dir = '{paths.cni}'

[{runc}]
runtime_type = 'io.containerd.runc.v2'

[{runc}.options]
BinaryName = '{paths.prefix}/usr/sbin/runc'
SystemdCgroup = false
"""


def kubelet(paths: Paths, network: Network) -> dict[str, Any]:
    """A KubeletConfiguration."""
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": network.node,
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": str(paths.pki / "ca.crt")},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": str(paths.pki / "node.crt"),
        "tlsPrivateKeyFile": str(paths.pki / "node.key"),
        "containerRuntimeEndpoint": f"unix://{SOCKET}",
        "clusterDNS": [network.node],
        "clusterDomain": DOMAIN,
        "resolvConf": "",
        # systemd may be missing, and cgroups of version 1 suffice.
        "cgroupDriver": "cgroupfs",
        "failCgroupV1": False,
        "failSwapOn": False,
        "enforceNodeAllocatable": [],
        "podLogsDir": str(paths.folder / "pod-logs"),
        "volumePluginDir": str(paths.folder / "volume-plugins"),
        # A disk filled by other programs must not cause the eviction of pods or deletion of images.
        "evictionHard": {"memory.available": "100Mi", "nodefs.available": "1%"},
        "imageGCHighThresholdPercent": 100,
        "serializeImagePulls": False,
    }


def cni(paths: Paths, network: Network) -> dict[str, Any]:
    """A CNI configuration with one link per pod: each packet passes the Service rules."""
    ipam = {
        "type": "host-local",
        "dataDir": str(paths.folder / "addresses"),
        "ranges": [[{"subnet": network.pods}]],
        "routes": [{"dst": "0.0.0.0/0"}],
    }
    return {
        "cniVersion": "1.0.0",
        "name": "sandbox",
        "plugins": [{"type": "ptp", "ipMasq": False, "ipam": ipam}],
    }


def corefile(network: Network, kubeconfig: Path) -> str:
    """Resolves only the cluster's names: others are refused immediately, not after a timeout."""
    return f"""{DOMAIN} in-addr.arpa {{
    bind {network.node}
    errors
    kubernetes {DOMAIN} in-addr.arpa {{
        kubeconfig {kubeconfig}
        ttl 1
    }}
}}
"""
