"""The containers whose logs are selected, in the order of roles."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

import click

from edl import contract
from edl.contract.manifest_parts import annotations, default_container
from edl.kube.decode.schemas import ENDED_PHASES
from edl.kube.option_group import option, option_group
from edl.model import ObjectRef, Role, TrainingJob
from edl.parsing.yaml_values import whole
from edl.writes import Json
from kubectl_edl.cli.command_errors import Refused
from kubectl_edl.cli.completion_candidates import role_names
from kubectl_edl.cli.param_types import Duration
from kubectl_edl.client.pending_pods import owning_jobs

_GATED: Final = "it waits behind a scheduling gate"
SIMULATED: Final = (
    "simulated pods write no log: nothing runs on kwok's nodes; kubectl edl events JOB shows what "
    "happened to them"
)


@option_group
class LogOptions:
    """The logs to read, the part of them, and the output format; empty or None if not given."""

    follow: bool = option("-f", help="Follow the logs until the training job has ended.")
    role: tuple[str, ...] = option(
        shell_complete=role_names, help="Only print logs of this role; may be repeated."
    )
    index: int | None = option(
        type=click.IntRange(min=0), metavar="N", help="Only print logs of pods with this index."
    )
    container: str = option("-c", help="Container; defaults to the one that kubectl logs selects.")
    tail: int | None = option(
        type=click.IntRange(min=0), metavar="N", help="Number of recent lines of each log to print."
    )
    since: timedelta | None = option(
        type=Duration(above_zero=True), help="Only print lines newer than 90s, 10m or 1h."
    )
    previous: bool = option("-p", help="Print the logs of the previous instance of each container.")
    timestamps: bool = option(help="Include timestamps.")
    prefix: bool = option(
        default=True, show_default=True, help="Prefix each line with its role and index."
    )


@dataclass(frozen=True, slots=True)
class LogTarget:
    """One container of one pod, as it is now; `restarts` distinguishes its runs."""

    label: str
    """`worker-3`: the role and the index; without an index, the end of the pod's name."""
    role: str
    pod: ObjectRef
    uid: str
    container: str
    restarts: int
    waiting: str
    """Why it has no log yet; empty once it has started."""
    ended: bool
    stays: bool
    """It keeps running after its training job has ended."""
    simulated: bool = False
    """It runs without a container runtime, as on kwok's nodes."""

    @property
    def run(self) -> tuple[str, str, int]:
        """The identity of one log, which changes when the container restarts."""
        return self.uid, self.container, self.restarts


def sources(job: TrainingJob, pods: Iterable[Json], asked: LogOptions) -> tuple[LogTarget, ...]:
    """The targets ordered by role, index and age. Raises Refused for unknown names."""
    roles = _chosen_roles(job, asked.role)
    mine = _pods_by_role(roles, pods)
    chosen = [
        (role, pod)
        for role in roles
        for pod in sorted(mine[role.name], key=_order)
        if asked.index in (None, _index(pod))
    ]
    named = [(role, pod, _container(pod, asked.container)) for role, pod in chosen]
    if chosen and all(container is None for *_, container in named):
        names = dict.fromkeys(name for _, pod in chosen for name in _containers(pod))
        raise Refused(f'no container "{asked.container}" in these pods; {", ".join(names)}')
    return tuple(_source(role, pod, name) for role, pod, name in named if name is not None)


def _chosen_roles(job: TrainingJob, names: Sequence[str]) -> list[Role]:
    roles = [*job.role_names, *job.missing]
    for name in names:
        if name not in roles:
            one_of = ", ".join(roles)
            raise Refused(f'{job.key.name} has no role "{name}"; --role is one of {one_of}')
    return [role for role in job.roles if not names or role.name in names]


def _pods_by_role(roles: Sequence[Role], pods: Iterable[Json]) -> Mapping[str, list[Json]]:
    by_job: dict[str, list[Json]] = {role.job: [] for role in roles}
    for pod in pods:
        for owner in owning_jobs(pod):
            if owner in by_job:
                by_job[owner].append(pod)
    return {role.name: by_job[role.job] for role in roles}


def _order(pod: Json) -> tuple[int, str, str]:
    metadata = pod["metadata"]
    return _index(pod), metadata.get("creationTimestamp") or "", metadata["name"]


def _index(pod: Json) -> int:
    index = whole(annotations(pod).get(contract.COMPLETION_INDEX_ANNOTATION, ""))
    return -1 if index is None else index


def _containers(pod: Json) -> list[str]:
    spec = pod["spec"]
    return [one["name"] for one in (*spec["containers"], *(spec.get("initContainers") or ()))]


def _container(pod: Json, name: str) -> str | None:
    """The chosen container, or the one kubectl would choose; None for a pod without it."""
    names = _containers(pod)
    if name:
        return name if name in names else None
    return names[default_container(names, annotations(pod).get(contract.DEFAULT_CONTAINER))]


def _source(role: Role, pod: Json, container: str) -> LogTarget:
    metadata, status = pod["metadata"], pod.get("status") or {}
    index = _index(pod)
    suffix = str(index) if index >= 0 else metadata["name"].rpartition("-")[2]
    current = _container_status(status, container)
    ended = status.get("phase") in ENDED_PHASES or "terminated" in (current.get("state") or {})
    leaving = ended or "deletionTimestamp" in metadata
    return LogTarget(
        label=f"{role.name}-{suffix}",
        role=role.name,
        pod=ObjectRef("Pod", metadata["namespace"], metadata["name"]),
        uid=metadata["uid"],
        container=container,
        restarts=current.get("restartCount") or 0,
        waiting=_waiting(pod, current),
        ended=ended,
        stays=not leaving and role.status.ending is None,
        simulated="running" in (current.get("state") or {}) and not current.get("containerID"),
    )


def _container_status(status: Json, name: str) -> Json:
    listed = [
        entry
        for field in ("containerStatuses", "initContainerStatuses")
        for entry in status.get(field) or ()
    ]
    return next((entry for entry in listed if entry.get("name") == name), {})


def _waiting(pod: Json, container: Json) -> str:
    """Why a container has no log; empty if it has one, or may have."""
    state = container.get("state") or {}
    if "waiting" in state and "terminated" not in (container.get("lastState") or {}):
        return _reason_text(state["waiting"], "it is waiting to start")
    status = pod.get("status") or {}
    if state or status.get("phase") != "Pending":
        return ""
    if pod["spec"].get("schedulingGates"):
        return _GATED
    conditions = {condition["type"]: condition for condition in status.get("conditions") or ()}
    placed = conditions.get("PodScheduled") or {}
    return _reason_text(placed if placed.get("status") == "False" else {}, "it is Pending")


def _reason_text(state: Json, otherwise: str) -> str:
    """`ImagePullBackOff: Back-off pulling image …`."""
    return (
        ": ".join(text for name in ("reason", "message") if (text := state.get(name))) or otherwise
    )
