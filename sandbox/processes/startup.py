"""The steps from an empty folder to a ready cluster, and back."""

import datetime as dt
import shutil
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from functools import partial

from sandbox.files import write_whole
from sandbox.layout import Facts, Layout, free_ports, write_facts
from sandbox.objects import admission, nodes, volumes
from sandbox.objects.api import Api
from sandbox.objects.nodes import NodeGroup
from sandbox.paths import CHECKOUT
from sandbox.processes import components, pki, readiness
from sandbox.processes.components import ComponentInputs
from sandbox.processes.kubeconfig import kubeconfig
from sandbox.processes.supervisor import Supervisor
from sandbox.real import cgroups, isolation
from sandbox.real.network import Network, free_number
from sandbox.real.node import PARTS, Node

COMPONENTS = (*components.ORDER, *PARTS)
_NODE_LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
NODE_SECONDS = 0.1  # additional seconds per node to become Ready


def make(layout: Layout, supervisor: Supervisor, release: str | None, *, real: bool) -> Facts:
    """Ports, certificates and kubeconfigs of a new sandbox; an incomplete one is removed first."""
    clear(layout, supervisor)
    api_port, etcd_port = free_ports(2)
    network = Network(free_number()) if real else None
    number = network.number if network else None
    facts = Facts(api_port, etcd_port, network=number, release=release, checkout=str(CHECKOUT))
    write_facts(layout.facts, facts)
    addresses = (network.host, network.node) if network else ()
    pki.issue(layout.pki, dt.datetime.now(dt.UTC), *addresses)
    server = components.api_url(facts)
    write_whole(layout.kubeconfig, kubeconfig(layout, server, "admin"))
    clients = (components.CONTROLLER_MANAGER, components.SCHEDULER, components.KWOK)
    for client in (*clients, components.KARPENTER):
        write_whole(layout.client_config(client), kubeconfig(layout, server, client))
    return facts


def start_missing(
    inputs: ComponentInputs, supervisor: Supervisor, node: Node | None
) -> tuple[str, ...]:
    """Start components and launched programs that should run and do not; returns their names.

    The API server is ready on return.
    """
    admission.write(inputs.layout)
    before = supervisor.running()
    # The namespaces first: the API server listens on the link to them.
    wanted = components.launches(inputs) | (node.launches(node.hold()) if node else {})
    alive = supervisor.running()
    missing = {name: launch for name, launch in wanted.items() if name not in alive}
    storage = (components.ETCD, components.API_SERVER)
    for name in storage:
        if name in missing:
            supervisor.launch(missing[name])
    await_api(inputs.layout, inputs.facts, supervisor)
    if components.KWOK in missing:
        with Api(inputs.layout, components.api_url(inputs.facts)) as api:
            release_nodes(api)
    for name, launch in missing.items():
        if name not in storage:
            supervisor.launch(launch)
        if node:
            node.await_part(name)  # without containerd the kubelet exits
    held = {name: pid for name, pid in alive.items() if before.get(name) != pid}
    return (*held, *missing, *restart_programs(supervisor))


def restart_programs(supervisor: Supervisor) -> tuple[str, ...]:
    """Restart launched programs that should run and do not, and wait until they listen.

    Returns their names. Raises ComponentDied, or SandboxError after a time.
    """
    programs = tuple(name for name in supervisor.dead() if name not in COMPONENTS)
    for name in programs:
        supervisor.start(name)
    launches = supervisor.launches()
    for name in programs:
        gap = partial(readiness.port_gap, name, launches[name].port)
        readiness.wait_for(gap, _checker(supervisor, (name,)), readiness.API_WITHIN)
    return programs


def settle(
    inputs: ComponentInputs, supervisor: Supervisor, node: Node | None, groups: Iterable[NodeGroup]
) -> None:
    """Create the first nodes, wait until pods can run, and record that the sandbox is complete."""
    with Api(inputs.layout, components.api_url(inputs.facts)) as api:
        created = [n for group in groups for n in nodes.create(api, nodes.manifests(group))]
        if node:
            node.settle()
            created.append(pki.NODE_NAME)
        for manifest in volumes.make(node.paths.volumes if node else None):
            api.create(manifest)
        check = _checker(supervisor)
        readiness.wait_for(lambda: readiness.account_gap(api), check, readiness.API_WITHIN)
        _await_nodes(api, supervisor, created)
    write_facts(inputs.layout.facts, replace(inputs.facts, settled=True))


def await_api(layout: Layout, facts: Facts, supervisor: Supervisor) -> None:
    """Wait until the API server is ready. Raises ComponentDied if it or etcd dies."""
    with Api(layout, components.api_url(facts)) as api:
        check = _checker(supervisor, (components.ETCD, components.API_SERVER))
        readiness.wait_for(lambda: readiness.api_gap(api), check, readiness.API_WITHIN)


def release_nodes(api: Api) -> None:
    """Delete the nodes' Leases: a new kwok would wait for those of a killed one to expire."""
    api.delete(_NODE_LEASES)


def add_nodes(api: Api, supervisor: Supervisor, group: NodeGroup) -> list[str]:
    """Create further nodes, numbered after those of their prefix, and wait until they are Ready."""
    listed = api.get("/api/v1/nodes").json()["items"]
    first = nodes.next_number(group, (node["metadata"]["name"] for node in listed))
    created = nodes.create(api, nodes.manifests(group, first))
    _await_nodes(api, supervisor, created)
    return created


def _await_nodes(api: Api, supervisor: Supervisor, names: Collection[str]) -> None:
    """Wait until these nodes take pods."""
    if names:
        wanted = set(names)
        within = readiness.NODES_WITHIN + NODE_SECONDS * len(wanted)
        check = _checker(supervisor)
        readiness.wait_for(lambda: readiness.nodes_gap(api, wanted), check, within)


def clear(layout: Layout, supervisor: Supervisor) -> bool:
    """End every process and remove the folder; True if there was either."""
    ended = supervisor.end_everything(abruptly=COMPONENTS)
    owner = cgroups.name_for(layout.folder)
    ended |= cgroups.remove(owner)
    ended |= isolation.release(owner)
    existed = layout.folder.exists()
    if existed:
        shutil.rmtree(layout.folder)
    return ended or existed


def _checker(supervisor: Supervisor, names: Collection[str] = COMPONENTS) -> Callable[[], None]:
    return lambda: supervisor.check(names)
