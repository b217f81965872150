"""A sandbox's own network and mounts, which vanish with the last process in them.

One process holds the namespaces; others enter them. The only connection to the outside is one
link, which carries the sandbox's name so that it can be removed by that alone.
"""

import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sandbox.errors import SandboxError
from sandbox.files import write_whole
from sandbox.real.network import Network

HOLD: Final = ("unshare", "--net", "--mount", "--propagation=private", "sleep", "infinity")
WITHIN: Final = 10.0  # seconds for unshare to create the namespaces
INTERFACES: Final = Path("/sys/class/net")
# Folders that the node's programs write to even if others are configured.
PRIVATE: Final = ("/run", "/var/lib", "/var/log")
# Kernel settings that the kubelet requires and would change for the whole machine.
SETTINGS: Final = {
    "vm/overcommit_memory": "1",
    "vm/panic_on_oom": "0",
    "kernel/panic": "10",
    "kernel/panic_on_oops": "1",
    "kernel/keys/root_maxkeys": "1000000",
    "kernel/keys/root_maxbytes": "25000000",
}


@dataclass(frozen=True, slots=True)
class Isolation:
    """owner: the link's alias. folder: for files written inside. env: of our commands."""

    owner: str
    folder: Path
    network: Network
    env: Mapping[str, str]

    def furnish(self, pid: int) -> None:
        """Create the link and mounts for the namespaces of a process. Raises SandboxError."""
        _await_program(pid)
        net = self.network
        self._run(
            f"ip link add {net.link} alias {self.owner} type veth peer name eth0 netns {pid}",
            f"ip address add {net.host}/30 dev {net.link}",
            f"ip link set {net.link} up",
            f"ip route add {net.pods} via {net.node}",
        )
        inside = (
            "mount --make-rshared /",
            *(command for path in PRIVATE for command in self._bind(path)),
            *(command for name in SETTINGS for command in self._shield(name)),
            "ip link set lo up",
            f"ip address add {net.node}/30 dev eth0",
            "ip link set eth0 up",
            f"ip route add default via {net.host}",
            "echo 1 > /proc/sys/net/ipv4/ip_forward",
        )
        self._run(*inside, inside=pid)
        self._done.touch()

    @property
    def furnished(self) -> bool:
        """Whether furnish() has completed since forget()."""
        return self._done.exists()

    def forget(self) -> None:
        """Prepare for new namespaces: remove the link of the old ones, if it still exists."""
        self._done.unlink(missing_ok=True)
        release(self.owner)

    @property
    def _done(self) -> Path:
        return self.folder / "furnished"

    def _bind(self, path: str) -> tuple[str, str]:
        """Commands that redirect writes below the path to the sandbox's folder."""
        own = self.folder / path.strip("/").replace("/", "-")
        return f"mkdir -p '{own}'", f"mount --bind '{own}' {path}"

    def _shield(self, name: str) -> tuple[str, ...]:
        """Commands that replace a kernel setting by a file, so that writes to it have no effect."""
        if not Path("/proc/sys", name).exists():
            return ()
        own = self.folder / "settings" / name.replace("/", ".")
        write_whole(own, SETTINGS[name] + "\n")
        return (f"mount --bind '{own}' /proc/sys/{name}",)

    def _run(self, *commands: str, inside: int | None = None) -> None:
        script = "\n".join(("set -e", *commands))
        argv = (*(entered(inside) if inside else ()), "sh", "-c", script)
        done = subprocess.run(argv, env=self.env, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SandboxError(f"cannot make the real node's network: {done.stderr.strip()}")


def entered(pid: int) -> tuple[str, ...]:
    """The command prefix that enters the namespaces of a process."""
    return ("nsenter", f"--target={pid}", "--net", "--mount", "--")


def release(owner: str) -> bool:
    """Remove the owner's link, which its namespaces remove only later; True if it existed."""
    names = [path.parent.name for path in INTERFACES.glob("*/ifalias") if _said(path) == owner]
    for name in names:
        # It may vanish at this moment.
        subprocess.run(("ip", "link", "delete", name), capture_output=True, check=False)
    return bool(names)


def hides(path: Path) -> str:
    """The private folder that hides this path inside the namespaces; empty if none does."""
    return next((each for each in PRIVATE if path.resolve().is_relative_to(each)), "")


def _said(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def _await_program(pid: int) -> None:
    """Wait until unshare has executed its program: then the namespaces are complete."""
    deadline = time.monotonic() + WITHIN
    while (name := _said(Path(f"/proc/{pid}/comm"))) != HOLD[-2]:
        if not name or time.monotonic() > deadline:
            raise SandboxError("the real node's namespaces do not come up: see the log of `node`")
        time.sleep(0.005)
