"""Karpenter on a sandbox: it creates simulated nodes for pending pods, and removes idle ones.

It is Karpenter itself with its kwok provider: a node that it creates is only an API object, whose
kubelet the sandbox's kwok simulates.
"""

import json
import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from sandbox.builds.build import BuildEnvironment, built
from sandbox.builds.recipe import KARPENTER
from sandbox.layout import Layout, free_ports
from sandbox.objects import node_pools
from sandbox.objects.node_pools import NodePool
from sandbox.paths import places
from sandbox.processes import components, readiness
from sandbox.sandbox import Sandbox

NAME: Final = components.KARPENTER
_NAMESPACE: Final = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAME}}
_READY_WITHIN: Final = 60.0


def add_karpenter(
    sandbox: Sandbox, *pools: NodePool, say: Callable[[str], object] = lambda _: None
) -> None:
    """Start Karpenter on a running sandbox with these pools; returns when it is ready.

    Existing pools are updated. Karpenter reads settings such as FEATURE_GATES from the environment.
    Raises BuildError or SandboxError.
    """
    programs = built(KARPENTER, BuildEnvironment(places(os.environ).cache, os.environ), say)
    sandbox.kubectl("apply", "--server-side", "-f", str(programs))
    sandbox.kubectl("wait", "--for=condition=Established", "-f", str(programs))
    shaped = [replace(pool, tainted=sandbox.real) for pool in pools]
    objects = [_NAMESPACE, *(each for pool in shaped for each in node_pools.manifests(pool))]
    listed = {"apiVersion": "v1", "kind": "List", "items": objects}
    sandbox.kubectl("apply", "-f", "-", input=json.dumps(listed))
    if NAME not in sandbox.running():
        _start(sandbox, programs)


def _start(sandbox: Sandbox, programs: Path) -> None:
    metrics, health = free_ports(2)
    settings = {
        "KUBECONFIG": str(Layout(sandbox.folder).client_config(NAME)),
        "SYSTEM_NAMESPACE": NAME,
        "DISABLE_LEADER_ELECTION": "true",
        "METRICS_PORT": str(metrics),
        "HEALTH_PROBE_PORT": str(health),
    }
    sandbox.launch(NAME, (str(programs / NAME),), settings)
    gap = partial(readiness.http_gap, NAME, health)
    readiness.wait_for(gap, sandbox.check, _READY_WITHIN)
