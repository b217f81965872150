"""Horovod, elastic: a launcher that reads a live host list, and workers that wait for commands.

Paths and variables are et-operator's, because users' commands hard-code them.
"""

from typing import Final

from edl import contract
from edl.frameworks.needs import Env, Framework, LiveFile, Mode, Needs, RoleKind
from edl.frameworks.scripts import DISCOVER_HOSTS, KUBEXEC, WAIT_FOR_COMMANDS
from edl.model import Resizing
from edl.spec import JobSpec

_LAUNCHER: Final = Needs(
    env=(
        Env(contract.RSH_AGENT_ENV, contract.MPI_KUBEXEC),
        Env(contract.DEFAULT_HOSTFILE_ENV, contract.MPI_HOSTFILE_PATH),
    ),
    files=(
        LiveFile(contract.EDL_DIRECTORY, "hostfile", contract.HOSTFILE),
        LiveFile(
            contract.EDL_DIRECTORY, "discover_hosts.sh", contract.DISCOVER_HOSTS, executable=True
        ),
        LiveFile(contract.MPI_DIRECTORY, "hostfile", contract.MPI_HOSTFILE),
        LiveFile(contract.MPI_DIRECTORY, "kubexec.sh", contract.KUBEXEC_SCRIPT, executable=True),
    ),
    annotations=(
        (contract.DISCOVER_HOSTS, DISCOVER_HOSTS),
        (contract.KUBEXEC_SCRIPT, KUBEXEC),
    ),
    gated=True,
    kubectl=True,
)
_WORKER: Final = Needs(command=("/bin/sh", "-c", WAIT_FOR_COMMANDS))
_NEEDS: Final = {"launcher": _LAUNCHER, "worker": _WORKER}


def describe(spec: JobSpec) -> Needs:
    return _NEEDS[spec.role]


FRAMEWORK: Final = Framework(
    name="horovod",
    roles=(
        RoleKind("launcher", single=True),
        RoleKind("worker", resizable=True, serves=True),
    ),
    worker="worker",
    deciders=("launcher",),
    modes=(Mode("kubexec", Resizing.LIVE, needed=("launcher", "worker")),),
    describe=describe,
    publishes="worker",
)
