"""The node's processes: namespaces of the sandbox's own, and the programs that live in them.

Interfaces, routes, rules and mounts vanish with the last process, however it ends; the containers
end with their cgroup. So nothing of the node can outlive `sandbox down`.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sandbox import debian
from sandbox.errors import SandboxError
from sandbox.files import write_whole
from sandbox.kubeconfig import kubeconfig
from sandbox.real import archive, cgroups, configuration
from sandbox.real.configuration import NAME, PAUSE, SOCKET, Paths
from sandbox.supervisor import Launch

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sandbox.layout import Layout
    from sandbox.real.network import Network
    from sandbox.supervisor import Supervisor

HOLDER: Final = "node"
CONTAINERD: Final = "containerd"
KUBELET: Final = "kubelet"
PROXY: Final = "kube-proxy"
DNS: Final = "coredns"
PARTS: Final = (HOLDER, CONTAINERD, KUBELET, PROXY, DNS)
PACKAGES: Final = ("runc", "containernetworking-plugins", "nftables")
LABEL: Final = "edl.dev/sandbox-node=real"
WITHIN: Final = 30.0  # seconds for containerd to answer
# The kubelet and kube-proxy write these; they belong to the whole machine.
SETTINGS: Final = {
    "vm/overcommit_memory": "1",
    "vm/panic_on_oom": "0",
    "kernel/panic": "10",
    "kernel/panic_on_oops": "1",
    "kernel/keys/root_maxkeys": "1000000",
    "kernel/keys/root_maxbytes": "25000000",
}
PRIVATE: Final = ("/run", "/var/lib", "/var/log")


@dataclass(frozen=True, slots=True)
class Node:
    """What is needed to run the node. prefix: the unpacked packages (PACKAGES)."""

    layout: Layout
    network: Network
    server: str
    programs: Mapping[str, Path]
    prefix: Path
    supervisor: Supervisor

    @property
    def paths(self) -> Paths:
        return Paths(self.layout.folder / "node", self.layout.pki, self.prefix)

    def hold(self) -> int:
        """Make the namespaces, unless they are there; return the pid of the process in them."""
        if pid := self.supervisor.running().get(HOLDER):
            return pid
        if hidden := [path for path in PRIVATE if self.layout.folder.is_relative_to(path)]:
            raise SandboxError(
                f"{self.layout.folder} cannot hold a real node, which sees a {hidden[0]} of its "
                "own: name another folder in EDL_STATE"
            )
        for part in PARTS:
            if part in self.supervisor.launches():
                self.supervisor.stop(part)
        cgroups.remove(cgroup(self.layout))
        cgroups.create(cgroup(self.layout))
        self._write_files()
        separate = ("unshare", "--net", "--mount", "--propagation", "private")
        pid = self.supervisor.launch(Launch(HOLDER, (*separate, "sleep", "infinity")))
        self._furnish(pid)
        return pid

    def launches(self, pid: int) -> dict[str, Launch]:
        """How to start each program in the namespaces of that process."""
        enter = ("nsenter", f"--target={pid}", "--net", "--mount", "--")
        env = self._environment()
        flags = {
            CONTAINERD: (f"--config={self.paths.containerd_config}",),
            KUBELET: self._kubelet(),
            PROXY: self._proxy(),
            DNS: (f"-conf={self.paths.corefile}",),
        }
        return {
            name: Launch(name, (*enter, str(self.programs[name]), *words), env)
            for name, words in flags.items()
        }

    def settle(self) -> None:
        """Wait for containerd, and give it the image that every pod needs."""
        deadline = time.monotonic() + WITHIN
        while self._ctr("version").returncode:
            self.supervisor.check((HOLDER, CONTAINERD))
            if time.monotonic() > deadline:
                raise SandboxError(f"containerd does not answer after {WITHIN:.0f} s")
            time.sleep(0.05)
        image = self.paths.folder / "pause.tar"
        archive.write_image(image, PAUSE, {"/pause": self.programs["pause"]}, ["/pause"])
        self.import_image(image)

    def import_image(self, file: Path) -> None:
        """Unpack an archive of images. Raises SandboxError with containerd's message."""
        done = self._ctr("images", "import", str(file))
        if done.returncode:
            raise SandboxError(f"cannot import {file}: {done.stderr.strip()}")

    def images(self) -> set[str]:
        """References of the images that pods find here, as users write them."""
        listed = self._ctr("images", "list", "--quiet").stdout.split()
        return {name.removeprefix("docker.io/").removeprefix("library/") for name in listed}

    def _ctr(self, *words: str) -> subprocess.CompletedProcess[str]:
        pid = self.supervisor.running().get(HOLDER)
        if pid is None:
            raise SandboxError(f"the real node of {self.layout.folder.name} does not run: up again")
        enter = ("nsenter", f"--target={pid}", "--net", "--mount", "--")
        ctr = (str(self.programs["ctr"]), f"--address={SOCKET}", "--namespace=k8s.io")
        return subprocess.run(
            (*enter, *ctr, *words),
            env=self._environment(),
            capture_output=True,
            text=True,
            check=False,
        )

    def _environment(self) -> dict[str, str]:
        env = debian.environment(self.prefix)
        shim = self.programs["containerd-shim-runc-v2"].parent
        return env | {"PATH": os.pathsep.join((env["PATH"], str(shim), "/usr/sbin", "/sbin"))}

    def _write_files(self) -> None:
        shutil.rmtree(self.paths.run, ignore_errors=True)
        texts = configuration.files(self.paths, self.network, self.layout.client_config(DNS)) | {
            self.layout.client_config(client): kubeconfig(self.layout, self.server, client)
            for client in (KUBELET, PROXY, DNS)
        }
        for path, text in texts.items():
            write_whole(path, text)

    def _furnish(self, pid: int) -> None:
        """The link to this machine, from outside; mounts and addresses, from inside."""
        net = self.network
        _await_namespace(pid)
        _run(
            f"ip link add {net.link} type veth peer name eth0 netns {pid}",
            f"ip address add {net.host}/30 dev {net.link}",
            f"ip link set {net.link} up",
            f"ip route add {net.pods} via {net.node}",
        )
        inside = [
            "mount --make-rshared /",
            *(command for path in PRIVATE for command in self._bind(path)),
            *(command for name in SETTINGS for command in self._shield(name)),
            "ip link set lo up",
            f"ip address add {net.node}/30 dev eth0",
            "ip link set eth0 up",
            f"ip route add default via {net.host}",
            "echo 1 > /proc/sys/net/ipv4/ip_forward",
        ]
        _run(*inside, enter=("nsenter", f"--target={pid}", "--net", "--mount", "--"))

    def _bind(self, path: str) -> list[str]:
        """What programs write there stays in the sandbox's folder."""
        own = self.paths.folder / path.strip("/").replace("/", "-")
        return [f"mkdir -p '{own}'", f"mount --bind '{own}' {path}"]

    def _shield(self, name: str) -> list[str]:
        """A file in place of a kernel setting: who writes it changes nothing."""
        own = self.paths.folder / "settings" / name.replace("/", ".")
        write_whole(own, SETTINGS[name] + "\n")
        return [f"[ ! -e /proc/sys/{name} ] || mount --bind '{own}' /proc/sys/{name}"]

    def _kubelet(self) -> tuple[str, ...]:
        return (
            f"--config={self.paths.kubelet_config}",
            f"--kubeconfig={self.layout.client_config(KUBELET)}",
            f"--hostname-override={NAME}",
            f"--node-ip={self.network.node}",
            f"--root-dir={self.paths.kubelet}",
            f"--cert-dir={self.paths.kubelet / 'pki'}",
            f"--cgroup-root=/{cgroup(self.layout)}",
            f"--node-labels={LABEL}",
        )

    def _proxy(self) -> tuple[str, ...]:
        return (
            f"--kubeconfig={self.layout.client_config(PROXY)}",
            f"--hostname-override={NAME}",
            "--proxy-mode=nftables",
            f"--cluster-cidr={self.network.pods}",
            f"--bind-address={self.network.node}",
            f"--healthz-bind-address={self.network.node}:10256",
            f"--metrics-bind-address={self.network.node}:10249",
            # The size of that table belongs to the whole machine.
            *("--conntrack-max-per-core=0", "--conntrack-min=0"),
            *("--conntrack-tcp-timeout-established=0s", "--conntrack-tcp-timeout-close-wait=0s"),
        )


def cgroup(layout: Layout) -> str:
    """The name of the sandbox's cgroup, which is all that remains of it after a kill -9."""
    digest = hashlib.sha256(str(layout.folder).encode()).hexdigest()[:8]
    return f"edl-{layout.folder.name}-{digest}"


def _await_namespace(pid: int) -> None:
    """Until unshare has made it: its start is no sign of that."""
    deadline = time.monotonic() + WITHIN
    while Path(f"/proc/{pid}/ns/mnt").samefile("/proc/self/ns/mnt"):
        if time.monotonic() > deadline:
            raise SandboxError("the node's namespaces do not come up: see its log")
        time.sleep(0.005)


def _run(*commands: str, enter: tuple[str, ...] = ()) -> None:
    script = "\n".join(("set -e", *commands))
    done = subprocess.run((*enter, "sh", "-c", script), capture_output=True, text=True, check=False)
    if done.returncode:
        raise SandboxError(f"cannot make the node's network and mounts: {done.stderr.strip()}")
