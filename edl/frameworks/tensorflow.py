"""TensorFlow, configured by TF_CONFIG.

Mode ps: the worker list always has `max` entries, so that workers come and go while chief and ps
stay unchanged (DRAGON's rule). Mode collective: strategies that wait for every listed task,
ParameterServerStrategy among them, need the size that really runs; each start writes it to the
annotation `edl.dev/cluster`. Mode sparse: as ps, but a worker knows no other worker; only ps need
the whole list ("No worker known as …" otherwise ends the worker that calls).
"""

import json
from collections.abc import Mapping, Sequence
from typing import Final

from edl import contract
from edl.frameworks.base import NO_STALL, Env, Framework, Mode, Needs, RoleKind
from edl.model import ResizePolicy
from edl.spec import addresses
from edl.spec.job_spec import JobSpec

_CLUSTER: Final = f"$({contract.CLUSTER_ENV})"
_PORT_NAME: Final = "tfjob-port"
_CHIEF: Final = "chief"
_WORKER: Final = "worker"
_PS: Final = "ps"
_EVALUATOR: Final = "evaluator"
"""Reads checkpoints from outside: TensorFlow keeps it out of the cluster."""


def _tf_config(role: str, cluster: str) -> str:
    # Composed as text: the kubelet expands the index to a number.
    task = f'{{"type":"{role}","index":{addresses.INDEX}}}'
    return f'{{"cluster":{cluster},"task":{task},"environment":"cloud"}}'


def _inside(members: Mapping[str, Sequence[str]]) -> dict[str, Sequence[str]]:
    return {role: hosts for role, hosts in members.items() if role != _EVALUATOR}


def _sparse(spec: JobSpec) -> Mapping[str, Sequence[str] | Mapping[str, str]]:
    """The cluster as this role must know it.

    `tf.train.ClusterSpec` accepts a map from index to task.
    """
    members = _inside(addresses.members(spec))
    if spec.role == _CHIEF:
        return {role: hosts for role, hosts in members.items() if role != _WORKER}
    if spec.role != _WORKER:
        return members
    address = f"{addresses.own_host(spec)}:{spec.port}"
    return {_PS: members[_PS], _WORKER: {addresses.INDEX: address}}


def _planned(spec: JobSpec) -> str:
    """The cluster as far as it is known when the Job is created."""
    members = _sparse(spec) if spec.mode == "sparse" else _inside(addresses.members(spec))
    return json.dumps(members, separators=(",", ":"))


def at_start(members: Mapping[str, Sequence[str]]) -> Mapping[str, str]:
    """TF_CONFIG's cluster for the running size."""
    return {contract.CLUSTER: json.dumps(_inside(members), separators=(",", ":"))}


def describe(spec: JobSpec) -> Needs:
    if spec.mode != "collective" or spec.rank is not None:
        # Bare pods are never resized: their cluster lists all roles in every mode.
        env: tuple[Env, ...] = (Env(contract.TF_CONFIG_ENV, _tf_config(spec.role, _planned(spec))),)
    else:
        env = (
            Env(contract.CLUSTER_ENV, annotation=contract.CLUSTER),
            Env(contract.TF_CONFIG_ENV, _tf_config(spec.role, _CLUSTER)),
        )
    decider = FRAMEWORK.completion_role(spec.role_names)
    return Needs(
        env=env, ports=((_PORT_NAME, spec.port),), first_decides=spec.role == decider == _WORKER
    )


FRAMEWORK: Final = Framework(
    name="tensorflow",
    roles=(
        RoleKind(_CHIEF, single=True, trains=True),
        RoleKind(_WORKER, resizable=True),
        RoleKind(_PS, serves=True),
        RoleKind(_EVALUATOR, single=True, apart=True),
    ),
    worker=_WORKER,
    completion_roles=(_CHIEF, _WORKER),
    modes=(
        Mode("ps", ResizePolicy.LIVE, describe, role=_PS, cooldown=NO_STALL),
        Mode("collective", ResizePolicy.RESTART, describe, at_start=at_start),
        Mode("sparse", ResizePolicy.LIVE, describe, role=_PS, opt_in=True, cooldown=NO_STALL),
    ),
    port=2222,
)
