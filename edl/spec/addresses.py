"""Names inside a training job: its Jobs, its pods' hosts, and their dependents."""

from collections.abc import Mapping, Sequence
from typing import Final

from edl import contract
from edl.errors import Denied, Finding
from edl.spec.job_spec import JobSpec

SSH_PRIVATE_KEY: Final = "id_rsa"
SSH_PUBLIC_KEY: Final = "id_rsa.pub"
SSH_CONFIG: Final = "config"

INDEX: Final = f"$({contract.COMPLETION_INDEX_ENV})"
"""A pod's index in a variable: the kubelet writes it in."""
LONGEST_VARIABLE: Final = 131_072
"""Bytes of `NAME=value` that Linux starts a program with, the final 0 included (MAX_ARG_STRLEN)."""


def job_name(spec: JobSpec, role: str) -> str:
    """The Job of a role: `mnist-worker`, or the object's own name when it stands alone.

    Bare pods have no Job; their hosts are named as if they had: `mnist-worker-0`.
    """
    alone = len(spec.all_roles) == 1 and spec.rank is None
    return spec.name if alone else f"{spec.job}-{role}"


def hostname(job: str, index: int | str) -> str:
    """A pod's host name, as the Job controller makes it; a text is one that the kubelet expands."""
    return f"{job}-{index}"


def host(job: str, index: int | str, service: str, namespace: str) -> str:
    """A pod's address within the cluster (docs/kubernetes.md 5)."""
    return f"{hostname(job, index)}.{service}.{namespace}.svc"


def hosts(spec: JobSpec, role: str, count: int) -> Sequence[str]:
    """The addresses of a role's first `count` pods, in order of their indexes.

    Raises Denied, and builds none, where no variable holds them.
    """
    _check_length(spec, {role: count})
    job = job_name(spec, role)
    return [host(job, index, spec.job, spec.namespace) for index in range(count)]


def members(spec: JobSpec) -> dict[str, list[str]]:
    """`host:port` of every pod by role, each role at its max. Raises Denied as `hosts` does."""
    _check_length(spec, {bounds.role: bounds.max for bounds in spec.all_roles})
    return {
        bounds.role: [f"{host}:{spec.port}" for host in hosts(spec, bounds.role, bounds.max)]
        for bounds in spec.all_roles
    }


def _check_length(spec: JobSpec, counts: Mapping[str, int]) -> None:
    if (found := length(spec, counts)) >= LONGEST_VARIABLE:
        what = f"the list of hosts in a variable would have more than {found} characters"
        raise Denied([too_many_hosts(what)])


def length(spec: JobSpec, counts: Mapping[str, int]) -> int:
    """Characters of the addresses of the given number of pods per role: computed, not built."""
    return sum(_length(spec, role, count) for role, count in counts.items())


def _length(spec: JobSpec, role: str, count: int) -> int:
    powers = (int("1" + "0" * zeros) for zeros in range(1, len(str(count))))
    digits = sum(count - power for power in powers if count > power)
    return count * len(host(job_name(spec, role), 0, spec.job, spec.namespace)) + digits


def too_many_hosts(what: str) -> Finding:
    allowed = f"below {LONGEST_VARIABLE}: a smaller max, or shorter names"
    return Finding(f"metadata.labels[{contract.MAX}]", what, allowed)


def own_host(spec: JobSpec) -> str:
    """A pod's own address: the kubelet writes its index in."""
    return host(job_name(spec, spec.role), INDEX, spec.job, spec.namespace)


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
