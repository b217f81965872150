"""The steps from an empty folder to a ready cluster, and back."""

from __future__ import annotations

import datetime as dt
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

from sandbox import components, nodes, pki, readiness
from sandbox.api import Api
from sandbox.files import write_whole
from sandbox.kubeconfig import kubeconfig
from sandbox.layout import Facts, free_ports, write_facts

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from sandbox.components import Cast
    from sandbox.layout import Layout
    from sandbox.nodes import NodeGroup
    from sandbox.supervisor import Supervisor

NODE_SECONDS = 0.1  # further time that each node may take to become Ready


def make(layout: Layout, supervisor: Supervisor) -> Facts:
    """Ports, certificates and kubeconfigs of a new sandbox, in place of any half of one."""
    clear(layout, supervisor)
    api_port, etcd_port = free_ports(2)
    facts = Facts(api_port, etcd_port)
    write_facts(layout.facts, facts)
    pki.issue(layout.pki, dt.datetime.now(dt.UTC))
    server = components.api_url(facts)
    write_whole(layout.kubeconfig, kubeconfig(layout, server, "admin"))
    for client in (components.CONTROLLER_MANAGER, components.SCHEDULER, components.KWOK):
        write_whole(layout.client_config(client), kubeconfig(layout, server, client))
    return facts


def start_missing(cast: Cast, supervisor: Supervisor) -> tuple[str, ...]:
    """Start each component that does not run; return which. The API server is ready afterwards."""
    alive = supervisor.running()
    missing = {n: launch for n, launch in components.launches(cast).items() if n not in alive}
    storage = (components.ETCD, components.API_SERVER)
    for name in storage:
        if name in missing:
            supervisor.launch(missing[name])
    await_api(cast.layout, cast.facts, supervisor)
    for name, launch in missing.items():
        if name not in storage:
            supervisor.launch(launch)
    return tuple(missing)


def settle(
    layout: Layout, facts: Facts, supervisor: Supervisor, groups: Iterable[NodeGroup]
) -> None:
    """Create the first nodes, wait until pods can run, and record that the sandbox is whole."""
    with Api(layout, components.api_url(facts)) as api:
        created = [n for group in groups for n in nodes.create(api, nodes.manifests(group))]
        check = _checker(supervisor)
        readiness.wait_for(lambda: readiness.account_gap(api), check, readiness.API_WITHIN)
        await_nodes(api, supervisor, created)
    write_facts(layout.facts, replace(facts, settled=True))


def await_api(layout: Layout, facts: Facts, supervisor: Supervisor) -> None:
    """Wait until the API server is ready. Raises ComponentDied as soon as it or etcd is gone."""
    with Api(layout, components.api_url(facts)) as api:
        check = _checker(supervisor, (components.ETCD, components.API_SERVER))
        readiness.wait_for(lambda: readiness.api_gap(api), check, readiness.API_WITHIN)


def await_nodes(api: Api, supervisor: Supervisor, names: Collection[str]) -> None:
    """Wait until these nodes take pods."""
    if names:
        wanted = set(names)
        within = readiness.NODES_WITHIN + NODE_SECONDS * len(wanted)
        check = _checker(supervisor)
        readiness.wait_for(lambda: readiness.nodes_gap(api, wanted), check, within)


def clear(layout: Layout, supervisor: Supervisor) -> bool:
    """End every process, remove the folder; True if there was any of either."""
    ended = supervisor.end_everything(abruptly=components.ORDER)
    existed = layout.folder.exists()
    if existed:
        shutil.rmtree(layout.folder)
    return ended or existed


def _checker(
    supervisor: Supervisor, names: Collection[str] = components.ORDER
) -> Callable[[], None]:
    return lambda: supervisor.check(names)
