"""PaddlePaddle: today's collective, parameter server and elastic modes, and v1's cloud mode.

Collective and ps follow paddle.distributed's role maker and init_parallel_env (3.3.1). They expect
a fixed number of trainers, so every resize restarts all pods.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from edl import contract
from edl.frameworks import paddle_cloud, paddle_elastic
from edl.frameworks.base import Env, Framework, Mode, Needs, PeerAccess, RoleKind
from edl.model import ResizePolicy
from edl.spec import addresses
from edl.spec.job_spec import JobSpec

_MASTER: Final = "master"
_PSERVER: Final = "pserver"
_TRAINER: Final = "trainer"
_SERVED: Final = (_PSERVER, _TRAINER)
_PORT: Final = 6170
"""The first port of Paddle's own launchers."""
_PORT_NAME: Final = "paddle"
_NUMBER: Final = "PADDLE_TRAINERS_NUM"
_LAUNCHERS: Final = ("paddle.distributed.launch", "fleetrun")
"""One program under two names."""


def _endpoints(spec: JobSpec, role: str) -> str:
    (count,) = (bounds.max for bounds in spec.all_roles if bounds.role == role)
    return ",".join(f"{host}:{spec.port}" for host in addresses.hosts(spec, role, count))


def _trainers(spec: JobSpec, *numbers: str) -> tuple[Env, ...]:
    """The number of trainers, under these names, and their endpoints."""
    where = "PADDLE_TRAINER_ENDPOINTS"
    if spec.rank is None:
        counts = (Env(number, annotation=contract.WORKERS) for number in numbers)
        return (*counts, Env(where, annotation=contract.CLUSTER))
    # Bare pods are never resized: they are all pods of the job.
    endpoints = _endpoints(spec, _TRAINER)
    count = str(endpoints.count(",") + 1)
    return (*(Env(number, count) for number in numbers), Env(where, endpoints))


def _collective(spec: JobSpec) -> Needs:
    """For a program of one process, and for a launcher, which starts one for each GPU of its pod.

    Launchers meet at the first trainer: the one whose POD_IP is the master's host.
    """
    host, (first,) = addresses.own_host(spec), addresses.hosts(spec, _TRAINER, 1)
    env = (
        Env("PADDLE_TRAINER_ID", addresses.INDEX),
        *_trainers(spec, _NUMBER, "PADDLE_NNODES"),
        Env("PADDLE_CURRENT_ENDPOINT", f"{host}:{spec.port}"),
        Env("PADDLE_MASTER", f"{first}:{spec.port}"),
        Env("PADDLE_JOB_ID", spec.job),
        Env("POD_IP", host),
        Env("TRAINING_ROLE", _TRAINER.upper()),
        *_backend(spec),
    )
    return Needs(env=env, ports=((_PORT_NAME, spec.port),))


def _backend(spec: JobSpec) -> tuple[Env, ...]:
    """What a program of one process computes on; Paddle itself finds out for unknown devices."""
    if spec.resources.accelerated:
        return (Env("FLAGS_selected_gpus", "0"),)
    return () if spec.resources.other_devices else (Env("PADDLE_DISTRI_BACKEND", "gloo"),)


def _ps(spec: JobSpec) -> Needs:
    env = (
        Env("TRAINING_ROLE", spec.role.upper()),
        Env("PADDLE_PSERVERS_IP_PORT_LIST", _endpoints(spec, _PSERVER)),
        *_trainers(spec, _NUMBER),
        Env("PADDLE_PORT", str(spec.port)),
        # A server looks itself up in the list, which has names.
        Env("POD_IP", addresses.own_host(spec)),
    )
    ranked = (*env, Env("PADDLE_TRAINER_ID", addresses.INDEX)) if spec.role == _TRAINER else env
    return Needs(env=ranked, ports=((_PORT_NAME, spec.port),))


def at_start(members: Mapping[str, Sequence[str]]) -> Mapping[str, str]:
    """The endpoints and the number of the running trainers."""
    trainers = members.get(_TRAINER, ())
    return {contract.CLUSTER: ",".join(trainers), contract.WORKERS: str(len(trainers))}


FRAMEWORK: Final = Framework(
    name="paddle",
    roles=(
        RoleKind(_MASTER, single=True, serves=True),
        RoleKind(_PSERVER, serves=True),
        RoleKind(_TRAINER, resizable=True),
    ),
    worker=_TRAINER,
    completion_roles=(_TRAINER,),
    min_peers_env="PADDLE_NNODES",
    rendezvous_mode="elastic",
    modes=(
        Mode(
            "cloud",
            ResizePolicy.LIVE,
            paddle_cloud.describe,
            role=_MASTER,
            roles=(_MASTER, *_SERVED),
            opt_in=True,
            peers=PeerAccess.LABELS,
            threads=True,
        ),
        Mode(
            "cloud",
            ResizePolicy.RESTART,
            paddle_cloud.describe,
            role=_PSERVER,
            roles=_SERVED,
            opt_in=True,
            at_start=at_start,
            peers=PeerAccess.LABELS,
            threads=True,
        ),
        Mode(
            "ps",
            ResizePolicy.RESTART,
            _ps,
            role=_PSERVER,
            roles=_SERVED,
            at_start=at_start,
            port=_PORT,
        ),
        Mode(
            "elastic",
            ResizePolicy.LIVE,
            paddle_elastic.describe,
            role=_MASTER,
            roles=(_MASTER, _TRAINER),
            port=paddle_elastic.PORT,
            cooldown=paddle_elastic.COOLDOWN,
        ),
        Mode(
            "collective",
            ResizePolicy.RESTART,
            _collective,
            roles=(_TRAINER,),
            at_start=at_start,
            port=_PORT,
            one_gpu=True,
            rendezvous_env=("POD_IP", "PADDLE_MASTER", "PADDLE_NNODES"),
        ),
    ),
    port=7164,
    settings=paddle_cloud.SETTINGS,
    launchers=_LAUNCHERS,
)
