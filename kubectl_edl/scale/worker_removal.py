"""Finds the workers that `--remove` names among a role's pods, by whole names only."""

from collections.abc import Iterator
from typing import Final

from edl.model import Pod, Role, TrainingJob
from edl.spec import addresses
from kubectl_edl.cli.command_errors import Refused

_SHOWN: Final = 8


def named_pods(job: TrainingJob, role: Role, text: str) -> tuple[Pod, ...]:
    """The pods of `worker-3,worker-5`, each once; raises Refused for an unknown name.

    A worker's names are its role and index, its host name, its host name with the domain, and its
    pod's name.
    """
    known = {name: pod for pod in _alive(role) for name in _names(job, role, pod)}
    asked = [name.strip() for name in text.split(",")]
    for name in asked:
        if name not in known:
            raise Refused(f'{job.key.name} has no worker "{name}"; {_present_workers(role)}')
    found = {known[name].name: known[name] for name in asked}
    return tuple(found.values())


def hosts(job: TrainingJob, role: Role, indexes: Iterator[int] | list[int]) -> list[str]:
    """`host:slots` of these workers, in the format of host files."""
    service, namespace = job.key.name, job.key.namespace
    return [
        f"{addresses.host(role.job, index, service, namespace)}:{role.spec.slots}"
        for index in indexes
    ]


def _alive(role: Role) -> list[Pod]:
    return [pod for pod in role.status.pods if not pod.terminating and not pod.ended]


def _names(job: TrainingJob, role: Role, pod: Pod) -> Iterator[str]:
    yield pod.name
    if pod.index < 0:
        return
    yield f"{role.name}-{pod.index}"
    yield addresses.hostname(role.job, pod.index)
    host = addresses.host(role.job, pod.index, job.key.name, job.key.namespace)
    yield host
    yield f"{host}.cluster.local"


def _present_workers(role: Role) -> str:
    alive = _alive(role)
    if not alive:
        return f"no {role.name} of it runs"
    names = [f"{role.name}-{pod.index}" if pod.index >= 0 else pod.name for pod in alive]
    rest = f", … ({len(names)} in all)" if len(names) > _SHOWN else ""
    return f"there are {', '.join(names[:_SHOWN])}{rest}"
