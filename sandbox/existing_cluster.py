"""An existing cluster, such as kind's."""

import base64
import shutil
import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NoReturn

from sandbox.builds import binaries
from sandbox.cluster import Cluster
from sandbox.errors import SandboxError
from sandbox.objects.nodes import NodeGroup
from sandbox.paths import places


def _refuse(reason: str) -> NoReturn:
    raise SandboxError(reason)


class ExistingCluster(Cluster):
    """The cluster of a kubeconfig. Operations that need its owner call `refuse` with the reason."""

    def __init__(
        self,
        kubeconfig: Path,
        folder: Path,
        environ: Mapping[str, str],
        refuse: Callable[[str], NoReturn] = _refuse,
    ) -> None:
        super().__init__(folder, kubeconfig, environ)
        self._refuse = refuse

    @property
    def server(self) -> str:
        return self._view("{.clusters[0].cluster.server}")

    @property
    def ca(self) -> Path:
        path = self.folder / "ca.crt"
        encoded = self._view("{.clusters[0].cluster.certificate-authority-data}")
        path.write_bytes(base64.b64decode(encoded))
        return path

    @property
    def address(self) -> str:
        """As named by EDL_ADDRESS: the node of kind does not share this machine's loopback."""
        return self.environ.get("EDL_ADDRESS") or super().address

    @property
    def kubectl_path(self) -> Path:
        if found := shutil.which("kubectl", path=self.environ.get("PATH")):
            return Path(found)
        return binaries.find(places(self.environ), self.environ, lambda _: None)["kubectl"]

    def stop(self, component: str) -> None:
        self._own(component, "stop")
        super().stop(component)

    def start(self, component: str) -> int:
        self._own(component, "start")
        return super().start(component)

    def kill(self, component: str, number: signal.Signals = signal.SIGKILL) -> None:
        self._own(component, "kill")
        super().kill(component, number)

    def add_nodes(self, group: NodeGroup) -> list[str]:
        self._refuse(f"needs {group.count} simulated nodes; {self.kubeconfig} is not our cluster")

    def close(self) -> None:
        """End the launched programs; the cluster is not changed."""
        self._supervisor.end_everything()

    def _own(self, component: str, verb: str) -> None:
        if component not in self._supervisor.launches():
            self._refuse(f"needs to {verb} {component}; {self.kubeconfig} is not our cluster")

    def _view(self, path: str) -> str:
        return self.kubectl(
            "config", "view", "--raw", "--minify", "--flatten", "-o", f"jsonpath={path}"
        )
