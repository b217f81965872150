"""An existing cluster with the interface of a Sandbox, for tests on kind and other clusters."""

import base64
import shutil
import signal
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NoReturn, Protocol

from sandbox.builds import binaries
from sandbox.layout import checked_name
from sandbox.objects.nodes import NodeGroup
from sandbox.paths import places
from sandbox.processes import kubectl
from sandbox.processes.components import LOOPBACK
from sandbox.processes.supervisor import Launch, Supervisor


class Cluster(Protocol):
    """The members that tests need of both Sandbox and ExistingCluster; Sandbox documents them."""

    @property
    def kubeconfig(self) -> Path: ...
    @property
    def server(self) -> str: ...
    @property
    def ca(self) -> Path: ...
    @property
    def address(self) -> str: ...
    @property
    def kubectl_path(self) -> Path: ...
    def kubectl(self, *args: str, input: str | None = None) -> str: ...  # noqa: A002
    def kubectl_environment(self) -> dict[str, str]: ...
    def launch(
        self, name: str, argv: Sequence[str], env: Mapping[str, str] | None = None
    ) -> int: ...
    def stop(self, component: str) -> None: ...
    def start(self, component: str) -> int: ...
    def kill(self, component: str, number: signal.Signals = signal.SIGKILL) -> None: ...
    def running(self) -> dict[str, int]: ...
    def check(self) -> None: ...
    def log(self, component: str) -> Path: ...
    def add_nodes(self, group: NodeGroup) -> list[str]: ...


class ExistingCluster:
    """The cluster of a kubeconfig. Operations that need its owner call `refuse` with the reason.

    Programs that are launched for it are supervised in `folder`.
    """

    def __init__(
        self,
        kubeconfig: Path,
        folder: Path,
        environ: Mapping[str, str],
        refuse: Callable[[str], NoReturn],
    ) -> None:
        self.kubeconfig = kubeconfig
        self._folder = folder
        self._environ = environ
        self._refuse = refuse
        self._supervisor = Supervisor(folder, environ)

    @property
    def server(self) -> str:
        return self._view("{.clusters[0].cluster.server}")

    @property
    def ca(self) -> Path:
        path = self._folder / "ca.crt"
        encoded = self._view("{.clusters[0].cluster.certificate-authority-data}")
        path.write_bytes(base64.b64decode(encoded))
        return path

    @property
    def address(self) -> str:
        """The address at which the API server reaches this machine; for kind EDL_ADDRESS."""
        return self._environ.get("EDL_ADDRESS") or LOOPBACK

    @property
    def kubectl_path(self) -> Path:
        if found := shutil.which("kubectl", path=self._environ.get("PATH")):
            return Path(found)
        return binaries.find(places(self._environ), self._environ, lambda _: None)["kubectl"]

    def kubectl(self, *args: str, input: str | None = None) -> str:  # noqa: A002 - as in Sandbox
        return kubectl.Kubectl(self.kubectl_path, self.kubectl_environment())(args, input)

    def kubectl_environment(self) -> dict[str, str]:
        return kubectl.environment(self._environ, self.kubeconfig, self._folder)

    def launch(self, name: str, argv: Sequence[str], env: Mapping[str, str] | None = None) -> int:
        added = {"KUBECONFIG": str(self.kubeconfig), **(env or {})}
        return self._supervisor.launch(Launch(checked_name(name), tuple(argv), added))

    def stop(self, component: str) -> None:
        self._own(component, "stop")
        self._supervisor.stop(component)

    def start(self, component: str) -> int:
        self._own(component, "start")
        return self._supervisor.start(component)

    def kill(self, component: str, number: signal.Signals = signal.SIGKILL) -> None:
        self._own(component, "kill")
        self._supervisor.kill(component, number)

    def running(self) -> dict[str, int]:
        return self._supervisor.running()

    def check(self) -> None:
        self._supervisor.check()

    def log(self, component: str) -> Path:
        return self._supervisor.log(component)

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
