"""What a machine looks like from outside of any sandbox, to see what one leaves behind."""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from sandbox import Sandbox
from sandbox.processes import ownership
from sandbox.real import cgroups

FOLDERS = ("/run", "/var/lib", "/var/log", "/var/cache", "/opt", "/etc", "/etc/cni", "/usr/libexec")
SETTINGS = ("vm/*", "kernel/panic*", "kernel/keys/*", "net/ipv4/ip_forward", "net/netfilter/*_max")
# Other sandboxes may come and go meanwhile: their links, addresses and cgroups.
OTHERS = re.compile(r"\bedl(\d+)\b|\b10\.20[12]\.(\d+)\.|\bedl-([a-z0-9-]+)-[0-9a-f]{8}\b")


def seen() -> set[str]:
    """Links, routes, named network namespaces, mounts, cgroups, settings, files: a line each."""
    return {*_commands(), *_mounts(), *_cgroups(), *_settings(), *_files()}


def left_by(sandbox: Sandbox, network: int, before: set[str]) -> set[str]:
    """What is there now that was not before, and is not another sandbox's; its processes, too."""
    lines = {line for line in seen() - before if _may_be_of(line, sandbox.name, str(network))}
    return lines | {f"process {found}" for found in ownership.of_sandbox(sandbox.folder)}


def network_of(sandbox: Sandbox) -> int:
    """The number in its addresses, 10.201.NUMBER.1."""
    return int(sandbox.server.split(".")[2])


def _may_be_of(line: str, name: str, network: str) -> bool:
    marks = [mark for found in OTHERS.findall(line) for mark in found if mark]
    return not marks or bool({name, network} & set(marks))


def _commands() -> Iterator[str]:
    for words in ("-brief link", "route show table all", "rule", "netns list"):
        argv = ("ip", *words.split())
        done = subprocess.run(argv, capture_output=True, text=True, check=True)
        yield from (f"ip {words}: {line.strip()}" for line in done.stdout.splitlines())


def _mounts() -> Iterator[str]:
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        yield f"mount: {' '.join(line.split()[3:6])}"


def _cgroups() -> Iterator[str]:
    for root in cgroups.hierarchies():
        # Unlike Path.rglob it is not disturbed by what goes meanwhile.
        yield from (f"cgroup: {folder}" for folder, _, _ in os.walk(root))


def _settings() -> Iterator[str]:
    folder = Path("/proc/sys")
    for path in (path for pattern in SETTINGS for path in folder.glob(pattern)):
        if path.is_file() and path.stat().st_mode & 0o400:
            yield f"setting: {path}: {path.read_text().strip()}"


def _files() -> Iterator[str]:
    for folder in (Path(each) for each in FOLDERS):
        if folder.is_dir():
            yield from (f"file: {path}" for path in folder.iterdir())
    yield from (f"file: {path}" for path in Path("/tmp").glob("*containerd*"))  # noqa: S108
