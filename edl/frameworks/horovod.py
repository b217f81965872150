"""Horovod, elastic: a launcher that reads a live host list, and workers that wait for commands.

The launcher reaches the workers by exec (mode kubexec), or by ssh with a key pair of the training
job's own (mode ssh: needs neither kubectl nor RBAC). Paths and variables are et-operator's, because
users' commands hard-code them.
"""

from typing import Final

from edl import contract
from edl.frameworks.base import Env, Framework, LiveFile, Mode, Needs, PeerAccess, RoleKind
from edl.frameworks.scripts import DISCOVER_HOSTS, KUBEXEC, WAIT_FOR_COMMANDS, WAIT_FOR_SSH
from edl.model import ResizePolicy

_HOST_LISTS: Final = (
    LiveFile(contract.EDL_DIRECTORY, "hostfile", contract.HOSTFILE),
    LiveFile(contract.EDL_DIRECTORY, "discover_hosts.sh", contract.DISCOVER_HOSTS, executable=True),
    LiveFile(contract.MPI_DIRECTORY, "hostfile", contract.MPI_HOSTFILE),
    LiveFile(contract.JOB_DIRECTORY, "hostfile", contract.MPI_HOSTFILE),
)
_DEFAULT_HOSTFILE: Final = (
    Env("OMPI_MCA_orte_default_hostfile", contract.MPI_HOSTFILE_PATH),
    Env("PRTE_MCA_prte_default_hostfile", contract.MPI_HOSTFILE_PATH),
)
"""Open MPI reads variables of ORTE before release 5, and of PRRTE from then on."""
_KUBEXEC_AGENT: Final = (
    Env("OMPI_MCA_plm_rsh_agent", contract.MPI_KUBEXEC),
    Env("PRTE_MCA_plm_ssh_agent", contract.MPI_KUBEXEC),
    # Beyond 64 hosts workers would start others, and they cannot exec.
    Env("OMPI_MCA_plm_rsh_no_tree_spawn", "1"),
    Env("PRTE_MCA_plm_ssh_no_tree_spawn", "1"),
)
_WHOLE_HOST_NAMES: Final = (
    Env("OMPI_MCA_orte_keep_fqdn_hostnames", "true"),
    Env("PRTE_MCA_prte_keep_fqdn_hostnames", "true"),
)
"""Without them mpirun cuts host names at the first dot, and ssh cannot resolve the rest."""
_KUBEXEC: Final = {
    "launcher": Needs(
        env=(*_KUBEXEC_AGENT, *_DEFAULT_HOSTFILE),
        files=(
            *_HOST_LISTS,
            LiveFile(
                contract.MPI_DIRECTORY, "kubexec.sh", contract.KUBEXEC_SCRIPT, executable=True
            ),
        ),
        annotations=((contract.DISCOVER_HOSTS, DISCOVER_HOSTS), (contract.KUBEXEC_SCRIPT, KUBEXEC)),
        gated=True,
        kubectl=True,
    ),
    "worker": Needs(command=("/bin/sh", "-c", WAIT_FOR_COMMANDS)),
}
_SSH: Final = {
    "launcher": Needs(
        env=(*_DEFAULT_HOSTFILE, *_WHOLE_HOST_NAMES),
        files=_HOST_LISTS,
        annotations=((contract.DISCOVER_HOSTS, DISCOVER_HOSTS),),
        gated=True,
        ssh_keys=True,
    ),
    "worker": Needs(command=("/bin/sh", "-c", WAIT_FOR_SSH), ssh_keys=True),
}
_ROLES: Final = ("launcher", "worker")

FRAMEWORK: Final = Framework(
    name="horovod",
    roles=(RoleKind("launcher", single=True), RoleKind("worker", resizable=True, serves=True)),
    worker="worker",
    completion_roles=("launcher",),
    modes=(
        Mode(
            "kubexec",
            ResizePolicy.LIVE,
            lambda spec: _KUBEXEC[spec.role],
            roles=_ROLES,
            peers=PeerAccess.EXEC,
        ),
        Mode(
            "ssh",
            ResizePolicy.LIVE,
            lambda spec: _SSH[spec.role],
            roles=_ROLES,
            opt_in=True,
            peers=PeerAccess.SSH,
        ),
    ),
    publishes="worker",
)
