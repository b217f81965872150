"""The files in a sandbox's folder, and the facts that outlive its processes."""

import random
import re
import socket
from dataclasses import dataclass
from pathlib import Path

import msgspec

from sandbox.errors import SandboxError
from sandbox.files import write_whole

NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?")
# Below the kernel's range for outgoing connections (32768 and up), which could conflict.
PORTS = range(20000, 32000)


@dataclass(frozen=True, slots=True)
class Layout:
    """The paths of one sandbox's files."""

    folder: Path

    @property
    def kubeconfig(self) -> Path:
        return self.folder / "kubeconfig"

    @property
    def pki(self) -> Path:
        return self.folder / "pki"

    @property
    def ca(self) -> Path:
        return self.pki / "ca.crt"

    @property
    def facts(self) -> Path:
        return self.folder / "sandbox.json"

    @property
    def etcd_data(self) -> Path:
        return self.folder / "etcd"

    @property
    def admission(self) -> Path:
        """The configuration of the API server's admission plugins."""
        return self.folder / "admission.yaml"

    def client_config(self, client: str) -> Path:
        """The kubeconfig of a component."""
        return self.folder / "clients" / f"{client}.kubeconfig"

    def certificate(self, owner: str) -> Path:
        return self.pki / f"{owner}.crt"

    def key(self, owner: str) -> Path:
        return self.pki / f"{owner}.key"


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts that are constant while the sandbox exists.

    settled: its first nodes were created. network: the number of its real node's network, if it has
    one. release: of Kubernetes, such as 1.35; None if it runs the user's own binaries.
    checkout: the folder of the project from which it was started.
    """

    api_port: int
    etcd_port: int
    settled: bool = False
    network: int | None = None
    release: str | None = None
    checkout: str | None = None


def checked_name(name: str) -> str:
    """The name, if it is valid for a folder and a context. Raises SandboxError."""
    if NAME.fullmatch(name):
        return name
    raise SandboxError(
        f"sandbox name {name!r}: use 1 to 40 small letters, digits and dashes, such as 'demo-2'"
    )


def read_facts(path: Path) -> Facts | None:
    """The facts; None if the file is missing or damaged."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Facts)
    except (OSError, msgspec.DecodeError):
        return None


def write_facts(path: Path, facts: Facts) -> None:
    write_whole(path, msgspec.json.encode(facts).decode())


def free_ports(count: int) -> list[int]:
    chosen = random.SystemRandom().sample(PORTS, len(PORTS))
    free = (port for port in chosen if _is_free(port))
    return [next(free) for _ in range(count)]


def _is_free(port: int) -> bool:
    with socket.socket() as listener:
        try:
            listener.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True
