"""The node's processes: the holder of its namespaces, and the programs that run in them.

Interfaces, routes, rules and mounts vanish with the last process, however it ends; the containers
end with their cgroup. So nothing of the node can outlive `sandbox down`.
"""

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from sandbox.builds import debian
from sandbox.errors import SandboxError
from sandbox.files import write_whole
from sandbox.layout import Layout
from sandbox.processes import ownership
from sandbox.processes.components import LAZY
from sandbox.processes.kubeconfig import kubeconfig
from sandbox.processes.readiness import port_gap, wait_for
from sandbox.processes.supervisor import Launch, Supervisor
from sandbox.real import archive, cgroups, configuration, isolation
from sandbox.real.configuration import PAUSE, SOCKET, Paths
from sandbox.real.images import Images
from sandbox.real.isolation import Isolation
from sandbox.real.network import Network

HOLDER: Final = "node"
CONTAINERD: Final = "containerd"
KUBELET: Final = "kubelet"
PROXY: Final = "kube-proxy"
DNS: Final = "coredns"
PARTS: Final = (HOLDER, CONTAINERD, KUBELET, PROXY, DNS)
KUBELET_PORT: Final = 10250
WITHIN: Final = 30.0
"""Seconds for containerd and the kubelet to answer."""


@dataclass(frozen=True, slots=True)
class Node:
    """The inputs for running the node. prefix: the unpacked packages."""

    layout: Layout
    network: Network
    server: str
    programs: Mapping[str, Path]
    prefix: Path
    supervisor: Supervisor

    @property
    def paths(self) -> Paths:
        return Paths(self.layout.folder / "node", self.layout.pki, self.prefix)

    @property
    def images(self) -> Images:
        """The node's images. Raises SandboxError if the namespaces do not exist."""
        pid = self.supervisor.running().get(HOLDER)
        if pid is None:
            name = self.layout.folder.name
            raise SandboxError(
                f"the real node of sandbox {name} does not run: "
                f"start it again (python -m sandbox up --name {name})"
            )
        ctr = (str(self.programs["ctr"]), f"--address={SOCKET}", "--namespace=k8s.io")
        return Images((*isolation.entered(pid), *ctr), self._marked(self._environment()))

    def hold(self) -> int:
        """Create the namespaces unless they exist; returns the pid of the process that holds them.

        Processes in earlier namespaces are ended. Raises SandboxError.
        """
        outside = self._isolation()
        pid = self.supervisor.running().get(HOLDER)
        if pid and outside.furnished:
            return pid
        self._refuse_hidden()
        for part in PARTS:
            ownership.end_all(self.layout.folder, part)
        outside.forget()
        cgroups.remove(self._cgroup)
        cgroups.create(self._cgroup)
        self._write_files()
        pid = self.supervisor.launch(Launch(HOLDER, isolation.HOLD))
        outside.furnish(pid)
        return pid

    def launches(self, pid: int) -> dict[str, Launch]:
        """How to start each program in the namespaces of that process."""
        clients = {name: f"--kubeconfig={self.layout.client_config(name)}" for name in PARTS}
        env = self._environment()
        flags = {
            CONTAINERD: (f"--config={self.paths.containerd_config}",),
            KUBELET: (
                clients[KUBELET],
                *configuration.kubelet_flags(self.paths, self.network, self._cgroup),
            ),
            PROXY: (clients[PROXY], *configuration.proxy_flags(self.network)),
            DNS: (f"-conf={self.paths.corefile}",),
        }
        return {
            # containerd's shims keep the containers running while containerd is stopped.
            name: Launch(name, (*self._inside(pid, name), *words), env, outlived=name == CONTAINERD)
            for name, words in flags.items()
        }

    def await_part(self, name: str) -> None:
        """Return when a started part can be used. Raises SandboxError.

        containerd: images can be read and added. kubelet: it has started, which needs containerd;
        from then on containerd may be stopped.
        """
        if name == CONTAINERD:
            wait_for(self.images.gap, lambda: self.supervisor.check((HOLDER, CONTAINERD)), WITHIN)
        if name == KUBELET:
            gap = partial(port_gap, KUBELET, KUBELET_PORT, self.network.node)
            wait_for(gap, lambda: self.supervisor.check((HOLDER, KUBELET)), WITHIN)

    def settle(self) -> None:
        """Import the image that every pod needs into a new node."""
        file = self.paths.folder / "pause.tar"
        archive.write_image(file, PAUSE, {"/pause": self.programs["pause"]}, ["/pause"])
        self.images.add(file)

    @property
    def _cgroup(self) -> str:
        return cgroups.name_for(self.layout.folder)

    def _isolation(self) -> Isolation:
        env = self._marked(os.environ)
        return Isolation(self._cgroup, self.paths.folder, self.network, env)

    def _inside(self, pid: int, program: str) -> tuple[str, ...]:
        return (*isolation.entered(pid), str(self.programs[program]))

    def _marked(self, env: Mapping[str, str]) -> dict[str, str]:
        """Mark the environment of our own commands, so that down() ends them if we are killed."""
        return ownership.marked(env, self.layout.folder, HOLDER)

    def _environment(self) -> dict[str, str]:
        env = debian.environment(self.prefix)
        shim = self.programs["containerd-shim-runc-v2"].parent
        path = os.pathsep.join((env["PATH"], str(shim), "/usr/sbin", "/sbin"))
        return env | LAZY | {"PATH": path, "TMPDIR": str(self.paths.temporary)}

    def _refuse_hidden(self) -> None:
        for path in (self.layout.folder, self.prefix, *self.programs.values()):
            if hidden := isolation.hides(path):
                raise SandboxError(
                    f"a real node has a {hidden} of its own and would not find {path}: "
                    "name other folders in EDL_STATE and EDL_CACHE"
                )

    def _write_files(self) -> None:
        # As after a boot: the previous state is no longer valid.
        shutil.rmtree(self.paths.run, ignore_errors=True)
        self.paths.temporary.mkdir(parents=True, exist_ok=True)
        texts = configuration.files(self.paths, self.network, self.layout.client_config(DNS)) | {
            self.layout.client_config(client): kubeconfig(self.layout, self.server, client)
            for client in (KUBELET, PROXY, DNS)
        }
        for path, text in texts.items():
            write_whole(path, text)
