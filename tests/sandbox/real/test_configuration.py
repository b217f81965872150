from __future__ import annotations

import json
import tomllib
from pathlib import Path

import yaml

from sandbox.real import configuration
from sandbox.real.configuration import SOCKET, Paths
from sandbox.real.network import Network

PATHS = Paths(Path("/state/a b/node"), Path("/state/a b/pki"), Path("/cache/debian"))
NETWORK = Network(5)
TEXTS = configuration.files(PATHS, NETWORK, Path("/state/coredns.kubeconfig"))


def test_containerd_writes_into_the_sandbox_only() -> None:
    read = tomllib.loads(TEXTS[PATHS.containerd_config])
    runtime = read["plugins"]["io.containerd.cri.v1.runtime"]
    assert read["root"].startswith(str(PATHS.folder))
    assert read["state"].startswith("/run/")
    assert runtime["cni"]["conf_dir"] == str(PATHS.cni)
    options = runtime["containerd"]["runtimes"]["runc"]["options"]
    assert options["BinaryName"] == f"{PATHS.prefix}/usr/sbin/runc"


def test_containerd_has_the_image_that_pods_need() -> None:
    read = tomllib.loads(TEXTS[PATHS.containerd_config])
    pinned = read["plugins"]["io.containerd.cri.v1.images"]["pinned_images"]
    assert pinned == {"sandbox": configuration.PAUSE}


def test_the_kubelet_asks_coredns_and_speaks_to_containerd() -> None:
    read = yaml.safe_load(TEXTS[PATHS.kubelet_config])
    assert read["clusterDNS"] == [NETWORK.node]
    assert read["containerRuntimeEndpoint"] == f"unix://{SOCKET}"
    assert f"bind {NETWORK.node}" in TEXTS[PATHS.corefile]


def test_the_kubelet_answers_only_requests_that_the_api_server_authorizes() -> None:
    read = yaml.safe_load(TEXTS[PATHS.kubelet_config])
    assert not read["authentication"]["anonymous"]["enabled"]
    assert read["authorization"]["mode"] == "Webhook"


def test_pods_have_addresses_of_their_sandbox() -> None:
    (plugin,) = json.loads(TEXTS[PATHS.cni / "10-sandbox.conflist"])["plugins"]
    assert plugin["ipam"]["ranges"] == [[{"subnet": NETWORK.pods}]]
    assert f"--cluster-cidr={NETWORK.pods}" in configuration.proxy_flags(NETWORK)


def test_the_kubelet_stays_in_its_folder_and_its_cgroup() -> None:
    flags = dict(
        flag.split("=", 1) for flag in configuration.kubelet_flags(PATHS, NETWORK, "edl-a")
    )
    assert flags["--cgroup-root"] == "/edl-a"
    assert flags["--root-dir"].startswith(str(PATHS.folder))
    assert flags["--cert-dir"].startswith(str(PATHS.folder))
