"""MXNet: servers and workers that a scheduler connects, configured by DMLC_* and MX_CONFIG.

Names and shapes are the MXNet operators' (kubeflow's v1, and training-operator's), because users'
scripts read them. A scheduler expects a fixed number of peers, so every resize restarts all pods:
each start writes the number of replicas to annotations, which the pods read.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from edl import contract
from edl.frameworks.base import Env, Framework, LiveFile, Mode, Needs, RoleKind
from edl.model import ResizePolicy
from edl.spec import addresses
from edl.spec.job_spec import JobSpec

_CLUSTER: Final = f"$({contract.CLUSTER_ENV})"
_SERVER_KEY: Final = f"$({'DMLC_TUNER_SERVER_KEY'})"
_PORT_NAME: Final = "mxjob-port"
_SCHEDULER: Final = "scheduler"
_SERVER: Final = "server"
_WORKER: Final = "worker"
_DIST: Final = (_SCHEDULER, _SERVER, _WORKER)
# Spelled as the operator lower-cases its replica types: scripts look them up in MX_CONFIG.
_TRACKER: Final = "tunertracker"
_TUNER_SERVER: Final = "tunerserver"
_TUNER: Final = "tuner"
_TUNE: Final = (_TRACKER, _TUNER_SERVER, _TUNER)


def _cluster(members: Mapping[str, Sequence[str]]) -> str:
    """MX_CONFIG's cluster, from `host:port` by role."""
    entries = {role: [_url_and_port(found) for found in members[role]] for role in sorted(members)}
    return json.dumps(entries, separators=(",", ":"))


def _url_and_port(address: str) -> Mapping[str, str | int]:
    url, _, port = address.rpartition(":")
    return {"url": url, "port": int(port)}


def _widest_cluster(spec: JobSpec) -> str:
    return _cluster(addresses.members(spec))


def _mx_config(spec: JobSpec, cluster: str) -> Env:
    # Composed as text: the kubelet expands the index to a number and the cluster to JSON.
    keys = {role: _SERVER_KEY if role == _TUNER_SERVER else "" for role in sorted(spec.role_names)}
    labels = json.dumps(keys, separators=(",", ":"))
    return Env(
        "MX_CONFIG",
        f'{{"cluster":{cluster},"labels":{labels},'
        f'"task":{{"type":"{spec.role}","index":{addresses.INDEX}}}}}',
    )


def _itself(spec: JobSpec) -> tuple[Env, ...]:
    return (Env("DMLC_ROLE", spec.role), Env("DMLC_USE_KUBERNETES", "1"))


def _dist(spec: JobSpec) -> Needs:
    return _needs(spec, _trained(spec))


def _trained(spec: JobSpec) -> tuple[Env, ...]:
    """The variables of a scheduler, servers and workers."""
    (scheduler,) = addresses.hosts(spec, _SCHEDULER, 1)
    sizes = {bounds.role: bounds.max for bounds in spec.all_roles}
    env = (
        *_size_env(spec),
        Env("DMLC_PS_ROOT_URI", scheduler),
        Env("DMLC_PS_ROOT_PORT", str(spec.port)),
        Env("DMLC_NUM_SERVER", str(sizes[_SERVER])),
        *_itself(spec),
    )
    return (*env, Env("DMLC_WORKER_ID", addresses.INDEX)) if spec.role == _WORKER else env


def _workers(spec: JobSpec) -> int:
    return next(bounds.max for bounds in spec.all_roles if bounds.role == _WORKER)


def _size_env(spec: JobSpec) -> tuple[Env, ...]:
    """The variables that depend on the number of running workers."""
    if spec.rank is not None:
        # Bare pods are never resized: they are all pods of the job.
        return (
            _mx_config(spec, _widest_cluster(spec)),
            Env("DMLC_NUM_WORKER", str(_workers(spec))),
        )
    return (
        Env(contract.CLUSTER_ENV, annotation=contract.CLUSTER),
        _mx_config(spec, _CLUSTER),
        Env("DMLC_NUM_WORKER", annotation=contract.WORKERS),
    )


def _tuned(spec: JobSpec) -> Needs:
    """What a tracker, measuring servers and a tuner need (TVM's auto-tuning)."""
    (tracker,) = addresses.hosts(spec, _TRACKER, 1)
    env = (
        Env("DMLC_TUNER_SERVER_KEY", annotation=contract.TUNER_SERVER_KEY),
        _mx_config(spec, _widest_cluster(spec)),
        Env("DMLC_TUNER_TRACKER_URI", tracker),
        Env("DMLC_TUNER_TRACKER_PORT", str(spec.port)),
        *_itself(spec),
    )
    return _needs(spec, env)


def _forked(spec: JobSpec) -> Needs:
    """The elastic fork, whose scheduler reads the workers of the next epoch at each epoch.

    EPOCH_BEGIN is left to that scheduler, which sets it for the workers that it starts.
    """
    # Joining workers, and all members, are known only once the pods exist; for bare pods before.
    waits = spec.rank is None and spec.role != _SERVER
    env = (*_trained(spec), Env("ELASTIC_TRAINING_ENABLED", "1"), *_told_by_role(spec))
    needs = replace(_needs(spec, env), gated=waits)
    return _with_worker_hosts(needs, spec) if spec.role == _SCHEDULER else needs


def _told_by_role(spec: JobSpec) -> tuple[Env, ...]:
    if spec.role == _SCHEDULER:
        return (Env("WORKER_HOST_FILE", contract.EDL_WORKER_HOSTS),)
    if spec.role == _WORKER and spec.rank is None:
        return (Env("NEW_WORKER", annotation=contract.NEW_WORKER),)
    return (Env("NEW_WORKER", "0"),) if spec.role == _WORKER else ()


def _with_worker_hosts(needs: Needs, spec: JobSpec) -> Needs:
    file = LiveFile(contract.EDL_DIRECTORY, "worker_hosts", contract.WORKER_HOSTS)
    if spec.rank is None:
        return replace(needs, files=(file,))
    hosts = addresses.hosts(spec, _WORKER, _workers(spec))
    content = "".join(f"{host}\n" for host in hosts)
    return replace(needs, files=(file,), annotations=((contract.WORKER_HOSTS, content),))


def _needs(spec: JobSpec, env: tuple[Env, ...]) -> Needs:
    return Needs(env=env, ports=((_PORT_NAME, spec.port),))


def at_start(members: Mapping[str, Sequence[str]]) -> Mapping[str, str]:
    """MX_CONFIG's cluster and DMLC_NUM_WORKER for the running size."""
    return {
        contract.CLUSTER: _cluster(members),
        contract.WORKERS: str(len(members.get(_WORKER, ()))),
    }


_DIST_MODE: Final = Mode(
    "dist", ResizePolicy.RESTART, _dist, role=_SCHEDULER, roles=_DIST, at_start=at_start
)

FRAMEWORK: Final = Framework(
    name="mxnet",
    roles=(
        RoleKind(_SCHEDULER, single=True),
        RoleKind(_SERVER, serves=True),
        RoleKind(_WORKER, resizable=True),
        RoleKind(_TRACKER, single=True, serves=True),
        RoleKind(_TUNER_SERVER, serves=True),
        RoleKind(_TUNER, single=True),
    ),
    worker=_WORKER,
    completion_roles=(_SCHEDULER, _TUNER, _WORKER),
    modes=(
        _DIST_MODE,
        # A role list with servers but without a scheduler lacks it by mistake.
        replace(_DIST_MODE, role=_SERVER),
        Mode("tune", ResizePolicy.FIXED, _tuned, role=_TUNER, roles=_TUNE),
        Mode("local", ResizePolicy.FIXED, lambda _: Needs(), roles=(_WORKER,), single=(_WORKER,)),
        Mode(
            "fork",
            ResizePolicy.LIVE,
            _forked,
            role=_SCHEDULER,
            roles=_DIST,
            opt_in=True,
            at_start=at_start,
            newcomers=_WORKER,
        ),
    ),
    port=9091,
)
