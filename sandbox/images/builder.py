"""Debian's buildah, isolated from the rest of this machine.

It runs in its own mount and process namespaces: the unpacked packages appear at the paths that
they expect, and mounts and processes end with it, even if this process is killed.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sandbox.builds.logged_run import Task, watched
from sandbox.builds.progress import Progress

APART: Final = (
    *("setpriv", "--pdeathsig", "KILL", "--"),
    *("unshare", "--mount", "--propagation", "private"),
    *("--pid", "--fork", "--kill-child", "--mount-proc", "--"),
    *("sh", "-ec", 'mount -t overlay -o lowerdir=usr:/usr overlay /usr; exec "$@"', "sh"),
)
# The machine's own /etc/containers is not read. Nothing is pulled: all names are local.
CONFIGURATION: Final = {
    "containers.conf": "",
    "registries.conf": "unqualified-search-registries = []\n",
    "policy.json": json.dumps({"default": [{"type": "insecureAcceptAnything"}]}),
}
COPYING: Final = ("build", "push")
"""The commands that copy images, and therefore need a signature policy."""
_STEP: Final = re.compile(r"^(?:\[(\d+/\d+)\] )?STEP (\d+/\d+): ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Builder:
    """Runs the unpacked programs, one after another.

    what: "build the image tensorflow", for errors. packages: the programs' files. storage: layers
    and images, kept between builds. work: a folder for this build only.
    """

    what: str
    packages: Path
    storage: Path
    work: Path
    environ: Mapping[str, str]
    log: Path
    progress: Progress

    def buildah(self, command: str, *args: str) -> None:
        """Run a buildah command. Raises BuildError."""
        registries = ("--registries-conf", str(self.work / "registries.conf"))
        policy = ("--signature-policy", str(self.work / "policy.json"))
        copies = command in COPYING
        self.run("buildah", *registries, command, *(policy if copies else ()), *args)

    def run(self, *argv: str) -> None:
        """Run a program. Raises BuildError."""
        task = Task(self.what, (*APART, *argv), self.packages, self._environment(), self.log)
        watched(task, self.progress, doing)

    def _environment(self) -> dict[str, str]:
        settings = {**CONFIGURATION, "storage.conf": storage_conf(self.storage, self.work / "run")}
        for name, text in settings.items():
            (self.work / name).write_text(text)
        temporary = self.work / "tmp"
        temporary.mkdir(exist_ok=True)
        return {
            **self.environ,
            "BUILDAH_ISOLATION": "chroot",
            "CONTAINERS_CONF": str(self.work / "containers.conf"),
            "CONTAINERS_STORAGE_CONF": str(self.work / "storage.conf"),
            "TMPDIR": str(temporary),
        }


def storage_conf(storage: Path, run: Path) -> str:
    """A configuration for containers/storage, in TOML."""
    values = {"driver": "overlay", "graphroot": str(storage), "runroot": str(run)}
    lines = (f"{name} = {json.dumps(value)}" for name, value in values.items())
    return "\n".join(("[storage]", *lines, ""))


def doing(log: str) -> str:
    """The current step of a build, from its log: the Dockerfile step, and the last line."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    last = lines[-1].removeprefix("I: ") if lines else "starting"
    steps = _STEP.findall(log)
    if not steps:
        return last
    stage, step = steps[-1]
    said = "" if _STEP.match(last) else f", {last}"
    return f"{f'stage {stage}, ' if stage else ''}step {step}{said}"
