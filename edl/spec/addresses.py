"""Names inside a training job: of its Jobs, its pods' hosts, and its dependent objects."""

from collections.abc import Mapping, Sequence
from typing import Final

from edl import contract
from edl.errors import Denied, Finding
from edl.spec.job_spec import JobSpec

SSH_PRIVATE_KEY: Final = "id_rsa"
SSH_PUBLIC_KEY: Final = "id_rsa.pub"
SSH_CONFIG: Final = "config"

INDEX: Final = f"$({contract.COMPLETION_INDEX_ENV})"
"""A pod's index as a reference to a variable, which the kubelet expands."""
LONGEST_VARIABLE: Final = 131_072
"""Bytes of `NAME=value` with which Linux starts a program, the final 0 included
(MAX_ARG_STRLEN)."""


def job_name(spec: JobSpec, role: str) -> str:
    """The Job of a role: `mnist-worker`, or the object's own name if it is the only role.

    Bare pods have no Job; their hosts are named as if they had one: `mnist-worker-0`.
    """
    alone = len(spec.all_roles) == 1 and spec.rank is None
    return spec.name if alone else f"{spec.job}-{role}"


def hostname(job: str, index: int | str) -> str:
    """A pod's host name, as the Job controller sets it.

    `index` may be a text that the kubelet expands.
    """
    return f"{job}-{index}"


def host(job: str, index: int | str, service: str, namespace: str) -> str:
    """A pod's address within the cluster (docs/kubernetes.md 5)."""
    return f"{hostname(job, index)}.{service}.{namespace}.svc"


def hosts(spec: JobSpec, role: str, count: int) -> Sequence[str]:
    """The addresses of a role's first `count` pods, in the order of their indexes.

    Raises Denied, before any is built, if they would not fit into an environment variable.
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
    if (characters := length(spec, counts)) >= LONGEST_VARIABLE:
        what = f"the list of hosts in a variable would have more than {characters} characters"
        raise Denied([too_many_hosts(what)])


def length(spec: JobSpec, counts: Mapping[str, int]) -> int:
    """Characters of the addresses of `counts[role]` pods per role: computed, not built."""
    return sum(_length(spec, role, count) for role, count in counts.items())


def _length(spec: JobSpec, role: str, count: int) -> int:
    powers = (int("1" + "0" * zeros) for zeros in range(1, len(str(count))))
    digits = sum(count - power for power in powers if count > power)
    return count * len(host(job_name(spec, role), 0, spec.job, spec.namespace)) + digits


def too_many_hosts(what: str, most: int = LONGEST_VARIABLE) -> Finding:
    allowed = f"below {most}: a smaller max, or shorter names"
    return Finding(f"metadata.labels[{contract.MAX}]", what, allowed)


def own_host(spec: JobSpec) -> str:
    """A pod's own address; the kubelet expands the index."""
    return host(job_name(spec, spec.role), INDEX, spec.job, spec.namespace)


def launcher_account(job: str) -> str:
    """The name of the ServiceAccount and RoleBinding of a training job's launcher."""
    return f"{job}-launcher"


def peers_account(job: str) -> str:
    """The name of the ServiceAccount and RoleBinding of pods that list their peers."""
    return f"{job}-peers"


def ssh_secret(job: str) -> str:
    """The name of the Secret with the key pair of a training job whose launcher uses ssh.

    Its keys are `SSH_PRIVATE_KEY`, `SSH_PUBLIC_KEY` and `SSH_CONFIG`, as et-operator names them.
    """
    return f"{job}-ssh"
