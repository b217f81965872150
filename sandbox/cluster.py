"""What tests need of any cluster, be it a sandbox or an existing one."""

import signal
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path

from sandbox.layout import checked_name
from sandbox.objects.nodes import NodeGroup
from sandbox.processes import kubectl
from sandbox.processes.components import LOOPBACK
from sandbox.processes.supervisor import Launch, Supervisor


class Cluster(ABC):
    """A cluster for tests: a Sandbox or an existing one.

    Programs that are launched for it are supervised in `folder`, and inherit `environ`.
    """

    def __init__(self, folder: Path, kubeconfig: Path, environ: Mapping[str, str]) -> None:
        self.folder = folder
        self.kubeconfig = kubeconfig
        self.environ = environ
        self._supervisor = Supervisor(folder, environ)

    @property
    @abstractmethod
    def server(self) -> str:
        """The API server's URL."""

    @property
    @abstractmethod
    def ca(self) -> Path:
        """The certificate that verifies the API server."""

    @property
    @abstractmethod
    def kubectl_path(self) -> Path:
        """A kubectl for the cluster."""

    @abstractmethod
    def add_nodes(self, group: NodeGroup) -> list[str]:
        """Create further simulated nodes and wait until they are Ready; returns their names."""

    @property
    def address(self) -> str:
        """The address at which the API server reaches programs of this machine."""
        return LOOPBACK

    def kubectl(self, *args: str, input: str | None = None) -> str:  # noqa: A002 - subprocess.run's word
        """The output of `kubectl ARGS`. Raises SandboxError with kubectl's message if it fails."""
        return kubectl.Kubectl(self.kubectl_path, self.kubectl_environment())(args, input)

    def kubectl_environment(self) -> dict[str, str]:
        """Variables with which kubectl and client libraries use this cluster."""
        return kubectl.environment(self.environ, self.kubeconfig, self.folder)

    def launch(
        self, name: str, argv: Sequence[str], env: Mapping[str, str] | None = None, *, port: int = 0
    ) -> int:
        """Run a further program under supervision; returns its pid.

        It is logged, reported when it dies, and ended with the cluster. It inherits `environ`, and
        gets KUBECONFIG and `env` in addition. A running program of this name is kept. `port`: on
        which it listens; the next `up` that restarts it waits for that.
        """
        added = {"KUBECONFIG": str(self.kubeconfig), **(env or {})}
        program = Launch(checked_name(name), tuple(argv), added, port=port)
        return self._supervisor.launch(program)

    def stop(self, component: str) -> None:
        """End a component; it is not expected to run until start()."""
        self._supervisor.stop(component)

    def start(self, component: str) -> int:
        """Restart a component with its previous command, on the same port; returns its pid."""
        return self._supervisor.start(component)

    def kill(self, component: str, number: signal.Signals = signal.SIGKILL) -> None:
        """Send a signal to a component; it should still run, so check() reports its death."""
        self._supervisor.kill(component, number)

    def running(self) -> dict[str, int]:
        """The pid of each running component."""
        return self._supervisor.running()

    def check(self) -> None:
        """Raise ComponentDied, with the end of its log, if a component that should run has died."""
        self._supervisor.check()

    def log(self, component: str) -> Path:
        """The file with a component's output."""
        return self._supervisor.log(component)
