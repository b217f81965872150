"""Names inside a training job: of its Jobs, its pods' hosts, and what lives around them."""

from collections.abc import Sequence
from typing import Final

from edl import contract
from edl.spec import JobSpec

SSH_PRIVATE_KEY: Final = "id_rsa"
SSH_PUBLIC_KEY: Final = "id_rsa.pub"
SSH_CONFIG: Final = "config"


def job_name(spec: JobSpec, role: str) -> str:
    """The Job of a role: `mnist-worker`, or the object's own name when it stands alone.

    Bare pods have no Job; their hosts are named as if they had: `mnist-worker-0`.
    """
    alone = len(spec.cast) == 1 and spec.rank is None
    return spec.name if alone else f"{spec.job}-{role}"


def hostname(job: str, index: int | str) -> str:
    """A pod's host name, as the Job controller makes it; a text is one that the kubelet expands."""
    return f"{job}-{index}"


def host(job: str, index: int | str, service: str, namespace: str) -> str:
    """A pod's address within the cluster (docs/kubernetes.md 5)."""
    return f"{hostname(job, index)}.{service}.{namespace}.svc"


def hosts(spec: JobSpec, role: str, count: int) -> Sequence[str]:
    """The addresses of a role's first `count` pods, in order of their indexes."""
    job = job_name(spec, role)
    return [host(job, index, spec.job, spec.namespace) for index in range(count)]


def members(spec: JobSpec) -> dict[str, list[str]]:
    """`host:port` of every pod by role, each role at its max."""
    return {
        seat.role: [f"{host}:{spec.port}" for host in hosts(spec, seat.role, seat.max)]
        for seat in spec.cast
    }


def own_host(spec: JobSpec) -> str:
    """A pod's own address: the kubelet writes its index in."""
    index = f"$({contract.COMPLETION_INDEX_ENV})"
    return f"{job_name(spec, spec.role)}-{index}.{spec.job}.{spec.namespace}.svc"


def launcher_account(job: str) -> str:
    """The ServiceAccount (and RoleBinding) of a training job's launcher."""
    return f"{job}-launcher"


def peers_account(job: str) -> str:
    """The ServiceAccount (and RoleBinding) of pods that find their peers by listing them."""
    return f"{job}-peers"


def ssh_secret(job: str) -> str:
    """The Secret with the key pair of a training job whose launcher reaches its workers by ssh.

    Its keys are `SSH_PRIVATE_KEY`, `SSH_PUBLIC_KEY` and `SSH_CONFIG`, as et-operator names them.
    """
    return f"{job}-ssh"
