"""Finds the workers that `--remove` names, and says what becomes of their indexes.

Names must match as a whole.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from edl.messages.scarcity_messages import listed
from edl.model import Pod, ResizePolicy, Role, TrainingJob
from edl.spec import addresses
from edl.spec.allowed_sizes import RESIZABLE
from kubectl_edl.cli.command_errors import Refused

_SHOWN: Final = 8


def named_pods(job: TrainingJob, role: Role, text: str) -> tuple[Pod, ...]:
    """The pods of `worker-3,worker-5`, each once; raises Refused for an unknown name.

    A worker's names are its role and index, its host name, its host name with the domain, and its
    pod's name.
    """
    by_name = {name: pod for pod in _alive(role) for name in _names(job, role, pod)}
    asked = [name.strip() for name in text.split(",")]
    for name in asked:
        if name not in by_name:
            raise Refused(_unknown(job, role, name))
    chosen = {by_name[name].name: by_name[name] for name in asked}
    return tuple(chosen.values())


def _unknown(job: TrainingJob, role: Role, name: str) -> str:
    """That the role has no such worker, or which other role has it."""
    for other in job.roles:
        if any(name in _names(job, other, pod) for pod in _alive(other)):
            whose = f'{job.key.name}: "{name}" is a pod of {other.name}'
            if other.spec.resizing in RESIZABLE:
                return f"{whose}: add --role {other.name}"
            return f"{whose}, which is never resized; {_present_workers(role)}"
    return f'{job.key.name} has no worker "{name}"; {_present_workers(role)}'


def hosts(job: TrainingJob, role: Role, indexes: Iterator[int] | list[int]) -> list[str]:
    """`host:slots` of these workers, in the format of host files."""
    service, namespace = job.key.name, job.key.namespace
    return [
        f"{addresses.host(role.job, index, service, namespace)}:{role.spec.slots}"
        for index in indexes
    ]


def replaced(role: Role, removed: Sequence[Pod], size: int | None) -> tuple[Pod, ...]:
    """The named pods whose indexes the size keeps: their Job creates these again."""
    if size is None or not role.spec.indexed:
        return ()
    return tuple(pod for pod in removed if pod.index < size)


def removal_sentence(role: Role, removed: Sequence[Pod], size: int | None) -> str:
    """What ends, and what is created again: an Indexed Job drops its highest indexes."""
    again = replaced(role, removed, size)
    ended = [pod for pod in removed if pod not in again]
    parts = [f"{_named(role, ended)} {_is(ended)} removed"] if ended else []
    if again:
        parts.append(f"{_named(role, again)} {_is(again)} replaced by {_new(again)}")
    above = [pod for pod in _alive(role) if again and pod.index >= (size or 0)]
    if highest := [pod for pod in above if pod not in removed]:
        which, end = ("index", "ends") if len(highest) == 1 else ("indexes", "end")
        parts.append(f"{_named(role, highest)} (the highest {which}) {end} instead")
    return ", and ".join(parts)


def same_node_hint(role: Role, again: Sequence[Pod], flags: str) -> tuple[str, ...]:
    """That new pods may return to their nodes, and the command that prevents it."""
    nodes = sorted({pod.node for pod in again if pod.node})
    if not nodes:
        return ()
    live = role.spec.resizing is ResizePolicy.LIVE
    alone = "; that alone also moves workers off, at the same size" if live else ""
    cordon = f"kubectl cordon {' '.join(nodes)}{flags}"
    return (
        f"{_new(again)} may run on {listed(nodes)} again, unless you cordon first: {cordon}{alone}",
    )


def _named(role: Role, pods: Sequence[Pod]) -> str:
    ordered = sorted(pods, key=lambda pod: (pod.index, pod.name))
    return listed([_short(role, pod) for pod in ordered], most=_SHOWN)


def _short(role: Role, pod: Pod) -> str:
    return f"{role.name}-{pod.index}" if pod.index >= 0 else pod.name


def _is(pods: Sequence[Pod]) -> str:
    return "is" if len(pods) == 1 else "are"


def _new(pods: Sequence[Pod]) -> str:
    return "a new pod" if len(pods) == 1 else "new pods"


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
    names = [_short(role, pod) for pod in alive]
    rest = f", … ({len(names)} in all)" if len(names) > _SHOWN else ""
    return f"there are {', '.join(names[:_SHOWN])}{rest}"
