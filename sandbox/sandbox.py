"""A sandbox: start, stop, and the operations that tests need in between."""

import functools
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path

from sandbox import releases
from sandbox.builds import binaries, debian
from sandbox.builds.build import BuildEnvironment
from sandbox.cluster import Cluster
from sandbox.errors import ComponentDied, SandboxError
from sandbox.files import locked
from sandbox.layout import Facts, Layout, checked_name, read_facts
from sandbox.objects.api import Api
from sandbox.objects.nodes import NodeGroup
from sandbox.paths import places
from sandbox.processes import components, ownership, startup
from sandbox.processes.components import ComponentInputs
from sandbox.real.network import Network
from sandbox.real.node import HOLDER, PARTS, Node
from sandbox.real.requirements import missing

RETRIES = 2  # of creating a sandbox whose component dies


@dataclass(frozen=True, slots=True)
class Start:
    """The result of up().

    fresh: the sandbox did not exist before. started: the components that were not running. seconds:
    the duration, without builds.
    """

    fresh: bool
    started: tuple[str, ...]
    seconds: float


class Sandbox(Cluster):
    """One control plane with simulated nodes and perhaps a real one, in the folder `root/name`.

    Any number may run at the same time. Objects with the same name and root represent the same
    sandbox, in other processes as well: all state is in its folder (kubeconfig, logs/, pki/, etcd/,
    launches/) and the kernel's process table. `environ` names the folders and is inherited by its
    processes; `say` receives progress texts.
    """

    def __init__(
        self,
        name: str = "default",
        root: Path | None = None,
        *,
        environ: Mapping[str, str] = os.environ,
        say: Callable[[str], object] = lambda _: None,
    ) -> None:
        self.name = checked_name(name)
        self._say = say
        self._places = places(environ)
        root = (root or self._places.sandboxes).absolute()
        self._layout = Layout(root / name)
        # Outside the folder, because down() removes the folder while it holds the lock.
        self._lock = root / ".locks" / f"{name}.lock"
        super().__init__(self._layout.folder, self._layout.kubeconfig, environ)

    def up(self, *groups: NodeGroup, real: bool = False) -> Start:
        """Start what is not running and wait until it is ready. A new sandbox gets these nodes.

        real: add one node, real-0, on which pods actually run. The nodes of an existing sandbox
        do not change. Raises ComponentDied, BuildError or another SandboxError.
        """
        real = self._is_real(asked=real)
        if releases.chosen(self.environ) not in (None, self._release()):
            raise self._made(f"with Kubernetes {self._release()}")
        programs = self._programs(real=real)
        prefix = self._packages() if real else None
        begun = time.monotonic()
        with self._locked():
            facts = read_facts(self._layout.facts)
            fresh = facts is None or not facts.settled
            if facts is None or fresh:
                shaped = [replace(group, tainted=real) for group in groups]
                started = self._create(programs, prefix, shaped)
            else:
                inputs, node = self._parts(facts, programs, prefix)
                started = startup.start_missing(inputs, self._supervisor, node)
        return Start(fresh, started, time.monotonic() - begun)

    def down(self) -> bool:
        """End every process and remove the folder; True if there was anything to end or remove.

        Works on the remains of a broken sandbox, too.
        """
        with self._locked():
            existed = startup.clear(self._layout, self._supervisor)
            self._lock.unlink(missing_ok=True)
        return existed

    def dead(self) -> tuple[str, ...]:
        """The components that should run and do not."""
        return self._supervisor.dead()

    def death_report(self, component: str) -> str:
        """A message that the component died, with the last lines of its log."""
        return self._supervisor.death_report(component)

    def exists(self) -> bool:
        """Whether a folder or a process of it exists."""
        return self._layout.folder.exists() or bool(ownership.of_sandbox(self._layout.folder))

    @property
    def checkout(self) -> str | None:
        """The folder of the project from which it was started; None if that is unknown."""
        facts = read_facts(self._layout.facts)
        return facts.checkout if facts else None

    @property
    def server(self) -> str:
        """The API server's URL, constant while the sandbox exists."""
        return components.api_url(self._facts())

    @property
    def kubernetes(self) -> str:
        """The version that the API server reports, such as v1.37.2."""
        with Api(self._layout, self.server) as api:
            return str(api.get("/version").json()["gitVersion"])

    @property
    def ca(self) -> Path:
        """The certificate that verifies the API server."""
        return self._layout.ca

    @functools.cached_property
    def kubectl_path(self) -> Path:
        """The kubectl of the cluster's own version."""
        return self._programs()["kubectl"]

    def start(self, component: str) -> int:
        """Restart a component with its previous command, on the same port; returns its pid.

        Waits until the API server is ready, if it or etcd is started and both run, and for
        containerd and the kubelet. Starting the namespaces, `node`, starts all of a real node.
        """
        if component == HOLDER and component in self._supervisor.launches():
            self.up()
            return self.running()[component]
        if component == components.KWOK:
            self._release_nodes()
        pid = self._supervisor.start(component)
        pair = {components.ETCD, components.API_SERVER}
        if component in pair and pair <= self.running().keys():
            startup.await_api(self._layout, self._facts(), self._supervisor)
        if component in PARTS:
            self._real_node().await_part(component)
        return pid

    def launch(
        self, name: str, argv: Sequence[str], env: Mapping[str, str] | None = None, *, port: int = 0
    ) -> int:
        if name in startup.COMPONENTS:
            raise SandboxError(
                f"{name} is a component of the sandbox: launch yours under another name"
            )
        return super().launch(name, argv, env, port=port)

    @property
    def real(self) -> bool:
        facts = read_facts(self._layout.facts)
        return facts is not None and facts.network is not None

    def import_image(self, archive: Path) -> None:
        """Import the images of an OCI or Docker archive into the real node. Raises SandboxError."""
        self._real_node().images.add(archive)

    def images(self) -> set[str]:
        """The real node's images, such as `docker.io/library/kubectl-edl:0.1.0`."""
        return self._real_node().images.references()

    def add_nodes(self, group: NodeGroup) -> list[str]:
        """Create further simulated nodes and wait until they are Ready; returns their names.

        They are numbered after the existing nodes of their prefix.
        """
        group = replace(group, tainted=self.real)
        with Api(self._layout, self.server) as api:
            return startup.add_nodes(api, self._supervisor, group)

    def _is_real(self, *, asked: bool) -> bool:
        """Whether it has, or will have, a real node, which is fixed when it is created."""
        made = bool((facts := read_facts(self._layout.facts)) and facts.settled)
        if asked and made and not self.real:
            raise self._made("without a real node")
        real = self.real if made else asked
        if real and (reason := missing(self.environ)):
            raise SandboxError(reason)
        return real

    def _made(self, how: str) -> SandboxError:
        down = f"end it first (python -m sandbox down --name {self.name})"
        return SandboxError(f"sandbox {self.name} was made {how}: {down}")

    def _release(self) -> str | None:
        """The Kubernetes release, fixed at creation; None for the user's own binaries."""
        if self._places.binaries:
            return None
        facts = read_facts(self._layout.facts)
        made = facts.release if facts and facts.settled else None
        return made or releases.chosen(self.environ) or releases.DEFAULT

    def _programs(self, *, real: bool = False) -> dict[str, Path]:
        where, release = self._places, self._release()
        return binaries.find(where, self.environ, self._say, release=release, real=real)

    def _packages(self) -> Path:
        build_env = BuildEnvironment(self._places.cache, self.environ)
        return debian.unpacked("node", build_env, self._say)

    def _create(
        self, programs: Mapping[str, Path], prefix: Path | None, groups: Sequence[NodeGroup]
    ) -> tuple[str, ...]:
        """Create it and start its components, on other ports if one dies; returns their names.

        A port that was free when it was chosen may be taken before the component listens on it.
        """
        for _ in range(RETRIES):
            try:
                return self._create_once(programs, prefix, groups)
            except ComponentDied as died:
                self._say(f"{died}\nstarting again, on other ports")
        return self._create_once(programs, prefix, groups)

    def _create_once(
        self, programs: Mapping[str, Path], prefix: Path | None, groups: Sequence[NodeGroup]
    ) -> tuple[str, ...]:
        real = prefix is not None
        facts = startup.make(self._layout, self._supervisor, self._release(), real=real)
        inputs, node = self._parts(facts, programs, prefix)
        started = startup.start_missing(inputs, self._supervisor, node)
        startup.settle(inputs, self._supervisor, node, groups)
        return started

    def _parts(
        self, facts: Facts, programs: Mapping[str, Path], prefix: Path | None
    ) -> tuple[ComponentInputs, Node | None]:
        inputs = ComponentInputs(self._layout, facts, programs)
        return inputs, self._node(inputs, prefix) if prefix else None

    def _node(self, inputs: ComponentInputs, prefix: Path) -> Node:
        number = inputs.facts.network
        if number is None:
            raise SandboxError(f"sandbox {self.name} has no real node: make one with up --real")
        server = components.api_url(inputs.facts)
        network = Network(number)
        return Node(self._layout, network, server, inputs.binaries, prefix, self._supervisor)

    def _real_node(self) -> Node:
        programs = self._programs(real=True)
        return self._node(ComponentInputs(self._layout, self._facts(), programs), self._packages())

    def _facts(self) -> Facts:
        if facts := read_facts(self._layout.facts):
            return facts
        raise SandboxError(
            f"sandbox {self.name} is not up: run python -m sandbox up --name {self.name}"
        )

    def _release_nodes(self) -> None:
        if components.KWOK not in self.running() and components.API_SERVER in self.running():
            with Api(self._layout, self.server) as api:
                startup.release_nodes(api)

    def _locked(self) -> AbstractContextManager[object]:
        waiting = f"waiting: another process works on sandbox {self.name}"
        return locked(self._lock, lambda: self._say(waiting))
