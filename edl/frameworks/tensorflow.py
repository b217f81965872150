"""TensorFlow: everything by TF_CONFIG.

With parameter servers the worker list always has `max` entries, so that workers come and go while
chief and ps are never touched (DRAGON's rule). Collective strategies need the
size that really runs: it is chosen at each start and read from the annotation `edl.dev/cluster`.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Final

from edl import addresses, contract
from edl.frameworks.needs import Env, Framework, Mode, Needs, RoleKind
from edl.model import Resizing
from edl.spec import JobSpec

_INDEX: Final = f"$({contract.COMPLETION_INDEX_ENV})"
_CLUSTER: Final = f"$({contract.CLUSTER_ENV})"
_PORT_NAME: Final = "tfjob-port"
_EVALUATOR: Final = "evaluator"
"""Watches checkpoints from outside: TensorFlow wants it to be no part of the cluster."""


def _tf_config(role: str, cluster: str) -> str:
    # Composed as text: the index is a number that the kubelet expands.
    return (
        f'{{"cluster":{cluster},"task":{{"type":"{role}","index":{_INDEX}}},"environment":"cloud"}}'
    )


def _widest_cluster(spec: JobSpec) -> str:
    members = {
        seat.role: [f"{host}:{spec.port}" for host in addresses.hosts(spec, seat.role, seat.max)]
        for seat in spec.cast
        if seat.role != _EVALUATOR
    }
    return json.dumps(members, separators=(",", ":"))


def at_start(members: Mapping[str, Sequence[str]]) -> Mapping[str, str]:
    """TF_CONFIG's cluster for the size that runs."""
    inside = {role: list(hosts) for role, hosts in members.items() if role != _EVALUATOR}
    return {contract.CLUSTER: json.dumps(inside, separators=(",", ":"))}


def describe(spec: JobSpec) -> Needs:
    if spec.mode == "ps" or spec.rank is not None:
        # Bare pods are never resized: their cluster is the whole cast in every mode.
        env: tuple[Env, ...] = (
            Env(contract.TF_CONFIG_ENV, _tf_config(spec.role, _widest_cluster(spec))),
        )
    else:
        env = (
            Env(contract.CLUSTER_ENV, annotation=contract.CLUSTER),
            Env(contract.TF_CONFIG_ENV, _tf_config(spec.role, _CLUSTER)),
        )
    decider = FRAMEWORK.decider([seat.role for seat in spec.cast])
    return Needs(
        env=env,
        ports=((_PORT_NAME, spec.port),),
        first_decides=spec.role == decider == "worker",
    )


FRAMEWORK: Final = Framework(
    name="tensorflow",
    roles=(
        RoleKind("chief", single=True),
        RoleKind("worker", resizable=True),
        RoleKind("ps", serves=True),
        RoleKind(_EVALUATOR, single=True),
    ),
    worker="worker",
    deciders=("chief", "worker"),
    modes=(Mode("ps", Resizing.LIVE, role="ps"), Mode("collective", Resizing.RESTART)),
    describe=describe,
    port=2222,
    at_start=at_start,
)
